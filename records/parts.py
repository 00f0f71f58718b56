"""Divides the events of a run by message, so that its parts can be analysed one by one.

A message's sends, receipts and leftovers are in the part of the same number, whatever process recorded them. A part is
made of blocks: some thousand seqs in a row of neighbouring producers, which were due at about the same time. So few
parts have a message of the same second, and a part's counts by second are few. With half as many parts each is two of
them joined, so files that were divided into different numbers of parts fit together.
"""

from typing import Any

PARTED = ("sends", "receipts", "leftovers")
"""The tables with a row for each of many messages. The others have few rows, and no parts."""
SEQS_PER_BLOCK = 2_048
PRODUCERS_PER_BLOCK = 16
ROWS_PER_PART = 600_000
"""So many events of a run are a part: its frames fit into the memory of a core several times."""
LEAST_ROWS_TO_DIVIDE = 100_000
"""From so many events on two cores share the work: below, a second task costs more than it saves."""
MOST_PARTS = 1_024
PARTS_KEY = f"brokerbench.parts_of_{SEQS_PER_BLOCK}_seqs_of_{PRODUCERS_PER_BLOCK}_producers".encode()
GROUPS_KEY = b"brokerbench.part_of_row_group"
"""Of a sealed file: into how many parts it is divided, and the part of each row group, separated by spaces. A file that
was divided into other blocks does not have the first key, and counts as undivided."""


def part_of(producer: Any, seq: Any, parts: int) -> Any:
    """The part of messages, from 0 on, of arrays or of columns. ``parts``: a power of two."""
    return (seq // SEQS_PER_BLOCK + producer // PRODUCERS_PER_BLOCK) % parts


def parts_for(rows: int) -> int:
    """Into how many parts so many events are divided: a power of two."""
    parts = 2 if rows >= LEAST_ROWS_TO_DIVIDE else 1
    while parts * ROWS_PER_PART < rows and parts < MOST_PARTS:
        parts *= 2
    return parts
