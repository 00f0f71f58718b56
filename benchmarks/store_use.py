"""Measures what limits the rate of durable messages: the cores of the machine, or the syncs of its disk."""

import os
import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from benchmarks.stopwatch import sampling

SAMPLE_S = 0.5
DISKS = Path("/proc/diskstats")
BLOCK_BYTES, BLOCKS, SYNCS_S = 4_096, 256, 3.0


@dataclass
class StoreUse:
    """Half-second samples: busy cores of the machine, cores used by the broker, and disk syncs per second."""

    samples: list[tuple[float, float, float]] = field(default_factory=list)

    def under_load(self) -> tuple[float, ...]:
        """Return the medians of the samples under load, without the clients' start.

        These are the samples with at least half as many syncs as the highest sample.
        """
        most = max(syncs for _, _, syncs in self.samples)
        loaded = [sample for sample in self.samples if sample[-1] >= most / 2]
        return tuple(map(statistics.median, zip(*loaded, strict=True)))


@contextmanager
def watched(folder: Path, broker: psutil.Process) -> Iterator[StoreUse]:
    """Sample the machine, the broker, and the disk of ``folder`` until the block ends (Linux)."""
    use = StoreUse()
    psutil.cpu_percent()
    broker.cpu_percent()
    syncs, at_s = _syncs(folder), time.monotonic()

    def look() -> None:
        nonlocal syncs, at_s
        cores = psutil.cpu_percent() / 100 * psutil.cpu_count()
        syncs_before, before_s = syncs, at_s
        syncs, at_s = _syncs(folder), time.monotonic()
        use.samples.append((cores, broker.cpu_percent() / 100, (syncs - syncs_before) / (at_s - before_s)))

    with sampling(look, SAMPLE_S):
        yield use


def bare_syncs_per_s(folder: Path) -> float:
    """Return how often per second one thread can write 4 KiB to the folder's disk and sync it."""
    path = folder / "syncs"
    file = os.open(path, os.O_CREAT | os.O_RDWR)
    try:
        os.pwrite(file, bytes(BLOCK_BYTES * BLOCKS), 0)
        os.fsync(file)
        began_s, syncs = time.perf_counter(), 0
        while time.perf_counter() - began_s < SYNCS_S:
            os.pwrite(file, bytes(BLOCK_BYTES), syncs % BLOCKS * BLOCK_BYTES)
            os.fdatasync(file)
            syncs += 1
        return syncs / (time.perf_counter() - began_s)
    finally:
        os.close(file)
        path.unlink()


def _syncs(folder: Path) -> int:
    """Return the number of flushes that the folder's disk has completed. Exits if Linux does not count them."""
    device = folder.stat().st_dev
    for line in DISKS.read_text(encoding="ascii").splitlines() if DISKS.exists() else ():
        columns = line.split()
        if (int(columns[0]), int(columns[1])) == (os.major(device), os.minor(device)):
            return int(columns[18])
    sys.exit(f"{folder}: {DISKS} has no count of syncs for this disk; set TMPDIR to a folder on a disk of this machine")
