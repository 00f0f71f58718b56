"""Checks that Spark merges the rows of parts like a single process, and computes every part once."""

import random
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from analysis import pipeline, tables
from analysis.events.run import RowsOfPart
from analysis.events.timeline import FaultSpan
from analysis.faults import harm
from analysis.messages import order
from analysis.messages.part import Part
from analysis.pipeline import RunLocations
from analysis.tables import CELLS, Merged, MergedRows, add_up, merged, packed
from records.errors import RunUnwritable
from records.figures.percentiles import SHARES, quantiles_ns
from records.store.parts import SEQS_PER_BLOCK
from records.tables import merged_tables
from records.tables.merged_tables import (
    BLOCKS,
    DISTRIBUTION_TYPE,
    EXAMPLES_KEPT,
    MERGED_TABLES,
    OVERTAKEN,
    OVERTAKEN_IN_OVERLAPS,
    MergedTable,
)
from records.tables.results import RESULT_TABLES
from tests.analysis.runs import due_of, make, receive, send
from tests.analysis.topics import facts_of, merged_here, ordered

PARTS = 8
RANDOM_VALUES = {
    pa.string(): lambda chance: chance.choice(["", "a", "ä", "b" * 40]),
    pa.int32(): lambda chance: chance.choice([None, -1, 0, 7]),
    pa.int64(): lambda chance: chance.choice([None, 0, 2**40]),
    pa.bool_(): lambda chance: chance.random() < 0.5,
}


def random_rows(part: Part | int, table: MergedTable, *, most: int = 40) -> pl.DataFrame:
    """Rows with few keys, some of them null; each part has different rows."""
    number = part if isinstance(part, int) else part.number
    chance = random.Random(f"{table.name} {number}")
    rows = [
        {
            **{key: RANDOM_VALUES[kind](chance) for key, kind in table.keys.items()},
            **{
                name: chance.choice([0, 5, 10**9] if merge == "sum" else [None, -3, 10**18])
                for name, merge in table.figures.items()
            },
        }
        for _ in range(chance.randrange(most))
    ]
    if table.is_histogram:
        rows = [{**row, "bucket": chance.randrange(-2, 3)} for row in rows]
    if table.is_distinct:
        rows = [{**row, "seq": number + PARTS * index} for index, row in enumerate(rows)]
    frame = pl.from_arrow(pa.Table.from_pylist(rows, table.schema))
    assert isinstance(frame, pl.DataFrame)
    return merged(table, frame)


def in_order(rows: pl.DataFrame) -> list[tuple[object, ...]]:
    return sorted(rows.rows(), key=repr)


def random_rows_of_all_parts(name: str) -> pl.DataFrame:
    table = MERGED_TABLES[name]
    return merged(table, pl.concat(random_rows(number, table) for number in range(PARTS)))


def expected(name: str) -> list[tuple[object, ...]]:
    """Return the histograms of distributions."""
    return in_order(random_rows_of_all_parts(name))


def expected_result(name: str) -> list[tuple[object, ...]]:
    """Compute figures of distributions from the buckets in plain Python, like `records.figures.percentiles`."""
    table = MERGED_TABLES[name]
    if name in (BLOCKS, OVERTAKEN, OVERTAKEN_IN_OVERLAPS):
        return in_order(ordered({each: random_rows_of_all_parts(each) for each in (name, BLOCKS)})[name])
    if not table.is_distribution:
        return expected(name)
    rows = random_rows_of_all_parts(name)
    keys = [key for key in table.keys if key != "bucket"]
    results = []
    for values in set(rows.select(keys).rows()):
        same = (pl.col(key).eq_missing(pl.lit(value)) for key, value in zip(keys, values, strict=True))
        its = rows.filter(pl.all_horizontal(*same)).to_dicts()
        figures: list[object] = []
        for prefix, count in (("", "count"), ("less_own_", "count_less_own")):
            counts = {row["bucket"]: row[count] for row in its}
            lows, highs = ([row[f"{prefix}{end}_ns"] for row in its] for end in ("min", "max"))
            figures += [sum(counts.values()), sum(number for bucket, number in counts.items() if bucket < 0)]
            figures += [min((low for low in lows if low is not None), default=None)]
            figures += [max((high for high in highs if high is not None), default=None)]
            figures += [[each for each in quantiles_ns(counts, [*SHARES.values()]) if each is not None]]
        results.append((*values, *figures))
    return sorted(results, key=repr)


def random_tables() -> Mapping[str, RowsOfPart]:
    return {name: partial(random_rows, table=table) for name, table in MERGED_TABLES.items()}


