"""Writes the checks of a run as JUnit XML.

A run is a test suite, a check a test case. A check that could not be decided is skipped: JUnit has no word for unknown.
The verdict has a test case of its own where no check says the same.
"""

from records.summary import CheckResult, Summary
from reports.parts.junit import Case, Suite, junit_document
from reports.parts.numbers import sentence

PROPERTIES = ("verdict", "scenario", "topology", "runtime", "protocol")


def junit(summary: Summary) -> str:
    """The XML document of a run."""
    cases = [_case(check, summary) for check in summary["checks"]]
    if not _told_by_checks(summary):
        reasons = " ".join(map(sentence, summary["reasons"]))
        cases.append(Case("verdict", summary["verdict"], reasons or f"The verdict is {summary['verdict']}."))
    properties = {name: str(summary[name]) for name in PROPERTIES}  # type: ignore[literal-required]
    took_s = sum(summary["phases"].values())
    classname = f"brokerbench.{summary['scenario']}"
    return junit_document([Suite(summary["run_id"], classname, properties, tuple(cases), took_s, summary["wall"])])


def _case(check: CheckResult, summary: Summary) -> Case:
    message = unknown_reason(check, summary) if check["outcome"] == "unknown" else failure_message(check)
    return Case(check["name"], check["outcome"], message)


def failure_message(check: CheckResult) -> str:
    value = "null" if check["value"] is None else f"{check['value']:.6g}"
    return f"{check['metric']} is {value}, it must be {check['rule']}"


def unknown_reason(check: CheckResult, summary: Summary) -> str:
    """Why a check could not be decided."""
    doubt = summary["timing"]["doubtful"].get(check["metric"])
    if doubt:
        return f"{failure_message(check)}; the figure is doubtful: {doubt}"
    return f"the run has no figure {check['metric']}, it must be {check['rule']}"


def _told_by_checks(summary: Summary) -> bool:
    """A pass is told by checks that all passed, another verdict by a check of that outcome."""
    return summary["verdict"] in {check["outcome"] for check in summary["checks"]}
