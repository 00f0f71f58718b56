"""How long messages took: each measure in buckets, by path and second."""

import polars as pl

from analysis.events.run import MergedTables, Results, RowsOfPart, Run, as_table
from analysis.latency import figures, histogram
from analysis.latency.histogram import KEY, PATHS_KEY, SECONDS_KEY, added_up
from analysis.messages.part import Part


class Latency:
    """Tables: latency, which alone has rows in any number, and paths. Summary: latency_ms.

    Found for others: latency_by_second and latency_by_path, with fewer rows than the table latency, but with the
    extremes and the impossible ones that no file has.
    """

    step = "timed the messages"

    def tables(self, run: Run) -> dict[str, RowsOfPart]:
        return {"latency": _cells, "latency_by_second": _by_second, "latency_by_path": _by_path}

    def conclude(self, run: Run, merged: MergedTables, results: Results) -> None:
        results.latency_by_second = as_table(merged["latency_by_second"])
        results.latency_by_path = as_table(merged["latency_by_path"])
        results.tables["paths"] = figures.paths(results.latency_by_path)
        results.summary["latency_ms"] = figures.latency_ms(results.latency_by_second)


def _cells(part: Part) -> pl.DataFrame:
    return part.once(_histogram).select(*KEY, "count", "count_less_own")


def _by_second(part: Part) -> pl.DataFrame:
    return added_up(part.once(_histogram), SECONDS_KEY)


def _by_path(part: Part) -> pl.DataFrame:
    return added_up(part.once(_histogram), PATHS_KEY)


def _histogram(part: Part) -> pl.DataFrame:
    facts = part.run
    timed = histogram.durations(part.sends, part.messages, part.deliveries, facts.stalls, facts.replies)
    return histogram.latency(timed, facts.timeline, facts.clock_error_ns)
