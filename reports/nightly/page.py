"""Computes everything that the page of a night prints: the template decides nothing."""

from dataclasses import dataclass

from reports.nightly.forms import document_text
from reports.nightly.history import History
from reports.nightly.judging import FAIL, INVALID, PASS, UNDECIDED, GateResult
from reports.nightly.night import Night, answer, doubts, lead
from reports.nightly.trend import Trend, draw_trend, trend_table, trends
from reports.parts.html import safe_in_script
from reports.parts.numbers import counted
from reports.parts.style import chart
from reports.parts.values import Chart

SYMBOLS = {PASS: "✓", FAIL: "✗", UNDECIDED: "?", INVALID: "!"}
TONES = {PASS: "better", FAIL: "worse", UNDECIDED: "undecided", INVALID: "invalid"}


@dataclass(frozen=True)
class GateLine:
    """One result for the reader. ``symbol``: so that colour is not all that tells."""

    symbol: str
    tone: str
    outcome: str
    gate: str
    where: str
    arm: str
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class NightlyPage:
    title: str
    meta: str
    colour: str
    answer: str
    gates: tuple[GateLine, ...]
    comparisons: tuple[tuple[str, str], ...]
    trends: tuple[Chart, ...]
    doubts: tuple[str, ...]
    damaged: tuple[str, ...]
    data: str


def nightly_page(of: Night, history: History, comparisons: dict[str, str]) -> NightlyPage:
    """``comparisons``: the file of each cell's own page, by the cell's name."""
    return NightlyPage(
        title=f"Nightly benchmark {of.name}",
        meta=lead(of),
        colour=of.colour,
        answer=answer(of),
        gates=tuple(map(_line, sorted(of.results, key=lambda result: result.outcome == PASS))),
        comparisons=tuple(comparisons.items()),
        trends=tuple(_chart(at, trend) for at, trend in enumerate(trends(history.table, of.cells), start=1)),
        doubts=doubts(of),
        damaged=tuple(
            f"A file of the history could not be read, and its nights are missing here: it is now {path.name}."
            for path in history.damaged
        ),
        data=safe_in_script(document_text(of)),
    )


def _line(result: GateResult) -> GateLine:
    return GateLine(
        SYMBOLS[result.outcome],
        TONES[result.outcome],
        result.outcome,
        result.gate,
        result.cell.name,
        result.arm,
        result.reasons,
    )


def _chart(number: int, trend: Trend) -> Chart:
    title = f"{trend.metric.title[:1].upper()}{trend.metric.title[1:]}, {trend.cell}"
    nights = counted(len(trend.nights), "night")
    words = f"{nights} on this machine. A line is the middle of an arm's runs, the band their range."
    measured = any(value is not None for line in trend.lines for value in line.middle)
    few = "One night makes no trend." if len(trend.nights) == 1 and measured else "No run has this figure."
    draw = (lambda: draw_trend(trend)) if len(trend.nights) > 1 and measured else None
    return chart(f"trend-{number}", title, words, trend_table(trend), draw, few)
