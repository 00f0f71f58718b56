"""Writes a run for CI: its checks as JUnit XML, and its verdict, main figures and checks as Markdown."""

from pathlib import Path

from records.figures.summary import AbortResult, CheckResult, Summary
from reports.inputs import Results
from reports.parts.formats import JUnitCase, JUnitSuite, junit_document, plain, table_lines
from reports.parts.numbers import sentence
from reports.parts.values import KeyFigure
from reports.run.headline import OUTCOME_WORDS, headline, key_figures

PROPERTIES = ("verdict", "scenario", "topology", "runtime", "protocol")


def junit(summary: Summary) -> str:
    """Return the XML document of a run."""
    cases = [_case(check, summary) for check in summary["checks"]]
    cases += [_abort_case(abort) for abort in summary["aborted"]]
    if not _explained_by_checks(summary):
        reasons = " ".join(map(sentence, summary["reasons"]))
        cases.append(JUnitCase("verdict", summary["verdict"], reasons or f"The verdict is {summary['verdict']}."))
    properties = {name: str(summary[name]) for name in PROPERTIES}  # type: ignore[literal-required]
    took_s = sum(summary["phases"].values())
    classname = f"brokerbench.{summary['scenario']}"
    return junit_document([JUnitSuite(summary["run_id"], classname, properties, tuple(cases), took_s, summary["wall"])])


def _case(check: CheckResult, summary: Summary) -> JUnitCase:
    message = unknown_reason(check, summary) if check["outcome"] == "unknown" else failure_message(check)
    return JUnitCase(check["name"], check["outcome"], message)


def _abort_case(abort: AbortResult) -> JUnitCase:
    outcome = "unknown" if abort["confirmed"] is False else "fail"
    when = f"{'the warm-up' if abort['in_warm_up'] else 'the load'} ended after {abort['at_s']:.1f} s"
    return JUnitCase(
        f"--abort-on {abort['condition']}", outcome, f"{when}, as {abort['figure']} was {abort['value']:.6g}"
    )


def failure_message(check: CheckResult) -> str:
    value = "null" if check["value"] is None else f"{check['value']:.6g}"
    return f"{check['metric']} is {value}, it must be {check['rule']}"


def unknown_reason(check: CheckResult, summary: Summary) -> str:
    """Return why a check could not be decided."""
    doubt = summary["timing"]["doubtful"].get(check["metric"])
    if doubt:
        return f"{failure_message(check)}; the figure is doubtful: {doubt}"
    if check["value"] is not None:
        return f"{failure_message(check)}; messages may be in places that could not be searched"
    return f"the run has no figure {check['metric']}, it must be {check['rule']}"


def _explained_by_checks(summary: Summary) -> bool:
    """Return whether a check or an abort had the verdict's outcome; otherwise the verdict gets a separate test case."""
    by_aborts = {"unknown" if abort["confirmed"] is False else "fail" for abort in summary["aborted"]}
    return summary["verdict"] in {check["outcome"] for check in summary["checks"]} | by_aborts


MAIN_FIGURES = ("Sent", "Received", "Lost", "Throughput", "Latency, median", "Latency, p99")


def run_markdown(results: Results, report: Path) -> str:
    """Return the run in Markdown. ``report``: the path of report.html, which is named at the end."""
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


def _figure(figure: KeyFigure) -> tuple[str, ...]:
    """Return the row of a key figure. The value of a doubtful figure is marked."""
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
    """Format a path as code. Backticks cannot be escaped within code, so a path with backticks is plain text."""
    return plain(text) if "`" in text or "\n" in text else f"`{text}`"
