"""How long messages took: each measure in buckets, by path and second."""

import polars as pl

from analysis.events.run import Answers, Found, Question, Run, as_table
from analysis.latency import figures, histogram
from analysis.messages.part import Part


class Latency:
    """Tables: latency, with the extremes and counts that no file has, and paths. Summary: latency_ms."""

    done = "timed the messages"

    def questions(self, run: Run) -> dict[str, Question]:
        return {"latency": Question(_latency, histogram.added_up)}

    def conclude(self, run: Run, answers: Answers, found: Found) -> None:
        timed = as_table(answers["latency"])
        found.tables |= {"latency": timed, "paths": figures.paths(timed)}
        found.summary["latency_ms"] = figures.latency_ms(timed)


def _latency(part: Part) -> pl.DataFrame:
    known = part.run
    timed = histogram.durations(part.sends, part.messages, part.deliveries, known.stalls, known.replies)
    return histogram.latency(timed, known.timeline, known.clock_error_ns)
