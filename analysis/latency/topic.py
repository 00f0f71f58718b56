"""How long messages took: each measure in buckets, by path and second."""

from functools import partial

import polars as pl

from analysis.events.questions import Answers, Question
from analysis.events.run import Results, Run, as_table
from analysis.latency import figures, histogram
from analysis.latency.histogram import KEY, NAMES, PATHS_KEY, SECONDS_KEY, added_up
from analysis.messages.part import Part


class Latency:
    """Tables: latency, which alone has rows in any number, and paths. Summary: latency_ms.

    Found for others: latency_by_second and latency_by_path, with fewer rows than the table latency, but with the
    extremes and the impossible ones that no file has.
    """

    step = "timed the messages"

    def questions(self, run: Run) -> dict[str, Question]:
        return {
            "latency": Question(_latency, added_up, ranges=NAMES),
            "latency_by_second": Question(_by_second, partial(added_up, key=SECONDS_KEY), ranges=("measure",)),
            "latency_by_path": Question(_by_path, partial(added_up, key=PATHS_KEY)),
        }

    def conclude(self, run: Run, answers: Answers, results: Results) -> None:
        results.latency_by_second = as_table(answers["latency_by_second"])
        results.latency_by_path = as_table(answers["latency_by_path"])
        results.tables["paths"] = figures.paths(results.latency_by_path)
        results.long_tables["latency"] = map(as_table, answers.ranges("latency"))
        results.summary["latency_ms"] = figures.latency_ms(results.latency_by_second)


def _latency(part: Part) -> pl.DataFrame:
    return part.once(_histogram).select(*KEY, "count", "count_less_own")


def _by_second(part: Part) -> pl.DataFrame:
    return added_up(part.once(_histogram), SECONDS_KEY)


def _by_path(part: Part) -> pl.DataFrame:
    return added_up(part.once(_histogram), PATHS_KEY)


def _histogram(part: Part) -> pl.DataFrame:
    facts = part.run
    timed = histogram.durations(part.sends, part.messages, part.deliveries, facts.stalls, facts.replies)
    return histogram.latency(timed, facts.timeline, facts.clock_error_ns)
