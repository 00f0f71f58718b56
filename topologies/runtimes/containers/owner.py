"""Records in a label which process made a container, so that containers of dead processes can be found.

A process is known by the machine's boot, its namespace of process numbers, its number, and when it started in clock
ticks since the boot: unlike a time of day, that stays the same when the clock is set.
"""

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
START_FIELD = 19  # of /proc/PID/stat after the name: its 22nd field in all


@dataclass(frozen=True)
class Owner:
    """``boot`` and ``namespace`` say on which machine, and where on it, the number ``pid`` means this process."""

    boot: str
    namespace: str
    pid: int
    started_ticks: int

    def __str__(self) -> str:
        return f"{self.boot}/{self.namespace}/{self.pid}/{self.started_ticks}"

    @classmethod
    def parse(cls, text: str) -> "Owner":
        """ValueError if it is not one's text."""
        boot, namespace, pid, started = text.split("/")
        return cls(boot, namespace, int(pid), int(started))


def this_process(proc: Path = PROC) -> Owner:
    boot = (proc / "sys" / "kernel" / "random" / "boot_id").read_text(encoding="ascii").strip()
    namespace = str((proc / "self" / "ns" / "pid").readlink()).strip("pid:[]")
    return Owner(boot, namespace, os.getpid(), started_ticks(os.getpid(), proc) or 0)


def started_ticks(pid: int, proc: Path = PROC) -> int | None:
    """The start time of a process; None if no process has that pid, or if it is a zombie."""
    with suppress(OSError, ValueError, IndexError):
        stat = (proc / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
        fields = stat.rpartition(")")[2].split()  # the name before may hold anything
        return None if fields[0] in "ZX" else int(fields[START_FIELD])
    return None


def is_dead(owner: Owner, here: Owner, proc: Path = PROC) -> bool:
    """Whether ``owner`` is known to be gone, asked by the process ``here`` on the same engine's machine.

    After a boot all are gone. Another namespace's processes cannot be seen from here: they are taken to live.
    """
    if owner.boot != here.boot:
        return True
    return owner.namespace == here.namespace and started_ticks(owner.pid, proc) != owner.started_ticks
