"""Merges rows of merged tables as polars frames within a process, and packs them for transfer between processes.

`records.tables.merged_tables` declares the tables. The rows of all tables are transferred in a single table with one
schema: a column for every key, and a column for every figure with its merge function, such as ``due_ns_min``. Columns
are null in rows of other tables.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from analysis.events.run import RowsOfPart
from analysis.latency.histogram import added_up
from analysis.messages.part import Part
from records.figures.buckets import value_ns
from records.figures.percentiles import SHARES, rank_of
from records.tables.merged_tables import (
    BUCKET,
    DISTRIBUTION,
    DISTRIBUTION_TYPE,
    HISTOGRAM,
    LATENCY_FIGURES,
    LESS_OWN,
    MERGED_TABLES,
    FirstRows,
    Merge,
    MergedTable,
)
from records.tables.row_order import Ints

TABLE = "table"
FILE = "file_content"
"""The column with rows of a table that parts write, if Spark writes them: an Arrow IPC stream."""
CELLS = (BUCKET, *LATENCY_FIGURES)
CELL_TYPE = pa.struct([(name, pa.list_(MERGED_TABLES["latency_of_spans"].schema.field(name).type)) for name in CELLS])
"""The type of one histogram: arrays of equal length."""
CELLS_OF = "cells"
FIGURES_TYPE = pa.struct([(CELLS_OF, CELL_TYPE), (DISTRIBUTION, DISTRIBUTION_TYPE)])
"""The type of the figures kept from a merged histogram."""
_WAITING_ROWS = 500_000
_MERGES: dict[Merge, Callable[[str], pl.Expr]] = {"sum": pl.sum, "min": pl.min, "max": pl.max}


def merged(table: MergedTable, rows: pl.DataFrame) -> pl.DataFrame:
    """Merge rows with equal keys."""
    if table.is_distinct:
        return rows
    if table.is_histogram:
        return added_up(rows, [*table.keys])
    if not table.figures:
        return rows.unique()
    figures = [_MERGES[merge](name) for name, merge in table.figures.items()]
    sums = rows.group_by(*table.keys).agg(figures) if table.keys else rows.select(figures)
    return first_rows(sums, table.kept) if table.kept else sums


def first_rows(rows: pl.DataFrame, kept: FirstRows) -> pl.DataFrame:
    """Return the rows that are kept."""
    return rows.sort(kept.by).group_by(kept.of, maintain_order=True).head(kept.rows)


def cast_columns(table: MergedTable, rows: pl.DataFrame) -> pl.DataFrame:
    """Select and cast the columns of a table, in order."""
    return rows.select(pl.col(name).cast(kind) for name, kind in _polars_schema(table).items())


def _polars_schema(table: MergedTable) -> pl.Schema:
    frame = pl.from_arrow(table.schema.empty_table())
    assert isinstance(frame, pl.DataFrame)
    return frame.schema


class MergedRows:
    """Collects the rows of parts by table, and merges equal keys when many rows are waiting."""

    def __init__(self, tables: Mapping[str, RowsOfPart]) -> None:
        self._rows_of_part = tables
        self._waiting: dict[str, list[pl.DataFrame]] = {name: [] for name in tables}

    def add(self, part: Part) -> None:
        """Add the rows of a part to all tables."""
        for name, rows_of in self._rows_of_part.items():
            waiting = self._waiting[name]
            waiting.append(cast_columns(MERGED_TABLES[name], rows_of(part)))
            if sum(rows.height for rows in waiting[1:]) > max(_WAITING_ROWS, waiting[0].height // 2):
                self[name]

    def __getitem__(self, name: str) -> pl.DataFrame:
        """Return the merged rows of one table."""
        waiting = self._waiting[name]
        if not waiting:
            return pl.DataFrame(schema=_polars_schema(MERGED_TABLES[name]))
        waiting[:] = [merged(MERGED_TABLES[name], pl.concat(waiting))]
        return waiting[0]

    def packed(self) -> pa.Table:
        """Return the rows of all tables in one table."""
        return packed({name: self[name] for name in self._rows_of_part})


class Merged(Mapping[str, pl.DataFrame]):
    """The merged rows by table."""

    def __init__(self, rows: pa.Table, names: tuple[str, ...]) -> None:
        self._rows = {name: _own_rows(rows, name) for name in names}  # most columns belong to other tables

    def __getitem__(self, name: str) -> pl.DataFrame:
        return _unpacked(self._rows[name], name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


def exchange_schema(names: Iterable[str], *, with_files: bool = False) -> pa.Schema:
    """Return the schema of the table that contains the rows of these tables, and optionally packed files (FILE)."""
    tables = [MERGED_TABLES[name] for name in names]
    keys = {key: kind for table in tables for key, kind in table.keys.items() if key != BUCKET}
    figures = dict.fromkeys(column for table in tables for column in figure_columns(table).values())
    histogram = [(HISTOGRAM, CELL_TYPE)] if any(table.is_histogram for table in tables) else []
    columns = [(TABLE, pa.string()), *keys.items(), *((name, pa.int64()) for name in figures), *histogram]
    return pa.schema([*columns, (FILE, pa.binary())] if with_files else columns)


def figure_columns(table: MergedTable) -> dict[str, str]:
    """Return the transfer column of each figure. All figures of a histogram share one column."""
    return {} if table.is_histogram else {name: f"{name}_{merge}" for name, merge in table.figures.items()}


def packed(rows_by_table: Mapping[str, pl.DataFrame]) -> pa.Table:
    """Pack rows of several tables into one table with the schema `exchange_schema`."""
    schema = exchange_schema(rows_by_table)
    if not rows_by_table:
        return schema.empty_table()
    frames = [_packed(MERGED_TABLES[name], rows) for name, rows in rows_by_table.items()]
    everything = pl.concat(frames, how="diagonal")
    return everything.select(schema.names).to_arrow(compat_level=pl.CompatLevel.oldest()).cast(schema)


def packed_file(name: str, rows: pa.Table, schema: pa.Schema) -> pa.RecordBatch:
    """Pack rows of a table that parts write into one row of ``schema``."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as stream:
        stream.write_table(rows)
    row = with_columns(pa.table({TABLE: [name], FILE: pa.array([sink.getvalue().to_pybytes()], pa.binary())}), schema)
    (batch,) = row.to_batches()
    return batch


