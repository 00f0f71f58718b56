"""Durable messages wait in a broker that syncs its journal, when a power failure takes synced writes too.

The disk loses the end of each journal file, although it was synced. The environment variable BYTES sets the lost size.
"""

import os
from pathlib import Path

from brokerbench import Hold, PowerLoss, Scenario, no_acked_send_lost, run
from drivers.users.locust_users import ConsumerUser, ProducerUser, Stay
from topologies.runtimes.processes import disks
from topologies.runtimes.processes.disks import Disk

BYTES = int(os.environ["BYTES"])
EMPTY = bytes(64 * 1024)  # the broker allocates its files before it writes them


class LyingDisk(Disk):
    """Loses the end of each journal file between an unmount and the next mount."""

    def __init__(self, image: Path, at: Path, size_mb: int) -> None:
        super().__init__(image, at, size_mb)
        self._at_mount = at
        self._was_unmounted = False

    def unmount(self) -> None:
        super().unmount()
        self._was_unmounted = True

    def mount(self) -> None:
        super().mount()
        if self._was_unmounted:
            journals = sorted(self._at_mount.rglob("db-*.log"))
            print(f"{len(journals)} journal files lose {sum(map(lose_end, journals)):,} written bytes")


def lose_end(journal: Path) -> int:
    """Replace the last `BYTES` of a file's written part with zeros. Returns the number of lost bytes."""
    content = journal.read_bytes()
    written = content.find(EMPTY)
    lost = min(BYTES, written)
    with journal.open("r+b") as file:
        file.seek(written - lost)
        file.write(bytes(lost))
        file.flush()
        os.fsync(file.fileno())
    return lost


class Producer(ProducerUser):
    group, destination, fixed_count, sends_per_second, durable = "producers", "queue://lied", 4, 20, True
    body_bytes = 1_024


class Consumer(ConsumerUser):
    group, destination, fixed_count, stays = "consumers", "queue://lied", 1, (Stay(until_s=1), Stay(from_s=9))


disks.Disk = LyingDisk  # type: ignore[misc]
run(
    Scenario(
        (Producer, Consumer),
        "single",
        Hold(for_s=12),
        (no_acked_send_lost(),),
        faults=(PowerLoss("broker-1", at_s=5, for_s=1),),
        question=__doc__,
        warm_up_s=1,
    )
)
