"""Gives each broker an equal share of the cores: a control group with a CPU quota.

    /sys/fs/cgroup/cpu/<the harness's group>/brokerbench-<pid of the harness>-<token>    version 1
    /sys/fs/cgroup/<a group that passes the controller on>/brokerbench-…                 version 2

Each start of a broker has a new group. The broker's guard (processes.guard) makes it, lets the broker join before its
program runs, and removes it. A later run removes the groups of runs that were killed together with their guards.
"""

import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from records.errors import UserError
from topologies.management.control_groups import PROC, CpuHierarchy, current_hierarchy, group_of
from topologies.runtimes.capabilities import Capability, why_not
from topologies.runtimes.processes.guard import make_group

LEAST_CPUS = 0.01
"""The kernel's least quota, 1 ms per 100 ms, which is also Docker's."""
PREFIX = "brokerbench-"
NEXT_STEP = "or use --runtime containers"


@dataclass(frozen=True)
class CpuGroup:
    """A group that a guard makes. ``settings``: the texts of its files, in the order in which they are written."""

    folder: Path
    settings: Mapping[str, str]


@dataclass(frozen=True)
class CpuQuota:
    """The share of the cores of each broker. ``parent``: the group in which the brokers' groups are made."""

    hierarchy: CpuHierarchy
    parent: Path
    cpus: float

    @classmethod
    def find(cls, cpus: float, proc: Path = PROC) -> "CpuQuota":
        """Raises UserError if this machine has no control groups for CPU quotas."""
        hierarchy = current_hierarchy(proc)
        own = group_of(hierarchy, "self", proc) if hierarchy else None
        if hierarchy is None or own is None:
            raise UserError(f"no control groups with the cpu controller are mounted here; mount them, {NEXT_STEP}")
        return cls(hierarchy, _parent(hierarchy, own), cpus)

    def new_group(self) -> CpuGroup:
        name = f"{PREFIX}{os.getpid()}-{secrets.token_hex(4)}"
        return CpuGroup(self.parent / name, self.hierarchy.settings(self.cpus))

    def try_group(self) -> None:
        """Make a group and remove it. Raises UserError."""
        group = self.new_group()
        try:
            make_group(group.folder, group.settings)
        except PermissionError as error:
            rule = f"making control groups in {self.parent} requires root"
            raise UserError(f"{rule} ({error.strerror}); run as root, {NEXT_STEP}") from error
        except OSError as error:
            rule = f"no control group can be limited to {self.cpus:g} cores in {self.parent} ({error.strerror})"
            raise UserError(f"{rule}; use a machine that permits it, {NEXT_STEP}") from error
        finally:
            with suppress(OSError):
                group.folder.rmdir()


def _parent(hierarchy: CpuHierarchy, own: Path) -> Path:
    """Return the group in which groups can be made, the harness's own if possible. Raises UserError.

    In version 2, a group with processes passes no controllers on, so the group is often above the harness's own.
    """
    if hierarchy.version == 1:
        return own
    for group in (own, *own.parents):
        if not group.is_relative_to(hierarchy.mounted_at):
            break
        with suppress(OSError):
            if "cpu" in (group / "cgroup.subtree_control").read_text(encoding="ascii").split():
                return group
    switch = hierarchy.mounted_at / "cgroup.subtree_control"
    raise UserError(f"no control group here passes the cpu controller on; write +cpu to {switch} as root, {NEXT_STEP}")


def why_no_quota(runtime: str, cpus: float = LEAST_CPUS) -> str:
    """Return why brokers of a runtime cannot have a share of the cores here, with the next step; '' if they can."""
    if why := why_not(runtime, Capability.LIMITS_CPUS):
        return why
    return why_no_quota_here(cpus) if runtime == "processes" else ""  # containers: the engine makes the groups


def why_no_quota_here(cpus: float = LEAST_CPUS, proc: Path = PROC) -> str:
    """Return why processes cannot have a quota on this machine, with the next step; '' if they can. Tries it."""
    try:
        CpuQuota.find(cpus, proc).try_group()
    except UserError as error:
        return str(error)
    return ""


def dead_groups(proc: Path = PROC) -> list[Path]:
    """Return the groups whose harness is gone."""
    try:
        parent = CpuQuota.find(LEAST_CPUS, proc).parent
        return [group for group in sorted(parent.glob(f"{PREFIX}*-*")) if _is_dead(group)]
    except (UserError, OSError):
        return []


def _is_dead(group: Path) -> bool:
    pid = group.name.removeprefix(PREFIX).partition("-")[0]
    return pid.isdecimal() and not psutil.pid_exists(int(pid))


def clear_dead(proc: Path = PROC) -> None:
    """Remove the groups of dead runs. The kernel keeps a group that still has processes."""
    for group in dead_groups(proc):
        with suppress(OSError):
            group.rmdir()