def with_columns(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """Add the missing columns of a schema, filled with nulls."""
    columns = [
        rows[field.name] if field.name in rows.schema.names else pa.nulls(rows.num_rows, field.type) for field in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def _packed(table: MergedTable, rows: pl.DataFrame) -> pl.DataFrame:
    name = pl.lit(table.name).alias(TABLE)
    if not table.is_histogram:
        return rows.rename(figure_columns(table)).select(name, pl.all())
    keys = [key for key in table.keys if key != BUCKET]
    histograms = rows.group_by(keys).agg(CELLS)
    return histograms.select(name, *keys, pl.struct(CELLS).alias(HISTOGRAM))


def _own_rows(everything: pa.Table, name: str) -> pa.Table:
    """Return the rows of one table from the packed table, with the columns of that table."""
    table = MERGED_TABLES[name]
    columns = [HISTOGRAM] if table.is_histogram else [*figure_columns(table).values()]
    keys = [key for key in table.keys if key != BUCKET]
    return everything.select([*keys, *columns]).filter(pc.equal(everything[TABLE], name))


def _unpacked(own_rows: pa.Table, name: str) -> pl.DataFrame:
    table = MERGED_TABLES[name]
    keys = [key for key in table.keys if key != BUCKET]
    rows = pl.from_arrow(own_rows)
    assert isinstance(rows, pl.DataFrame)
    if table.is_histogram:
        kept = DISTRIBUTION if table.is_distribution else CELLS_OF
        figures = rows.select(*keys, pl.col(HISTOGRAM).struct.field(kept)).unnest(kept)
        return figures if table.is_distribution else cast_columns(table, figures.explode(CELLS))
    return cast_columns(table, rows.rename({column: figure for figure, column in figure_columns(table).items()}))


def merged_figures(tables: pa.Array, histograms: pa.Array) -> pa.Array:
    """Merge each row's list of histograms and return their FIGURES_TYPE. Spark calls this when it merges rows."""
    return figures_of(tables, add_up(histograms))


def figures_of(tables: pa.Array, histograms: pa.Array) -> pa.Array:
    """Return FIGURES_TYPE of each row's merged histogram: its cells or its distribution, depending on the table."""
    is_distribution = pc.is_in(tables, pa.array(name for name, table in MERGED_TABLES.items() if table.is_distribution))
    nothing = pa.scalar(None, CELL_TYPE)
    cells = pc.if_else(is_distribution, nothing, histograms)
    of_each = distributions(pc.if_else(is_distribution, histograms, nothing))
    return pa.StructArray.from_arrays([cells, of_each], fields=[*FIGURES_TYPE])


def add_up(histograms: pa.Array) -> pa.Array:
    """Add up each list of histograms to one histogram; null for an empty list."""
    lists = pl.DataFrame({HISTOGRAM: pl.from_arrow(histograms)}).with_row_index("place")
    cells = lists.filter(pl.col(HISTOGRAM).list.len() > 0).explode(HISTOGRAM).unnest(HISTOGRAM).explode(CELLS)
    sums = added_up(cells, ["place", BUCKET]).group_by("place").agg(CELLS)
    by_row = lists.select("place").join(sums, "place", how="left", maintain_order="left")
    histogram = pl.when(pl.col(BUCKET).is_not_null()).then(pl.struct(CELLS)).alias(HISTOGRAM)
    column = by_row.select(histogram).to_arrow(compat_level=pl.CompatLevel.oldest())[HISTOGRAM]
    return column.cast(CELL_TYPE).combine_chunks()


def distributions(histograms: pa.Array) -> pa.Array:
    """Return the figures of each histogram; null for null."""
    return pa.array([_distribution(each) if each.is_valid else None for each in histograms], DISTRIBUTION_TYPE)


def _distribution(histogram: pa.StructScalar) -> dict[str, Any]:
    buckets = histogram[BUCKET].values.to_numpy()
    in_order = np.argsort(buckets)
    figures: dict[str, Any] = {}
    for prefix, count in (("", "count"), (LESS_OWN, "count_less_own")):
        counts = histogram[count].values.to_numpy()[in_order]
        figures |= {
            f"{prefix}count": int(counts.sum()),
            f"{prefix}negative": int(counts[buckets[in_order] < 0].sum()),
            f"{prefix}min_ns": pc.min(histogram[f"{prefix}min_ns"].values).as_py(),
            f"{prefix}max_ns": pc.max(histogram[f"{prefix}max_ns"].values).as_py(),
            f"{prefix}quantiles_ns": _quantiles_ns(buckets[in_order], counts.cumsum()),
        }
    return figures


def _quantiles_ns(buckets: Ints, passed: Ints) -> list[int]:
    """Compute the quantiles like `percentiles.quantiles_ns`. ``passed``: cumulative counts by bucket."""
    total = int(passed[-1])
    ranks = [rank_of(share, total) for share in SHARES.values()] if total else []
    return [value_ns(int(bucket)) for bucket in buckets[np.searchsorted(passed, ranks)]]
