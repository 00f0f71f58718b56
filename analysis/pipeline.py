"""Runs the analysis in Spark: tasks compute the rows of their parts for every table, and Spark merges these rows.

Each task computes the rows of some parts with polars (`rows_of_parts`), and writes the long result tables. Spark groups
the rows of all tasks by table and keys, and merges their figures. A histogram is one value. A window
finds messages out of order across parts.
"""

import re
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import arrow_udf

from analysis.event_files import ReceivedFiles, parts_of_task, pieces_by_task, table_function
from analysis.events.run import RowsOfPart, as_table
from analysis.messages.part import Part, RunFacts
from analysis.run.store import in_order, write_part
from analysis.tables import (
    FIGURES_TYPE,
    FILE,
    TABLE,
    Merged,
    MergedRows,
    exchange_schema,
    figure_columns,
    merged_figures,
    packed_file,
    with_columns,
)
from records.errors import RunUnwritable
from records.tables.merged_tables import (
    BLOCKS,
    HISTOGRAM,
    MERGED_TABLES,
    MOST_OVERTAKEN,
    OVERTAKEN,
    OVERTAKEN_IN_OVERLAPS,
    STREAM,
)
from records.tables.results import RESULT_TABLES, WRITTEN_BY_PARTS

TASKS_PER_CORE = 4
"""A task merges the rows of its parts, so the rows that Spark merges do not grow with the number of parts."""
ROWS_PER_BATCH = 50_000
REPORT_EVERY_S = 5.0
FEW_PARTS = 4
"""For at most this number of parts, no progress is reported: they take some seconds."""
NO_SPACE = "No space left on device"
_UNWRITABLE = re.compile(r"RunUnwritable: (.+)")
"""The message of a task's error in Spark's message."""
_BLOCK_FIGURES = ("first_ns", "last_ns", "after_ns")
_IN_OVERLAP, _PLACE, _PLACE_ALIKE, _ALIKE = "in_overlap", "place", "place_alike", "alike"
_ALL_BEFORE = (Window.unboundedPreceding, -1)
_AGGREGATES = {"sum": F.sum, "min": F.min, "max": F.max}
_SPARK_TYPES = {
    pa.string(): "string",
    pa.int32(): "int",
    pa.int64(): "bigint",
    pa.bool_(): "boolean",
    pa.binary(): "binary",
}


@dataclass(frozen=True)
class RunLocations:
    """``events``: the URI of the run's event files; None if all tasks see the run's folder. ``written``: the folder
    where parts write their rows of the tables that are not merged (`records.tables.results.WRITTEN_BY_PARTS`): a path
    for the tasks, or a URI for Spark."""

    events: str | None
    written: Path | str


def compute(
    spark: SparkSession,
    facts: RunFacts,
    tables: Mapping[str, RowsOfPart],
    places: RunLocations,
    progress: Callable[[str], None] = lambda _line: None,
) -> Merged:
    """Return the merged rows of tables over all parts of a run, in one pass over its events.

    Raises RunUnwritable if the rows of parts cannot be written.
    """
    try:
        with _reported(spark, progress) if facts.parts > FEW_PARTS else nullcontext():
            if isinstance(places.written, Path):
                rows = rows_of_tasks(spark, facts, tables, places)
                return Merged(merged_rows(rows, _merged(tables)).toArrow(), _merged(tables))
            return _merged_and_written(spark, facts, tables, places, places.written)
    except PySparkException as error:
        if found := _UNWRITABLE.search(str(error)):
            raise RunUnwritable(found[1]) from None
        if NO_SPACE in str(error):
            folder_for_files = spark.conf.get("spark.local.dir", tempfile.gettempdir())
            raise RunUnwritable(f"{folder_for_files}: no room for Spark to work in: {NO_SPACE}: make room") from None
        raise


def rows_of_tasks(
    spark: SparkSession, facts: RunFacts, tables: Mapping[str, RowsOfPart], places: RunLocations
) -> DataFrame:
    """Return the rows of all tables, merged by each task: the first half of the plan."""
    tasks = number_of_tasks(facts.parts, spark.sparkContext.defaultParallelism)
    pieces = pieces_by_task(spark, places.events, facts.files, facts.parts, tasks)
    compute_rows = partial(rows_of_parts, facts, tables, places, tasks)
    rows = table_function(compute_rows, _ddl(exchange_schema(_merged(tables), with_files=_by_spark(places))))(
        pieces.asTable()
    )
    return rows.coalesce(1) if tasks == 1 else rows  # so Spark knows that nothing has to be shuffled


