"""Turns runs into comparisons, one a scenario, and writes their page and files, each whole or not at all."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from records.run import RunInfo
from reports.comparison.arms import designs_by_scenario, primary_of_each
from reports.comparison.comparison import Asked, Comparison, compare
from reports.comparison.document import text
from reports.comparison.first_verdicts import let_stand
from reports.comparison.markdown import markdown
from reports.comparison.page import comparison_page
from reports.comparison.runs import TellsOfARun, read_runs
from reports.comparison.verdicts import FirstVerdict
from reports.parts.html import render_page, write_whole


@dataclass(frozen=True)
class Wanted:
    """The runs to compare and the files to write; None: not that one.

    ``to_add_a_broker``: tells of a run whom one more broker would restart; '' if it cannot tell. ``nearest_equal``: a
    sentence with the nearest arms to these that are equal in brokers, by a run of each; '' if it has none. ``kept``:
    verdicts that stand, whatever blocks were added after them.
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
    kept: tuple[FirstVerdict, ...] = ()


def compared(wanted: Wanted) -> tuple[Comparison, ...]:
    """One for each scenario of the runs. ComparisonImpossible or RunUnreadable, before anything is written."""
    designs = designs_by_scenario(read_runs(wanted.runs, wanted.to_add_a_broker), wanted.allow_unlike)
    asked = primary_of_each(wanted.primary, designs)
    found = compare([Asked(design, asked[scenario]) for scenario, design in designs.items()], wanted.same_within)
    nearest = wanted.nearest_equal([arm.runs[0].info for arm in found[0].design.arms])
    return tuple(let_stand(replace(each, nearest=nearest), wanted.kept) for each in found)


def render(comparisons: Sequence[Comparison]) -> str:
    """The page as text: the same runs give the same text."""
    return render_page("comparison.html.j2", comparison_page(comparisons))


def write(comparisons: Sequence[Comparison], wanted: Wanted) -> Sequence[Path]:
    """Render everything first, then write; returns the paths. RunUnwritable for a path that cannot be written."""
    makers = ((wanted.html, render), (wanted.markdown, markdown), (wanted.json, text))
    files = [(path, make(comparisons)) for path, make in makers if path is not None]
    for path, content in files:
        write_whole(path, content)
    return [path for path, _ in files]
