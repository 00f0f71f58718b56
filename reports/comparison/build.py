"""Turns runs into comparisons, one per scenario, and writes their page and files. Each file is written atomically.

Everything on the page is computed here: its template contains no decisions.
"""

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from records.run import RunInfo
from reports.comparison.arms import Arm, designs_by_scenario, primary_of_each
from reports.comparison.charts import band_table, charts_of
from reports.comparison.comparison import Comparison, JudgedDesign, Test, compare, keep_first_verdicts
from reports.comparison.conditions import OVERLAY, conditions, shown
from reports.comparison.confounders import confounder_lines
from reports.comparison.forms import document_text, markdown
from reports.comparison.hot_methods import differences_tables
from reports.comparison.runs import TellsOfARun, read_runs
from reports.comparison.sentences import answers, doubts, lead, left_out, messages
from reports.comparison.tables import ArmTable, arm_table, as_csv, effects, ratios, values
from reports.comparison.verdicts import BETTER, INVALID, WORSE, FirstVerdict
from reports.parts.formats import render_page, safe_in_script, write_whole
from reports.parts.numbers import seconds_text
from reports.parts.values import Cell, Chart, Column, Table
from reports.run.provenance import OVERLAY_FILE, command, moment


@dataclass(frozen=True)
class ComparisonInput:
    """The runs to compare and the files to write; None: do not write this file.

    ``to_add_a_broker``: returns the brokers that adding one would restart; '' if unknown. ``nearest_equal``: a sentence
    with the nearest arms that have equal numbers of brokers, given a run of each; empty if there are none.
    ``standing_verdicts``: verdicts that remain valid when blocks are added after them.
    """

    runs: tuple[Path, ...]
    primary: tuple[str, ...]
    same_within: float
    allow_unlike: bool
    html: Path | None = None
    markdown: Path | None = None
    json: Path | None = None
    to_add_a_broker: TellsOfARun = lambda _info: ""
    nearest_equal: Callable[[Sequence[RunInfo]], str] = lambda _infos: ""
    standing_verdicts: tuple[FirstVerdict, ...] = ()


def compare_runs(wanted: ComparisonInput) -> tuple[Comparison, ...]:
    """Return one comparison per scenario. Raises UserError before anything is written."""
    designs = designs_by_scenario(read_runs(wanted.runs, wanted.to_add_a_broker), wanted.allow_unlike)
    primary = primary_of_each(wanted.primary, designs)
    comparisons = compare(
        [JudgedDesign(design, primary[scenario]) for scenario, design in designs.items()], wanted.same_within
    )
    nearest = wanted.nearest_equal([arm.runs[0].info for arm in comparisons[0].design.arms])
    return tuple(
        keep_first_verdicts(replace(comparison, nearest=nearest), wanted.standing_verdicts)
        for comparison in comparisons
    )


def render(comparisons: Sequence[Comparison]) -> str:
    """Return the page as text. Equal runs give equal text."""
    return render_page("comparison.html.j2", comparison_page(comparisons))


def write(comparisons: Sequence[Comparison], wanted: ComparisonInput) -> Sequence[Path]:
    """Render everything first, then write; returns the paths. RunUnwritable for a path that cannot be written."""
    makers = ((wanted.html, render), (wanted.markdown, markdown), (wanted.json, document_text))
    files = [(path, make(comparisons)) for path, make in makers if path is not None]
    for path, content in files:
        write_whole(path, content)
    return [path for path, _ in files]


SYMBOLS = {BETTER: "✓", WORSE: "✗", INVALID: "!", "same": "=", "undecided": "?", "unstable": "~"}


@dataclass(frozen=True)
class Download:
    """A file inside the page, which a link saves without a script."""

    name: str
    description: str
    address: str


@dataclass(frozen=True)
class VerdictLine:
    """One test for the reader. ``symbol``: shows the outcome without color."""

    word: str
    symbol: str
    title: str
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class ComparisonPage:
    title: str
    meta: str
    answers: tuple[str, ...]
    messages: str
    confounder_lines: tuple[str, ...]
    left_out: tuple[str, ...]
    unlike: tuple[str, ...]
    arms_by: str
    table: ArmTable
    verdicts: tuple[VerdictLine, ...]
    doubts: tuple[str, ...]
    charts: tuple[Chart, ...]
    effects: tuple[Table, ...]
    runs: tuple[Table, ...]
    commands: tuple[tuple[str, str], ...]
    overlays: tuple[tuple[str, str], ...]
    downloads: tuple[Download, ...]
    data: str