def number_of_tasks(parts: int, cores: int) -> int:
    """Return the number of tasks for the parts of a run.

    Few parts are divided among one task per core, because starting a task takes a quarter of a second. Many parts are
    divided among more tasks, so that no core waits long for another's last task.
    """
    return min(parts, cores) if parts <= TASKS_PER_CORE * cores else TASKS_PER_CORE * cores


def _by_spark(places: RunLocations) -> bool:
    return not isinstance(places.written, Path)


def merged_rows(rows: DataFrame, names: Sequence[str]) -> DataFrame:
    """Merge the rows to one row per table and key: the second half of the plan."""
    schema = exchange_schema(names)
    merges = {
        column: MERGED_TABLES[name].figures[figure]
        for name in names
        for figure, column in figure_columns(MERGED_TABLES[name]).items()
    }
    aggregates = [_AGGREGATES[merges[column]](column).alias(column) for column in schema.names if column in merges]
    keys = [column for column in schema.names if column not in (*merges, HISTOGRAM)]
    if HISTOGRAM in schema.names:
        aggregates.append(F.collect_list(HISTOGRAM).alias(HISTOGRAM))
    if all(MERGED_TABLES[name].is_distinct for name in names):
        merged = rows.select(*schema.names)
    else:
        merged = rows.groupBy(*keys).agg(*aggregates) if aggregates else rows.select(*keys).distinct()
    if HISTOGRAM in schema.names:
        figures = arrow_udf(merged_figures, _spark_type(FIGURES_TYPE))  # type: ignore[call-overload]
        merged = merged.withColumn(HISTOGRAM, figures(TABLE, HISTOGRAM))
    if BLOCKS in names:
        merged = _summarized(_without_overlaps(merged), OVERTAKEN)
    if OVERTAKEN_IN_OVERLAPS in names:
        merged = _summarized(_overtaken_messages(merged), OVERTAKEN_IN_OVERLAPS)
    return merged


def _without_overlaps(merged: DataFrame) -> DataFrame:
    """Keep the blocks that a message of a higher block overtook, and the overtaken messages of the other blocks.

    See `records.tables.merged_tables.BLOCKS` and OVERTAKEN.
    """
    first_ns, last_ns, after_ns = (figure_columns(MERGED_TABLES[BLOCKS])[name] for name in _BLOCK_FIGURES)
    is_block, is_overtaken = F.col(TABLE) == BLOCKS, F.col(TABLE) == OVERTAKEN
    higher = Window.partitionBy(*STREAM).orderBy(F.desc("block")).rowsBetween(*_ALL_BEFORE)
    with_after = merged.withColumn(after_ns, F.when(is_block, F.min(F.when(is_block, F.col(first_ns))).over(higher)))
    overlaps = F.coalesce(F.col(after_ns) < F.col(last_ns), F.lit(False))
    in_overlap = F.max(overlaps).over(Window.partitionBy(*STREAM, "block"))
    marked = with_after.withColumn(_IN_OVERLAP, in_overlap)
    kept = F.when(is_block, overlaps).when(is_overtaken, ~F.col(_IN_OVERLAP)).otherwise(True)
    return marked.where(kept).drop(_IN_OVERLAP)


def _overtaken_messages(merged: DataFrame) -> DataFrame:
    """Remove the messages that were not overtaken (`records.tables.merged_tables.OVERTAKEN_IN_OVERLAPS`)."""
    columns = figure_columns(MERGED_TABLES[OVERTAKEN_IN_OVERLAPS])
    overtaken_by, alike = F.col(columns["overtaken_by"]), F.col(columns["alike"])
    arrived_before = Window.partitionBy(TABLE, *STREAM).orderBy("received_ns", "seq").rowsBetween(*_ALL_BEFORE)
    is_other = F.col(TABLE) != OVERTAKEN_IN_OVERLAPS
    with_highest = merged.withColumn(
        columns["overtaken_by"], F.when(~is_other, F.max("seq").over(arrived_before)).otherwise(overtaken_by)
    )
    return with_highest.where(is_other | ((F.col("seq") < overtaken_by) & (alike > 0)))


