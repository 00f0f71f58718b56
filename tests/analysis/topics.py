"""Runs topics of the analysis without Spark: this process computes and merges the rows of all parts."""

from collections.abc import Mapping, Sequence

import polars as pl
import pyarrow as pa

from analysis.events.run import Compute, MergedTables, RowsOfPart, Run, Topic, TopicResults, as_table
from analysis.jobs import TOPICS, conclude
from analysis.messages import order
from analysis.messages.part import Part, RunFacts
from analysis.tables import TABLE, Merged, MergedRows, figures_of, packed
from records.store.reader import inspect, seal
from records.store.rundir import RunDirectory
from records.tables.merged_tables import BLOCKS, HISTOGRAM, MERGED_TABLES, OVERTAKEN, OVERTAKEN_IN_OVERLAPS, STREAM
from records.tables.results import WRITTEN_BY_PARTS, added_up


def results_of(directory: RunDirectory, parts: int = 1, topics: Sequence[Topic] = TOPICS) -> TopicResults:
    """Return the topics' results for a run with this number of parts."""
    written: dict[str, list[pa.Table]] = {}

    def compute(_purpose: str, tables: Mapping[str, RowsOfPart]) -> MergedTables:
        merged_names = tuple(name for name in tables if name in MERGED_TABLES)
        merged = MergedRows({name: tables[name] for name in merged_names})
        for number in range(parts):
            part = Part(RunFacts.from_run(run), number)
            merged.add(part)
            for name in set(tables).intersection(WRITTEN_BY_PARTS):
                written.setdefault(name, []).append(as_table(tables[name](part)))
        return merged_here(merged, merged_names)

    run = _run(directory, parts, compute)
    results = conclude(run, lambda _line: None, topics)
    results.tables |= {name: added_up(name, pa.concat_tables(rows)) for name, rows in written.items()}
    return results


def merged_here(rows: MergedRows, names: tuple[str, ...]) -> Merged:
    """Return the merged rows of these tables as Spark's plan returns them."""
    everything = packed(ordered({name: rows[name] for name in names}))
    if HISTOGRAM in everything.schema.names:
        place = everything.schema.names.index(HISTOGRAM)
        figures = figures_of(everything[TABLE].combine_chunks(), everything[HISTOGRAM].combine_chunks())
        everything = everything.set_column(place, HISTOGRAM, figures)
    return Merged(everything, names)


def ordered(rows: Mapping[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return the merged rows of tables after the windows of Spark's plan."""
    found = dict(rows)
    if BLOCKS in rows:
        found[BLOCKS] = overtaken_blocks(rows[BLOCKS])
        if OVERTAKEN in rows:
            alone = rows[OVERTAKEN].join(found[BLOCKS], [*STREAM, "block"], how="anti", nulls_equal=True)
            found[OVERTAKEN] = order.summarized(alone)
    if OVERTAKEN_IN_OVERLAPS in rows:
        found[OVERTAKEN_IN_OVERLAPS] = order.summarized(overtaken_messages(rows[OVERTAKEN_IN_OVERLAPS]))
    return found


def overtaken_blocks(blocks: pl.DataFrame) -> pl.DataFrame:
    """Return the merged blocks that a message of a higher block overtook, with after_ns."""
    higher_ns = pl.col("first_ns").reverse().cum_min().forward_fill().reverse().shift(-1)
    with_after = blocks.sort("block").with_columns(higher_ns.over([*STREAM]).alias("after_ns"))
    return with_after.filter(pl.col("after_ns") < pl.col("last_ns"))


def overtaken_messages(firsts: pl.DataFrame) -> pl.DataFrame:
    """Return the first deliveries that a higher seq of their stream overtook, with overtaken_by."""
    highest_before = pl.col("seq").cum_max().forward_fill().shift(1).over([*STREAM])
    with_highest = firsts.sort("received_ns", "seq").with_columns(highest_before.alias("overtaken_by"))
    return with_highest.filter((pl.col("seq") < pl.col("overtaken_by")) & (pl.col("alike") > 0))


def facts_of(directory: RunDirectory, parts: int) -> RunFacts:
    """Return the run-level facts that every part receives."""

    def compute(_purpose: str, _tables: Mapping[str, RowsOfPart]) -> MergedTables:
        raise AssertionError("no table of this run is computed")

    return RunFacts.from_run(_run(directory, parts, compute))


def _run(directory: RunDirectory, parts: int, compute: Compute) -> Run:
    seal(directory)
    sealing = inspect(directory)
    return Run(directory, directory.read_run(), sealing, parts, compute)
