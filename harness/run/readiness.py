"""Checks before the load that this machine can analyse and report a run, so that no run fails after its load."""

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from harness.machine import why_full, why_no_names, why_no_temporary_files, why_too_few_files, why_too_small_files
from harness.options.plan import Plan
from records.errors import refuse_first
from topologies.jvm import java

PACKAGES = {"pyspark": "analysis", "polars": "analysis", "matplotlib": "report", "jinja2": "report"}
"""By package: the step after the load that needs it."""


def require_ready(plan: Plan) -> None:
    """Raise UserError with the first missing requirement and the next step. Takes less than a second."""
    options = plan.options
    refuse_first(_missing(sum(plan.counts.values()), options.runs, needs_analysis=not options.analyse_later))


def _missing(clients: int, runs: Path, *, needs_analysis: bool) -> Iterator[str]:
    of_machine = (why_too_few_files(clients), why_too_small_files(), why_no_names(), why_no_temporary_files())
    yield from filter(None, (*of_machine, why_full(runs)))
    if not needs_analysis:
        return
    for package, part in PACKAGES.items():
        if find_spec(package) is None:
            yield f"the {part} after the load needs the Python package {package}, which is missing; run make install"
    java.find_java()  # raises NoJava
