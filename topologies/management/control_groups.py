"""Finds a process's control group with the cpu controller, and reads how often its CPU quota held it back.

A quota permits a group a CPU time per period; the kernel throttles a group that has used it up until the period ends.
Version 1 has the controller in a hierarchy of its own, version 2 has all controllers in one (the kernel's documentation
Documentation/scheduler/sched-bwc.rst and admin-guide/cgroup-v2.rst). Systems with both have it in one of them.
"""

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

PERIOD_US = 100_000
"""The kernel's default, which Docker uses too."""
WEIGHT_OF_ONE = {1: 1024, 2: 100}
"""The default weight, by version."""
PROC = Path("/proc")


class Throttling(NamedTuple):
    """Counters of a group since it was made. ``periods``: periods with a thread that was ready to run.

    ``throttled_ns``: the sum over the cores. A group whose threads run on two cores loses up to two seconds per second.
    """

    periods: int
    throttled_periods: int
    throttled_ns: int


@dataclass(frozen=True)
class CpuHierarchy:
    """The mounted hierarchy with the cpu controller. ``root``: the group that is mounted, by its name in the kernel."""

    version: int
    mounted_at: Path
    root: str

    def group(self, memberships: str) -> Path | None:
        """Return the folder of a process's group; None if it is not visible here.

        ``memberships``: the text of /proc/PID/cgroup.
        """
        for line in memberships.splitlines():
            _, controllers, name = line.split(":", 2)
            if (controllers == "") if self.version == 2 else ("cpu" in controllers.split(",")):
                below = os.path.relpath(name, self.root)
                return None if below.startswith("..") else self.mounted_at / below
        return None

    def settings(self, cpus: float) -> Mapping[str, str]:
        """Return the texts of a group's files that limit it to a number of cores.

        The scheduler weighs a group like one thread. The weight of ten lets brokers have their share while other
        programs use the cores.
        """
        quota_us = round(cpus * PERIOD_US)
        if self.version == 2:
            return {"cpu.weight": str(10 * WEIGHT_OF_ONE[2]), "cpu.max": f"{quota_us} {PERIOD_US}"}
        weight = str(10 * WEIGHT_OF_ONE[1])
        return {"cpu.shares": weight, "cpu.cfs_period_us": str(PERIOD_US), "cpu.cfs_quota_us": str(quota_us)}

    def has_quota(self, group: Path) -> bool:
        """Return whether the group itself has a quota; groups above it may have one too."""
        with suppress(OSError):
            if self.version == 2:
                return not (group / "cpu.max").read_text(encoding="ascii").startswith("max")
            return int((group / "cpu.cfs_quota_us").read_text(encoding="ascii")) > 0
        return False


def parse_hierarchy(mountinfo: str) -> CpuHierarchy | None:
    """Return the hierarchy with the cpu controller; None if neither version is mounted.

    ``mountinfo``: the text of /proc/PID/mountinfo. A hierarchy of version 1 has the controller, if both are mounted.
    """
    found: dict[int, CpuHierarchy] = {}
    for line in mountinfo.splitlines():
        mounted, _, kind = line.partition(" - ")
        fields, of_kind = mounted.split(" "), kind.split(" ")
        if len(fields) < 5 or len(of_kind) < 3:
            continue
        if of_kind[0] == "cgroup" and "cpu" in of_kind[2].split(","):
            found.setdefault(1, CpuHierarchy(1, Path(fields[4]), fields[3]))
        elif of_kind[0] == "cgroup2":
            found.setdefault(2, CpuHierarchy(2, Path(fields[4]), fields[3]))
    return found.get(1) or found.get(2)


def current_hierarchy(proc: Path = PROC) -> CpuHierarchy | None:
    with suppress(OSError):
        return parse_hierarchy((proc / "self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape"))
    return None


def group_of(hierarchy: CpuHierarchy, pid: int | str, proc: Path = PROC) -> Path | None:
    """Return the folder of the group of a process; None if it is gone, or its group is not visible here."""
    with suppress(OSError):
        text = (proc / str(pid) / "cgroup").read_text(encoding="utf-8", errors="surrogateescape")
        return hierarchy.group(text)
    return None


def quota_group_of(pid: int, proc: Path = PROC) -> Path | None:
    """Return the folder of a process's group if it has a quota, and this process is not in it; None otherwise.

    A quota for both of them limits the load generator too, so its throttling is not the broker's.
    """
    hierarchy = current_hierarchy(proc)
    if hierarchy is None:
        return None
    group = group_of(hierarchy, pid, proc)
    if group is None or group == group_of(hierarchy, "self", proc):
        return None
    return group if hierarchy.has_quota(group) else None


def read_throttling(group: Path) -> Throttling | None:
    """Return the counters in ``cpu.stat``, of either version; None if the group is gone or has none."""
    try:
        lines = (group / "cpu.stat").read_text(encoding="ascii").splitlines()
        counters = {name: int(value) for name, value in map(str.split, lines)}
        throttled_ns = (
            counters["throttled_time"] if "throttled_time" in counters else counters["throttled_usec"] * 1_000
        )
        return Throttling(counters["nr_periods"], counters["nr_throttled"], throttled_ns)
    except (OSError, ValueError, KeyError):
        return None
