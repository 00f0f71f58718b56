"""Reads the result of each round of a cell, and writes the durability table in Markdown."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow.parquet as pq

from brokerbench.durability.cells import DurabilityCell
from records.store.rundir import RunDirectory

KEPT, STRANDED, LOST, NOT_STARTED, UNKNOWN = "kept", "stranded", "lost", "did not start", "unknown"
WITHOUT_LOSS = (KEPT, STRANDED)
DECIDED = (*WITHOUT_LOSS, LOST, NOT_STARTED)
INTERRUPTED = "interrupted"
CERTAINTY = 0.95
MISCOUNTED = re.compile(r"durable subscription .* holds \d+ messages, and gave \d+$")
"""A reason for ``unknown``: after a restart Classic may count messages that a durable subscription does not have."""


@dataclass(frozen=True)
class Round:
    """The result of one run. The figures come from ``recovery`` in summary.json.

    ``why``: the reason for an unknown result. ``stranded``: messages that no consumer received, because they were on a
    queue of another broker, such as a mirror.
    """

    number: int
    outcome: str
    at_risk: int = 0
    lost: int = 0
    stranded: int = 0
    holes: int = 0
    oldest_lost_s: float = 0.0
    start_s: float | None = None
    why: str = ""

    def __str__(self) -> str:
        """``round 2: lost, 850 of 900 messages at risk, …``."""
        if self.outcome in (NOT_STARTED, UNKNOWN):
            return f"round {self.number}: {self.outcome}: {self.why.splitlines()[0]}"
        oldest = f", the oldest confirmed {self.oldest_lost_s:.2f} s before" if self.lost else ""
        found = f", {self.stranded:,} found on a queue without consumers" if self.stranded else ""
        return f"round {self.number}: {self.lost:,} of {self.at_risk:,} messages at risk lost{oldest}{found}"


def round_of(number: int, summary: Mapping[str, Any], faults: Sequence[Mapping[str, Any]]) -> Round:
    """Return the result of a run. ``faults``: rows of the event table. Does no I/O.

    The round does not count as kept if no message was at risk, or if the verdict is not ``pass``. There are two
    exceptions. The run may fail because messages were stranded, as on a mirror, if no other message is missing. And a
    broker may report that a durable subscription has messages that it does not deliver, if every message was received.
    Messages that may be in places that could not be browsed count as lost, unless other messages were found there.
    """
    if dead := [row for row in faults if row["effective_ns"] is not None and row["restored_ns"] is None]:
        return Round(number, NOT_STARTED, why=_cause(str(dead[0]["error"] or "the broker accepted no login")))
    recovery, messages, verdict = summary["recovery"], summary["messages"], str(summary["verdict"])
    gone, stranded = recovery["gone"], recovery["stranded"]
    made = partial(
        Round,
        number,
        at_risk=recovery["at_risk"],
        lost=gone,
        stranded=stranded,
        holes=recovery["lost_holes"],
        oldest_lost_s=recovery["oldest_lost_s"] or 0.0,
        start_s=recovery["start_s"],
    )
    not_found = sum(messages[name] for name in ("lost", "unaccounted", "corrupted", "dead_lettered"))
    is_answered = verdict == "pass" or (
        verdict == "unknown"
        and not (not_found or stranded)
        and all(MISCOUNTED.search(reason) for reason in summary["reasons"])
    )
    if verdict == "fail" and gone and (recovery["lost"] or not stranded):
        return made(LOST)
    if is_answered and recovery["at_risk"] and not gone:
        return made(KEPT)
    if verdict == "fail" and stranded and not gone and not not_found:
        return made(STRANDED)
    why = f"the verdict is {verdict}, {gone:,} of {recovery['at_risk']:,} messages at risk are gone"
    return made(UNKNOWN, why=f"{why}; {' '.join(summary['reasons'])}" if summary["reasons"] else why)


def _cause(error: str) -> str:
    """Return the line with an exception in an error that quotes a broker's log, or else the error's first line."""
    lines = [line.strip() for line in error.splitlines()] or [""]
    return next((line for line in lines if "Exception" in line), lines[0])


def rounds_in(folder: Path) -> list[Round]:
    """Return the analyzed rounds of a cell by number; for a repeated round, the latest.

    Runs that a user ended early are left out.
    """
    by_number: dict[int, Round] = {}
    for run in runs_in(folder):
        if run.is_analysed:
            summary = json.loads(run.summary_path.read_text(encoding="utf-8"))
            if summary["verdict"] != INTERRUPTED:
                number = round_number(run)
                by_number[number] = round_of(number, summary, pq.read_table(run.events("faults")).to_pylist())
    return [by_number[number] for number in sorted(by_number)]


def runs_in(folder: Path) -> list[RunDirectory]:
    """Return the runs of a cell, analyzed or not, the oldest first."""
    return [RunDirectory(path.parent) for path in sorted(folder.glob("*/run.json"))]


def round_number(run: RunDirectory) -> int:
    """Return the number of a run's round, which is the run's seed."""
    return int(json.loads(run.run_path.read_text(encoding="utf-8"))["options"]["seed"])


def most_losses(rounds: int) -> float:
    """Return the 95 % upper bound for the share of rounds with losses after ``rounds`` rounds without losses.

    For many rounds it is about 3 / ``rounds`` (the rule of three).
    """
    return float(1.0 - (1.0 - CERTAINTY) ** (1.0 / rounds)) if rounds else 1.0


HEADINGS = (
    *("product", "version", "topology", "journal", "fault", "messages at risk", "lost", "rounds with losses"),
    *("age of oldest lost message", "holes", "left on another broker", "time to start", "did not start"),
)


def table(rounds_by_cell: Mapping[DurabilityCell, Sequence[Round]]) -> str:
    """Return the table in Markdown, and below it a list of rounds without a result."""
    lines = [f"| {' | '.join(HEADINGS)} |", f"|{'---|' * len(HEADINGS)}"]
    lines += [f"| {' | '.join(_row(cell, rounds))} |" for cell, rounds in rounds_by_cell.items()]
    unknown = [
        f"- {cell}, round {round.number}: {round.why}"
        for cell, rounds in rounds_by_cell.items()
        for round in rounds
        if round.outcome == UNKNOWN
    ]
    below = ["", "Rounds without a result, which the table omits:", "", *unknown] if unknown else []
    return "\n".join([*lines, *below])


def _row(cell: DurabilityCell, rounds: Sequence[Round]) -> list[str]:
    ran = [round for round in rounds if round.outcome in (*WITHOUT_LOSS, LOST)]
    lossy = [round for round in ran if round.lost]
    starts_s = [round.start_s for round in ran if round.start_s is not None]
    not_started = sum(round.outcome == NOT_STARTED for round in rounds)
    bound = "" if lossy or not ran else f" (95 %: at most {most_losses(len(ran)):.0%})"
    oldest_s = max((round.oldest_lost_s for round in lossy), default=0.0)
    return [
        *cell.parts,
        f"{sum(round.at_risk for round in ran):,}",
        f"{sum(round.lost for round in ran):,}",
        f"{len(lossy)} of {len(ran)}{bound}",
        f"{oldest_s:.2f} s" if lossy else "–",
        f"{sum(round.holes for round in ran):,}",
        f"{sum(round.stranded for round in ran):,}",
        f"{median(starts_s):.1f} s" if starts_s else "–",
        f"{not_started} of {len(ran) + not_started}",
    ]
