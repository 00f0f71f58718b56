"""Writes a night as Markdown, for the summary page of a CI job."""

from reports.nightly.judging import PASS
from reports.nightly.night import Night, answer, doubts, lead
from reports.parts.markdown import plain, table_lines

TITLES = ("gate", "scenario and topology", "candidate", "outcome", "why")


def markdown(of: Night) -> str:
    """What did not pass stands above what did."""
    ordered = sorted(of.results, key=lambda result: result.outcome == PASS)
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
        f"## Nightly benchmark {plain(of.name)}: {of.colour}",
        "",
        f"**{plain(answer(of))}**",
        "",
        plain(lead(of)),
        "",
    ]
    doubted = [f"- {plain(doubt)}" for doubt in doubts(of)]
    below = ["", "### What to doubt", "", *doubted] if doubted else []
    return "\n".join([*lines, *table_lines(TITLES, rows), *below]) + "\n"
