"""Writes a run as Markdown, for a job's summary or a pull request: the verdict, the main figures, the checks."""

from pathlib import Path

from records.summary import CheckResult, Summary
from reports.inputs import Results
from reports.parts.markdown import plain, table_lines
from reports.parts.values import Figure
from reports.run.headline import headline
from reports.run.junit import unknown_reason
from reports.run.keyfigures import OUTCOME_WORDS, key_figures

MAIN_FIGURES = ("Sent", "Received", "Lost", "Throughput", "Latency, median", "Latency, p99")


def run_markdown(results: Results, report: Path) -> str:
    """``report``: where report.html is, which is named at the end."""
    summary, top = results.summary, headline(results.run, results.summary)
    lines = [f"## {plain(summary['scenario'])} on {plain(summary['topology'])}: {top.word.lower()}", ""]
    lines += [f"**{plain(top.answer)}**", ""]
    lines += [f"- {plain(line)}" for line in top.further]
    lines += [""] if top.further else []
    lines += [plain(top.meaning), ""]
    lines += [f"- {plain(reason)}" for reason in top.reasons]
    lines += [""] if top.reasons else []
    figures = [figure for figure in key_figures(summary) if figure.label in MAIN_FIGURES]
    lines += table_lines(("Figure", "Value", "Note"), [_figure(figure) for figure in figures])
    lines += ["", *_checks(summary), "", f"Report: {_code(str(report))}"]
    return "\n".join(lines) + "\n"


def _figure(figure: Figure) -> tuple[str, ...]:
    """A doubtful figure says so in its note."""
    doubtful = " (doubtful)" if figure.tone == "doubtful" else ""
    return plain(figure.label), plain(f"{figure.value} {figure.unit}".strip() + doubtful), plain(figure.note)


def _checks(summary: Summary) -> list[str]:
    if not summary["checks"]:
        return ["This scenario has no checks."]
    rows = [tuple(map(plain, _check(check, summary))) for check in summary["checks"]]
    return table_lines(("Check", "Outcome", "Figure", "Value", "Rule"), rows)


def _check(check: CheckResult, summary: Summary) -> tuple[str, ...]:
    outcome = OUTCOME_WORDS.get(check["outcome"], check["outcome"])
    if check["outcome"] == "unknown":
        outcome = f"{outcome}: {unknown_reason(check, summary)}"
    value = "–" if check["value"] is None else f"{check['value']:.6g}"
    return check["name"], outcome, check["metric"], value, check["rule"]


def _code(text: str) -> str:
    """A path in code font. Backticks cannot be escaped within it, so such a path is plain text."""
    return plain(text) if "`" in text or "\n" in text else f"`{text}`"
