"""Finds remains of brokers' disks on a machine: mounts, loop devices and images."""

from pathlib import Path

from topologies.runtimes.processes import mounts
from topologies.runtimes.processes.mounts import IMAGE, mounts_below


def left_in(folder: Path) -> list[str]:
    """The mounts, loop devices and images in a folder."""
    mounted = [str(mount) for mount in mounts_below(folder.resolve(), mounts.current_mounts())]
    loops = [str(loop) for loop in mounts.current_loops() if loop.image.is_relative_to(folder.resolve())]
    return [*mounted, *loops, *map(str, folder.rglob(f"*{IMAGE}"))]
