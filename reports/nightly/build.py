"""Writes all files of a night: its page, the comparison pages, and files for CI. Each file is written atomically.

docs/nightly.schema.json describes the JSON.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reports.comparison.build import render as render_comparison
from reports.comparison.forms import ratio_document
from reports.nightly.history import NightlyHistory, Trend, draw_trend, trend_table, trends
from reports.nightly.judging import FAIL, INVALID, PASS, UNDECIDED, GateResult, Night, answer, doubts, lead
from reports.parts.formats import (
    JUnitCase,
    JUnitSuite,
    junit_document,
    plain,
    render_page,
    safe_in_script,
    table_lines,
    write_whole,
)
from reports.parts.numbers import counted
from reports.parts.style import chart
from reports.parts.values import Chart

NIGHTLY_VERSION = 2


def document(night: Night) -> dict[str, Any]:
    """Return the night as plain values. Ratios are to the reference. Unknown values are null."""
    return {
        "nightly_version": NIGHTLY_VERSION,
        "night": night.name,
        "plan": night.plan,
        "colour": night.color,
        "answer": answer(night),
        "environment": night.environment,
        "tests": night.tests,
        "blocks_needed": night.blocks_needed,
        "doubts": list(doubts(night)),
        "gates": [_gate(result) for result in night.results],
    }


def document_text(night: Night) -> str:
    return json.dumps(document(night), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _gate(result: GateResult) -> dict[str, Any]:
    ratio = result.figure.against if result.figure else None
    return {
        "scenario": result.cell.scenario,
        "topology": result.cell.topology,
        "arm": result.arm,
        "gate": result.gate,
        "outcome": result.outcome,
        "reasons": list(result.reasons),
        "ratio": ratio_document(ratio),
        "p": result.p,
        "p_holm": result.adjusted_p,
    }


TITLES = ("gate", "scenario and topology", "candidate", "outcome", "why")


def markdown(night: Night) -> str:
    """Return the night in Markdown. Gates that did not pass come first."""
    ordered = sorted(night.results, key=lambda result: result.outcome == PASS)
    rows = [
        (
            f"`{result.gate}`",
            plain(result.cell.name),
            plain(result.arm),
            f"**{result.outcome}**",
            "<br>".join(map(plain, result.reasons)),
        )
        for result in ordered
    ]
    lines = [
        f"## Nightly benchmark {plain(night.name)}: {night.color}",
        "",
        f"**{plain(answer(night))}**",
        "",
        plain(lead(night)),
        "",
    ]
    doubted = [f"- {plain(doubt)}" for doubt in doubts(night)]
    below = ["", "### What to doubt", "", *doubted] if doubted else []
    return "\n".join([*lines, *table_lines(TITLES, rows), *below]) + "\n"


def nightly_junit(night: Night) -> str:
    return junit_document(
        JUnitSuite(
            f"{night.name} {cell.name}",
            f"brokerbench.nightly.{cell.scenario}",
            {"night": night.name, "plan": night.plan, "scenario": cell.scenario, "topology": cell.topology},
            tuple(_case(result) for result in night.results if result.cell is cell),
            took_s=sum(sum(run.summary["phases"].values()) for run in cell.runs),
            began=min((run.summary["wall"] for run in cell.runs), default=""),
        )
        for cell in night.cells
    )


def _case(result: GateResult) -> JUnitCase:
    name = f"{result.gate}: {result.arm}" if result.arm else result.gate
    return JUnitCase(name, result.outcome, " ".join(result.reasons))


SYMBOLS = {PASS: "✓", FAIL: "✗", UNDECIDED: "?", INVALID: "!"}
TONES = {PASS: "better", FAIL: "worse", UNDECIDED: "undecided", INVALID: "invalid"}


@dataclass(frozen=True)
class GateLine:
    """One result for the reader. ``symbol``: shows the outcome without color."""

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
    color: str
    answer: str
    gates: tuple[GateLine, ...]
    comparisons: tuple[tuple[str, str], ...]
    trends: tuple[Chart, ...]
    doubts: tuple[str, ...]
    damaged: tuple[str, ...]
    data: str


def nightly_page(night: Night, history: NightlyHistory, comparisons: dict[str, str]) -> NightlyPage:
    """Return the content of the page. ``comparisons``: the file of each cell's own page, by the cell's name."""
    return NightlyPage(
        title=f"Nightly benchmark {night.name}",
        meta=lead(night),
        color=night.color,
        answer=answer(night),
        gates=tuple(map(_line, sorted(night.results, key=lambda result: result.outcome == PASS))),
        comparisons=tuple(comparisons.items()),
        trends=tuple(_chart(at, trend) for at, trend in enumerate(trends(history.table, night.cells), start=1)),
        doubts=doubts(night),
        damaged=tuple(
            f"A file of the history could not be read, and its nights are missing here: it is now {path.name}."
            for path in history.damaged
        ),
        data=safe_in_script(document_text(night)),
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
    words = f"{nights} on this machine. Lines show the median of an arm's runs, bands their range."
    measured = any(value is not None for line in trend.lines for value in line.middle)
    few = "A trend needs at least two nights." if len(trend.nights) == 1 and measured else "No run has this figure."
    draw = (lambda: draw_trend(trend)) if len(trend.nights) > 1 and measured else None
    return chart(f"trend-{number}", title, words, trend_table(trend), draw, few)


@dataclass(frozen=True)
class NightFiles:
    """``folder``: for the pages and nightly.json. ``junit`` and ``markdown``: paths; None to skip the file."""

    folder: Path
    junit: Path | None = None
    markdown: Path | None = None


def write(night: Night, history: NightlyHistory, files: NightFiles) -> Sequence[Path]:
    """Write the files and return their paths, the night's page first. RunUnwritable if a file cannot be written."""
    compared = {cell.name: cell.comparison for cell in night.cells if cell.comparison is not None}
    names = {name: f"comparison-{at}.html" for at, name in enumerate(compared, start=1)}
    page = files.folder / "nightly.html"
    written = {page: render_page("nightly.html.j2", nightly_page(night, history, names))}
    written |= {files.folder / names[name]: render_comparison((comparison,)) for name, comparison in compared.items()}
    written[files.folder / "nightly.json"] = document_text(night)
    if files.junit is not None:
        written[files.junit] = nightly_junit(night)
    if files.markdown is not None:
        written[files.markdown] = markdown(night)
    for path, content in written.items():
        write_whole(path, content)
    return list(written)
