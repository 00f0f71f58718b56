"""Writes a comparison as Markdown, for a job's summary or a pull request: the answer, the table, the reasons."""

from collections.abc import Sequence

from reports.comparison.beside import beside
from reports.comparison.cells import ArmCell, ArmTable, arm_table
from reports.comparison.comparison import Comparison
from reports.comparison.sentences import answers, doubts, lead, messages
from reports.parts.markdown import plain, table_lines
from reports.parts.numbers import joined


def markdown(comparisons: Sequence[Comparison]) -> str:
    table, first = arm_table(comparisons), comparisons[0]
    title = " vs ".join(arm.name for arm in first.design.arms)
    lines = [f"## {plain(title)}", "", *(f"**{plain(line)}**\n" for line in answers(comparisons))]
    lines += [plain(messages(comparisons)), ""]
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
        lines += ["", f"Figures left out: {plain(joined(list(table.left_out)))}."]
    lines += ["", "### Verdicts", ""]
    for each in comparisons:
        under = f"{plain(each.scenario)}, " if len(comparisons) > 1 else ""
        for test in each.tests:
            about = f"**{test.verdict.word}**: {under}{plain(test.figure.arm)}, `{test.figure.metric.path}`."
            lines.append(f"- {about} {plain(' '.join(test.verdict.reasons))}")
    lines += ["", "### What to doubt", "", *(f"- {plain(doubt)}" for doubt in doubts(comparisons))]
    return "\n".join(lines) + "\n"


def _arms(field: str, table: ArmTable) -> list[str]:
    titles = (plain(field), *map(plain, table.arms))
    rows = [
        (plain(f"{row.scenario}: {row.title}" if row.scenario else row.title), *map(_cell, row.cells))
        for row in table.rows
    ]
    return table_lines(titles, rows)


def _cell(cell: ArmCell) -> str:
    return "<br>".join(plain(part) for part in (cell.value, cell.note, cell.against) if part)