@pytest.mark.parametrize("waiting", [0, 3, 1_000_000])
def test_merged_rows_do_not_depend_on_how_many_wait(monkeypatch: pytest.MonkeyPatch, waiting: int) -> None:
    monkeypatch.setattr(tables, "_WAITING_ROWS", waiting)
    rows = MergedRows(random_tables())
    for number in range(PARTS):
        rows.add(number)  # type: ignore[arg-type]
    for name in MERGED_TABLES:
        assert in_order(rows[name]) == expected(name), name


def test_a_task_returns_only_the_first_examples_of_each_anomaly() -> None:
    """The anomaly has few values and ``at_ns`` many, so every part has more rows of an anomaly than are kept."""
    examples = MERGED_TABLES["examples"]

    def planted(part: Part | int) -> pl.DataFrame:
        number = part if isinstance(part, int) else part.number
        of_part = pl.DataFrame({"at_ns": range(number, 1_000, PARTS)}).with_columns(
            pl.lit("lost").alias("anomaly"), pl.lit(1).alias("copies")
        )
        return pl.concat([pl.DataFrame(schema=examples.schema.names), of_part], how="diagonal_relaxed")

    rows = MergedRows({"examples": planted})
    for number in range(PARTS):
        rows.add(number)  # type: ignore[arg-type]
    assert rows["examples"]["at_ns"].to_list() == [*range(EXAMPLES_KEPT.rows)]


@pytest.mark.parametrize(
    ("parts", "cores", "tasks"), [(1, 2, 1), (3, 2, 2), (8, 2, 2), (9, 2, 8), (100, 2, 8), (5, 64, 5)]
)
def test_few_parts_are_divided_among_one_task_per_core(parts: int, cores: int, tasks: int) -> None:
    assert pipeline.number_of_tasks(parts, cores) == tasks


def test_packed_rows_are_unpacked_as_they_were() -> None:
    rows = {name: random_rows(1, table) for name, table in MERGED_TABLES.items()}
    together = Merged(packed(rows), tuple(rows))
    for name, frame in rows.items():
        if MERGED_TABLES[name].is_histogram:
            continue  # covered by the tests of merged rows
        assert in_order(together[name]) == in_order(frame), name


def test_tables_without_rows_keep_their_columns() -> None:
    rows = merged_here(MergedRows(random_tables()), tuple(MERGED_TABLES))
    for name, table in MERGED_TABLES.items():
        keys = [key for key in table.keys if key != "bucket"]
        figures = DISTRIBUTION_TYPE.names if table.is_distribution else [*table.figures]
        assert rows[name].columns == [*(keys if table.is_distribution else table.keys), *figures], name


def test_one_process_merges_all_tables() -> None:
    rows = MergedRows(random_tables())
    for number in range(PARTS):
        rows.add(number)  # type: ignore[arg-type]
    results = merged_here(rows, tuple(MERGED_TABLES))
    for name in MERGED_TABLES:
        assert in_order(results[name]) == expected_result(name), name


def test_histograms_are_added_up_bucket_by_bucket() -> None:
    def histogram(buckets: list[int], count: int) -> dict[str, list[int | None]]:
        cells: dict[str, list[int | None]] = {name: [count] * len(buckets) for name in CELLS}
        return {**cells, "bucket": [*buckets], "max_ns": [None] * len(buckets)}

    lists = pa.array([[histogram([1, 2], 3), histogram([2], 4)], [], [histogram([-5], 6)]], pa.list_(tables.CELL_TYPE))
    first, empty, last = add_up(lists).to_pylist()
    by_bucket = dict(
        zip(first["bucket"], zip(first["count"], first["min_ns"], first["max_ns"], strict=True), strict=True)
    )
    assert by_bucket == {1: (3, 3, None), 2: (7, 3, None)}
    assert empty is None
    assert (last["bucket"], last["count"]) == ([-5], [6])


def cells(part: Part) -> pl.DataFrame:
    """Return one row of the latency table with the number of receipts in the part."""
    row = ("sent_to_received", "a", "b", None, "load", 0, False, 9, part.receipts.height, 0)
    schema = RESULT_TABLES["latency"]
    frame = pl.from_arrow(pa.Table.from_pylist([dict(zip(schema.names, row, strict=True))], schema))
    assert isinstance(frame, pl.DataFrame)
    return frame


