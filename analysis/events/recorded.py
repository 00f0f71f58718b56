"""Finds event rows that cannot come from a recorder: changed row groups, and sends that are recorded twice.

Each part checks only rows of this part. `records.store.seal` has already checked the file footers.
"""

from collections.abc import Iterable
from typing import Any

import polars as pl

from analysis.events.run import RowsOfPart
from analysis.packed_keys import is_repeated
from records.store.digests import RESTORE
from records.store.seal import ChangedGroup, changed_rows

SEND = ("producer", "seq", "attempt")
"""The key of ``sends``. Receipts have no key: copies of a message that are read at the same time have equal rows."""
LEFT_OUT = {"file": pl.String, "group": pl.Int32, "groups": pl.Int32}
REPEATED = {"file": pl.String, "rows": pl.Int64}


def tables() -> dict[str, RowsOfPart]:
    return {"left_out": _left_out, "repeated_sends": _repeated_sends}


def problems(left_out: pl.DataFrame, repeated_sends: pl.DataFrame) -> tuple[str, ...]:
    """Return a sentence for each file with rows that cannot come from a recorder."""
    changed = (ChangedGroup(*row) for row in left_out.iter_rows())
    return (*changed_rows(changed), *_repeated_sentences(repeated_sends.sort("file").iter_rows()))


def _repeated_sentences(rows_by_file: Iterable[tuple[Any, ...]]) -> list[str]:
    key = ", ".join(SEND)
    return [
        f"events/{file}: {rows:,} rows have the ({key}) of another row, which identifies one attempt to send: {RESTORE}"
        for file, rows in rows_by_file
    ]


def _left_out(part: Any) -> pl.DataFrame:
    return pl.DataFrame(
        [(changed.file, changed.group, changed.groups) for changed in part.left_out], LEFT_OUT, orient="row"
    )


def _repeated_sends(part: Any) -> pl.DataFrame:
    """Return one row per file and part with repeated sends: how many rows in the file repeat a send."""
    keys = part.sends.select(SEND)
    several = is_repeated(keys, SEND)
    if several is None:
        return pl.DataFrame(schema=REPEATED)
    repeated = keys.filter(several).unique()
    counts = []
    for file in part.run.files["sends"]:
        rows = pl.from_arrow(part.read("sends", [file]).rows.select(SEND))
        assert isinstance(rows, pl.DataFrame)
        counts.append((file, rows.join(repeated, SEND, how="semi").height))
    return pl.DataFrame([count for count in counts if count[1]], REPEATED, orient="row")