def comparison_page(comparisons: Sequence[Comparison]) -> ComparisonPage:
    leading, several = comparisons[0], len(comparisons) > 1
    names = [arm.name for arm in leading.design.arms]
    return ComparisonPage(
        title=", ".join(names) + " under the same clients",
        meta=lead(comparisons),
        answers=answers(comparisons),
        messages=messages(comparisons),
        confounder_lines=confounder_lines(comparisons),
        left_out=tuple(dict.fromkeys(line for comparison in comparisons for line in left_out(comparison))),
        unlike=tuple(str(difference) for comparison in comparisons for difference in comparison.design.unlike),
        arms_by=leading.design.field,
        table=arm_table(comparisons),
        verdicts=tuple(_verdict(comparison, test, several) for comparison in comparisons for test in comparison.tests),
        doubts=doubts(comparisons),
        charts=tuple(chart for comparison in comparisons for chart in charts_of(comparison, several)),
        effects=tuple(
            _under(comparison, table, several)
            for comparison in comparisons
            for table in (effects(comparison), *_hot_methods(comparison))
            if table
        ),
        runs=tuple(
            _under(comparison, table, several)
            for comparison in comparisons
            for table in (_runs(comparison), _made_alike(comparison))
        ),
        commands=tuple(
            _command(comparison, arm, several) for comparison in comparisons for arm in comparison.design.arms
        ),
        overlays=_overlays(comparisons),
        downloads=tuple(download for comparison in comparisons for download in _downloads(comparison, several)),
        data=safe_in_script(document_text(comparisons)),
    )


def _command(comparison: Comparison, arm: Arm, several: bool) -> tuple[str, str]:
    name = f"{arm.name}, {comparison.scenario}" if several else arm.name
    return name, command(arm.runs[0].info)


def _overlays(comparisons: Sequence[Comparison]) -> tuple[tuple[str, str], ...]:
    """Return the overlays that were used: each file once, by name and digest."""
    runs = [arm.runs[0].info for comparison in comparisons for arm in comparison.design.arms]
    texts = {
        str(overlay): text
        for run in runs
        if (overlay := conditions(run).get(OVERLAY))
        for name, text in run.rendered.items()
        if name.startswith(OVERLAY_FILE)
    }
    return tuple(texts.items())


def _under(comparison: Comparison, table: Table, several: bool) -> Table:
    return replace(table, caption=f"{table.caption}, {comparison.scenario}") if several else table


def _verdict(comparison: Comparison, test: Test, several: bool) -> VerdictLine:
    under = f", {comparison.scenario}" if several else ""
    title = f"{test.figure.arm}, {test.figure.metric.title}{under}"
    return VerdictLine(test.verdict.word, SYMBOLS[test.verdict.word], title, test.verdict.reasons)


def _hot_methods(comparison: Comparison) -> tuple[Table, ...]:
    return differences_tables({arm.name: [run.profiles for run in arm.runs] for arm in comparison.design.arms})


def _runs(comparison: Comparison) -> Table:
    titles = ("Arm", "Block", "Run", "Verdict", "Load began", "Load", "Seed")
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            arm.name,
            block,
            run.name,
            run.summary["verdict"],
            moment(run.summary["wall"]),
            seconds_text(run.summary["phases"].get("load")),
            str(run.info.seed),
        )
        for arm in comparison.design.rows
        for block, run in zip(comparison.design.blocks, arm.runs, strict=True)
    )
    return Table("The runs", tuple(map(Column, titles)), rows)


def _made_alike(comparison: Comparison) -> Table:
    """Return a table of the conditions that all runs share, from run.json."""
    unlike = {difference.field for difference in comparison.design.unlike} | {comparison.design.field}
    shared = conditions(comparison.reference.runs[0].info)
    rows = tuple((name, shown(value)) for name, value in shared.items() if name not in unlike and value is not None)
    return Table("Equal in all runs", (Column("Field"), Column("Value")), rows)


def _downloads(comparison: Comparison, several: bool) -> tuple[Download, ...]:
    under = f"{comparison.scenario}-" if several else ""
    files = (
        ("effects.csv", "effects, intervals and verdicts", effects(comparison)),
        ("ratios.csv", "ratios by block", ratios(comparison)),
        ("figures.csv", "every figure of every run", values(comparison)),
        ("spectra.csv", "latency spectra", band_table("", comparison.design.arms)),
    )
    return tuple(Download(f"{under}{name}", description, _address(as_csv(table))) for name, description, table in files)


def _address(text: str) -> str:
    return "data:text/csv;base64," + base64.b64encode(text.encode()).decode()