def _summarized(merged: DataFrame, name: str) -> DataFrame:
    """Keep a few overtaken messages with the numbers of all of them (`records.tables.merged_tables.OVERTAKEN`)."""
    columns = figure_columns(MERGED_TABLES[name])
    is_it = F.col(TABLE) == name
    alike = Window.partitionBy(TABLE, *STREAM, "fault")
    of_stream = Window.partitionBy(TABLE, *STREAM).orderBy(F.coalesce("due_ns", "received_ns"), "seq")
    distance = F.col(columns["overtaken_by"]) - F.col("seq")
    place, place_alike = F.row_number().over(of_stream), F.row_number().over(alike.orderBy("received_ns", "seq"))
    ranked = merged.withColumns(
        {
            _PLACE: place,
            _PLACE_ALIKE: place_alike,
            columns["furthest"]: F.when(is_it, F.max(distance).over(alike)).otherwise(F.col(columns["furthest"])),
            _ALIKE: F.count("*").over(alike),
        }
    )
    number = F.when(F.col(_PLACE_ALIKE) == 1, F.col(_ALIKE)).otherwise(0)
    counted = ranked.withColumn(columns["alike"], F.when(is_it, number).otherwise(F.col(columns["alike"])))
    few = (F.col(_PLACE) <= MOST_OVERTAKEN) | (F.col(_PLACE_ALIKE) == 1)
    return counted.where(~is_it | few).drop(_PLACE, _PLACE_ALIKE, _ALIKE)


def _merged_and_written(
    spark: SparkSession, facts: RunFacts, tables: Mapping[str, RowsOfPart], places: RunLocations, folder: str
) -> Merged:
    """Return the merged rows. Executors write the tables of parts as Parquet below ``folder``."""
    rows = rows_of_tasks(spark, facts, tables, places).persist(StorageLevel.MEMORY_AND_DISK)
    try:
        merged = merged_rows(rows.where(F.col(FILE).isNull()), _merged(tables)).toArrow()
        for name in tables:
            if name in WRITTEN_BY_PARTS:
                files = rows.where(F.col(FILE).isNotNull() & (F.col(TABLE) == name)).select(FILE)
                unpacked_rows = table_function(rows_of_files, _ddl(RESULT_TABLES[name]))(files.asTable())
                unpacked_rows.write.parquet(f"{folder}/{name}", mode="overwrite", compression="zstd")
    finally:
        rows.unpersist()
    return Merged(merged, _merged(tables))


def rows_of_files(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Return the rows of tables that were packed as files. Runs in a task."""
    for batch in batches:
        for file in batch[FILE]:
            yield from pa.ipc.open_stream(file.as_buffer())


def _merged(tables: Iterable[str]) -> tuple[str, ...]:
    return tuple(name for name in tables if name in MERGED_TABLES)


def rows_of_parts(
    facts: RunFacts,
    tables: Mapping[str, RowsOfPart],
    places: RunLocations,
    tasks: int,
    batches: Iterable[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """Return the merged rows of a task's parts. Runs in the task. ``batches``: rows of `pieces_by_task`."""
    received, written = ReceivedFiles(batches), places.written
    merged = MergedRows({name: tables[name] for name in _merged(tables)})
    schema = exchange_schema(_merged(tables), with_files=_by_spark(places))
    for number in parts_of_task(received.task, facts.parts, tasks):
        part = Part(facts, number, received.open if places.events else None)
        merged.add(part)
        for name in tables:
            if name in WRITTEN_BY_PARTS:
                rows = as_table(tables[name](part))
                if isinstance(written, Path):
                    write_part(written, name, number, rows)
                else:
                    yield packed_file(name, in_order(rows, RESULT_TABLES[name]), schema)
    yield from with_columns(merged.packed(), schema).combine_chunks().to_batches(max_chunksize=ROWS_PER_BATCH)


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
    """Report regularly how many tasks of the current stages have ended."""
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
