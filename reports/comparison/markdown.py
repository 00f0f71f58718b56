"""Writes a comparison as Markdown, for a job's summary or a pull request: the answer, the table, the reasons."""

from collections.abc import Sequence

from reports.comparison.beside import beside
from reports.comparison.cells import ArmCell, ArmTable, arm_table
from reports.comparison.comparison import Comparison
from reports.comparison.sentences import answer, doubts, lead, messages
from reports.parts.markdown import plain, table_lines
from reports.parts.numbers import joined


def markdown(comparisons: Sequence[Comparison]) -> str:
    table, first = arm_table(comparisons), comparisons[0]
    title = " vs ".join(arm.name for arm in first.design.arms)
    lines = [f"## {plain(title)}", "", f"**{plain(answer(comparisons))}** {plain(messages(comparisons))}", ""]
    if any(each.design.unlike for each in comparisons):
        lines += ["> **Unlike runs are compared**, as was allowed: see below.", ""]
    if told := beside(comparisons):
        lines += [
            f"What differs beside the {plain(first.design.field)}:",
            "",
            *(f"- {plain(line)}" for line in told),
            "",
        ]
    lines += [plain(lead(comparisons)), "", *_arms(first.design.field, table)]
    if table.left_out:
        lines += ["", f"Columns left out: {plain(joined(list(table.left_out)))}."]
    lines += ["", "### Verdicts", ""]
    for each in comparisons:
        under = f"{plain(each.scenario)}, " if len(comparisons) > 1 else ""
        for test in each.tests:
            about = f"**{test.verdict.word}**: {under}{plain(test.figure.arm)}, `{test.figure.metric.path}`."
            lines.append(f"- {about} {plain(' '.join(test.verdict.reasons))}")
    lines += ["", "### What to doubt", "", *(f"- {plain(doubt)}" for doubt in doubts(comparisons))]
    return "\n".join(lines) + "\n"


def _arms(field: str, table: ArmTable) -> list[str]:
    scenarios = [scenario for scenario, columns in table.groups for _ in range(columns)] or [""] * len(table.columns)
    under = [
        f"{scenario}: {title}" if scenario else title for scenario, title in zip(scenarios, table.columns, strict=True)
    ]
    titles = (plain(field), *map(plain, under))
    return table_lines(titles, [(plain(name), *map(_cell, cells)) for name, cells in table.rows])


def _cell(cell: ArmCell) -> str:
    return "<br>".join(plain(part) for part in (cell.value, cell.note, cell.against) if part)
