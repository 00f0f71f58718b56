"""The Spark plan of the analysis: parts of the events, their rows in all tables, the merged rows.

Each task computes the rows of some parts with polars (`rows_of_parts`), and writes the long result tables. Spark groups
the rows of all tasks by table and keys, and merges their figures. A histogram is one value.
"""

import re
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import arrow_udf

from analysis.events.run import RowsOfPart, as_table
from analysis.messages.part import Part, RunFacts
from analysis.run.store import write_part
from analysis.tables import FIGURES_TYPE, TABLE, Merged, MergedRows, exchange_schema, figure_columns, merged_figures
from records.errors import RunUnwritable
from records.merged_tables import HISTOGRAM, MERGED_TABLES
from records.results import WRITTEN_BY_PARTS

TASKS_PER_CORE = 4
"""A task merges the rows of its parts, so what Spark merges does not grow with the number of parts."""
ROWS_PER_BATCH = 50_000
REPORT_EVERY_S = 5.0
FEW_PARTS = 4
"""Of so few parts no progress is reported: they take some seconds."""
NO_SPACE = "No space left on device"
_UNWRITABLE = re.compile(r"RunUnwritable: (.+)")
"""The message of a task's error, in Spark's account of it."""
_AGGREGATES = {"sum": F.sum, "min": F.min, "max": F.max}
_SPARK_TYPES = {pa.string(): "string", pa.int32(): "int", pa.int64(): "bigint", pa.bool_(): "boolean"}


def compute(
    spark: SparkSession,
    facts: RunFacts,
    tables: Mapping[str, RowsOfPart],
    folder: Path,
    progress: Callable[[str], None] = lambda _line: None,
) -> Merged:
    """The merged rows of tables over all parts of a run, by one pass over its events.

    ``folder``: where parts write their rows of those tables that are not merged (`records.results.WRITTEN_BY_PARTS`).
    Raises RunUnwritable if a disk does not take them.
    """
    try:
        with _reported(spark, progress) if facts.parts > FEW_PARTS else nullcontext():
            return Merged(merged_rows(spark, facts, tables, folder).toArrow(), _merged(tables))
    except PySparkException as error:
        if found := _UNWRITABLE.search(str(error)):
            raise RunUnwritable(found[1]) from None
        if NO_SPACE in str(error):
            folder_for_files = spark.conf.get("spark.local.dir", tempfile.gettempdir())
            raise RunUnwritable(f"{folder_for_files}: no room for Spark to work in: {NO_SPACE}: make room") from None
        raise


def merged_rows(spark: SparkSession, facts: RunFacts, tables: Mapping[str, RowsOfPart], folder: Path) -> DataFrame:
    """One row per table and key: the plan of `compute`."""
    names = _merged(tables)
    schema = exchange_schema(names)
    tasks = min(facts.parts, TASKS_PER_CORE * spark.sparkContext.defaultParallelism)
    parts = spark.range(0, facts.parts, 1, tasks)
    rows = _table_function(partial(rows_of_parts, facts, tables, folder), schema)(parts.asTable())
    rows = rows.coalesce(1) if tasks == 1 else rows  # so Spark knows that nothing has to be shuffled
    merges = {
        column: MERGED_TABLES[name].figures[figure]
        for name in names
        for figure, column in figure_columns(MERGED_TABLES[name]).items()
    }
    aggregates = [_AGGREGATES[merges[column]](column).alias(column) for column in schema.names if column in merges]
    keys = [column for column in schema.names if column not in (*merges, HISTOGRAM)]
    if HISTOGRAM not in schema.names:
        return rows.groupBy(*keys).agg(*aggregates) if aggregates else rows.distinct()
    merged = rows.groupBy(*keys).agg(*aggregates, F.collect_list(HISTOGRAM).alias(HISTOGRAM))
    figures = arrow_udf(merged_figures, _spark_type(FIGURES_TYPE))  # type: ignore[call-overload]
    return merged.withColumn(HISTOGRAM, figures(TABLE, HISTOGRAM))


def _merged(tables: Iterable[str]) -> tuple[str, ...]:
    return tuple(name for name in tables if name in MERGED_TABLES)


def rows_of_parts(
    facts: RunFacts, tables: Mapping[str, RowsOfPart], folder: Path, numbers: Iterable[int]
) -> Iterator[pa.RecordBatch]:
    """The rows of some parts, merged. This runs in a task."""
    merged = MergedRows({name: tables[name] for name in _merged(tables)})
    for number in numbers:
        part = Part(facts, number)
        merged.add(part)
        for name in tables:
            if name in WRITTEN_BY_PARTS:
                write_part(folder, name, number, as_table(tables[name](part)))
    yield from merged.packed().combine_chunks().to_batches(max_chunksize=ROWS_PER_BATCH)


def _table_function(
    rows_of: Callable[[Iterable[int]], Iterator[pa.RecordBatch]], schema: pa.Schema
) -> Callable[..., DataFrame]:
    """A table function over the numbers of parts. (`DataFrame.mapInArrow` does the same, but requires pandas.)"""

    class RowsOfParts:
        def __init__(self) -> None:
            self.numbers: list[int] = []

        def eval(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
            self.numbers += batch.column(0).to_pylist()
            yield from ()

        def terminate(self) -> Iterator[pa.RecordBatch]:
            yield from rows_of(self.numbers)

    return F.arrow_udtf(RowsOfParts, returnType=_ddl(schema))  # type: ignore[return-value]


def _ddl(schema: pa.Schema) -> str:
    return ", ".join(f"`{field.name}` {_spark_type(field.type)}" for field in schema)


def _spark_type(kind: pa.DataType) -> str:
    if pa.types.is_struct(kind):
        return f"struct<{', '.join(f'{field.name}: {_spark_type(field.type)}' for field in kind)}>"
    if pa.types.is_list(kind):
        return f"array<{_spark_type(kind.value_type)}>"
    return _SPARK_TYPES[kind]


@contextmanager
def _reported(spark: SparkSession, progress: Callable[[str], None]) -> Iterator[None]:
    """Report now and then how many tasks of the current stages have ended."""
    ended = threading.Event()

    def report() -> None:
        tracker = spark.sparkContext.statusTracker()
        while not ended.wait(REPORT_EVERY_S):
            for stage in filter(None, map(tracker.getStageInfo, tracker.getActiveStageIds())):
                progress(f"analysis: {stage.numCompletedTasks} of {stage.numTasks} tasks have ended")

    thread = threading.Thread(target=report, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
