"""Divides the events of a run by message, so that its parts can be analyzed one by one.

A message's sends, receipts and leftovers are in the part of the same number, regardless of the process that recorded
them. A part consists of blocks: some thousand consecutive seqs of neighboring producers, which were due at about the
same time. So few parts contain messages of the same second, and a part's counts by second are few. The number of parts
is a power of two. If it is halved, each new part is the union of two old parts, so files with different numbers of
parts can be read together.
"""

from typing import Any

PARTED = ("sends", "receipts", "leftovers")
"""The tables with a row for each of many messages. The other tables have few rows, and no parts."""
SEQS_PER_BLOCK = 2_048
PRODUCERS_PER_BLOCK = 16
ROWS_PER_PART = 600_000
"""Number of events per part. Its data frames fit into the memory of one core several times over."""
LEAST_ROWS_TO_DIVIDE = 100_000
"""From this number of events on, two cores share the work. Below it, a second task costs more than it saves."""
MOST_PARTS = 1_024
PARTS_KEY = f"brokerbench.parts_of_{SEQS_PER_BLOCK}_seqs_of_{PRODUCERS_PER_BLOCK}_producers".encode()
GROUPS_KEY = b"brokerbench.part_of_row_group"
"""Keys in a sealed file: the number of parts that it is divided into, and the part of each row group, separated by
spaces. A file that was divided into other blocks lacks the first key, and counts as undivided."""


def part_of(producer: Any, seq: Any, parts: int) -> Any:
    """Return the part of messages, from 0 on, for arrays or columns. ``parts``: a power of two."""
    return (seq // SEQS_PER_BLOCK + producer // PRODUCERS_PER_BLOCK) % parts


def parts_for(rows: int) -> int:
    """Return the number of parts for this many events: a power of two."""
    parts = 2 if rows >= LEAST_ROWS_TO_DIVIDE else 1
    while parts * ROWS_PER_PART < rows and parts < MOST_PARTS:
        parts *= 2
    return parts
