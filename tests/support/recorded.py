"""Plants rows in a sealed run, as if a process had recorded them."""

import pyarrow as pa
import pyarrow.parquet as pq

from records.store.reader import seal
from records.store.rundir import RunDirectory
from records.store.streams import SUFFIX, StreamFile, described
from records.tables.schemas import EVENT_TABLES


def record_instead(directory: RunDirectory, table: str, process: str, rows: pa.Table) -> None:
    """Replace all rows of one table of a process, or add rows of a new process, and seal the run again.

    All sealed files become streams again, as a seal takes no other streams.
    """
    directory.seal_path.unlink()
    for name in EVENT_TABLES:
        for path in directory.events(name).glob("*.parquet"):
            sealed = pq.read_table(path)
            path.unlink()
            if (name, path.stem) != (table, process):
                _write_stream(directory, name, path.stem, sealed)
    _write_stream(directory, table, process, rows)
    seal(directory)


def _write_stream(directory: RunDirectory, table: str, process: str, rows: pa.Table) -> None:
    schema = described(EVENT_TABLES[table], table, process, directory.run_id)
    stream = StreamFile(directory.streams(table) / f"{process}{SUFFIX}", schema)
    for batch in rows.cast(schema).combine_chunks().to_batches():
        stream.append(batch)
    stream.close(complete=True)
