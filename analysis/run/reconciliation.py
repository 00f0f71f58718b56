"""Compares the rows on record with what each process counted, so that a missing file or row is noticed."""

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from records.run import ProcessInfo
from records.rundir import RunDirectory


def missing_rows(directory: RunDirectory, processes: Sequence[ProcessInfo]) -> tuple[str, ...]:
    """A sentence for each process and table with fewer rows than the process counted. For a sealed run."""
    return tuple(problem for process in processes for problem in _missing(directory, process))


def _missing(directory: RunDirectory, process: ProcessInfo) -> Iterator[str]:
    counted = {"sends": process.settled, "receipts": process.received}
    for table, expected in counted.items():
        found = _messages(directory, table, process.name) if expected else 0
        if expected and found < expected:
            what = "settled sends" if table == "sends" else "deliveries"
            yield (
                f"events/{table}: rows are missing: {process.name} counted {expected:,} {what}, and {found:,} are on "
                "record; bring its file back from a copy, or run again"
            )


def _messages(directory: RunDirectory, table: str, process: str) -> int:
    """Deliveries, or messages sent: these have one row of attempt 1 each, and a row for each resend."""
    path = directory.events(table) / f"{process}.parquet"
    if not path.exists():
        return 0
    if table == "receipts":
        return int(pq.read_metadata(path).num_rows)
    attempts: pa.ChunkedArray = pq.read_table(path, columns=["attempt"])["attempt"]
    return int(pc.sum(pc.equal(attempts, 1)).as_py() or 0)