@pytest.mark.spark
@pytest.mark.parametrize("tasks_per_core", [1, 4])
def test_spark_merges_all_tables_and_parts_write_their_own(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tasks_per_core: int
) -> None:
    monkeypatch.setattr(pipeline, "TASKS_PER_CORE", tasks_per_core)  # 1: a task has several parts

    def plant(recorder) -> None:  # type: ignore[no-untyped-def]
        for block in range(64):
            send(recorder, block * SEQS_PER_BLOCK, due_of(block))
            receive(recorder, block * SEQS_PER_BLOCK, due_of(block) + 1_000_000)

    facts = facts_of(make(tmp_path, plant), PARTS)
    rows = pipeline.compute(spark, facts, {"latency": cells, **random_tables()}, RunLocations(None, tmp_path))
    assert set(rows) == set(MERGED_TABLES)
    for name in MERGED_TABLES:
        assert in_order(rows[name]) == expected_result(name), name
    written = sorted((tmp_path / "latency").iterdir())
    assert [path.name for path in written] == [f"part-{number:05}.parquet" for number in range(PARTS)]
    assert [pq.read_table(path)["count"].to_pylist() for path in written] == [[8]] * PARTS


def random_arrivals(part: Part) -> pl.DataFrame:
    """First deliveries of few streams that mostly arrived in order, four of each block."""
    chance = random.Random(part.number)
    rows = []
    for producer in range(4):
        for number in range(240):
            if number // 4 % 2 == part.number:
                stream = {"consumer": 1, "producer": producer, "destination": "queue://q", "subscription": "q"}
                received_ns = number * 100 + chance.choice([0, 0, 0, 100, 250, -300])
                values = {"from_broker": "a", "due_ns": number, "received_ns": received_ns}
                rows.append({**stream, "seq": number * SEQS_PER_BLOCK // 4, **values})
    return pl.DataFrame(rows, schema_overrides={"consumer": pl.Int32, "producer": pl.Int32})


FAULTS = tuple(FaultSpan(number, "kill", "a", number * 5_000, number * 5_000 + 100) for number in (1, 2))


def blocks_of(part: Part) -> pl.DataFrame:
    return order.blocks(random_arrivals(part))


def overtaken_of(part: Part) -> pl.DataFrame:
    return order.overtaken(random_arrivals(part), FAULTS)


def in_overlaps_of(part: Part, overlaps: pl.DataFrame) -> pl.DataFrame:
    return order.in_overlaps(random_arrivals(part), overlaps, FAULTS)


@pytest.mark.spark
def test_windows_find_and_count_what_a_higher_seq_overtook(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merged_tables, "MOST_OVERTAKEN", 20)
    monkeypatch.setattr(pipeline, "MOST_OVERTAKEN", 20)
    facts = facts_of(make(tmp_path, lambda recorder: send(recorder, 1, due_of(1))), 2)
    places = RunLocations(None, tmp_path)

    def compute(tables: Mapping[str, RowsOfPart]) -> Mapping[str, pl.DataFrame]:
        return pipeline.compute(spark, facts, tables, places)

    arrived = pl.concat(random_arrivals(Part(facts, number)) for number in range(2))
    truth = order.overtaken(arrived, FAULTS)
    first = compute({BLOCKS: blocks_of, OVERTAKEN: overtaken_of, "flaps": _one})
    assert first["flaps"]["flaps"].to_list() == [2]
    assert 10 < first[BLOCKS].height < 240
    in_overlaps = partial(in_overlaps_of, overlaps=order.overlaps(first[BLOCKS]))
    second = compute({OVERTAKEN_IN_OVERLAPS: in_overlaps, "flaps": _one})
    found = pl.concat([first[OVERTAKEN], second[OVERTAKEN_IN_OVERLAPS]])
    assert first[OVERTAKEN].height
    assert found.height < truth.height
    assert in_order(order.reordered(found)) == in_order(order.reordered(order.summarized(truth)))
    assert harm.reordered(found) == harm.reordered(order.summarized(truth))
    assert len(harm.reordered(found)) == 2
    earliest = truth.sort("due_ns", "seq").group_by(order.STREAM).head(20).select("producer", "seq", "overtaken_by")
    assert (
        set(earliest.rows())
        <= set(found.select("producer", "seq", "overtaken_by").rows())
        <= set(truth.select("producer", "seq", "overtaken_by").rows())
    )


def _one(_part: Part) -> pl.DataFrame:
    return pl.DataFrame({"flaps": [1]})


def unwritable(part: Part) -> pl.DataFrame:
    raise RunUnwritable(f"part {part.number}: the disk is full: make room")


@pytest.mark.spark
def test_a_disk_that_takes_no_rows_is_one_line(spark: SparkSession, tmp_path: Path) -> None:
    facts = facts_of(make(tmp_path, lambda recorder: send(recorder, 1, due_of(1))), 1)
    with pytest.raises(RunUnwritable, match=r"^part 0: the disk is full: make room$"):
        pipeline.compute(
            spark,
            facts,
            {"latency": unwritable, "senders": random_tables()["senders"]},
            RunLocations(None, tmp_path),
        )
