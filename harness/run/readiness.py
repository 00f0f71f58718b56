"""Checks before the load that this machine can analyse and report a run, so that no run fails after its load."""

from collections.abc import Iterator
from importlib.util import find_spec

from harness.machine import why_no_names, why_no_temporary_files, why_too_few_files
from harness.options.plan import Plan
from records.errors import refuse_first
from topologies.runtimes import java

PACKAGES = {"pyspark": "analysis", "polars": "analysis", "matplotlib": "report", "jinja2": "report"}
"""By package: the step after the load that needs it."""


def require_ready(plan: Plan) -> None:
    """Raise UserError with the first missing requirement and the next step. Takes less than a second."""
    refuse_first(_missing(sum(plan.counts.values()), needs_analysis=not plan.options.analyse_later))


def _missing(clients: int, *, needs_analysis: bool) -> Iterator[str]:
    yield from filter(None, (why_too_few_files(clients), why_no_names(), why_no_temporary_files()))
    if not needs_analysis:
        return
    for package, part in PACKAGES.items():
        if find_spec(package) is None:
            yield f"the {part} after the load needs the Python package {package}, which is missing; run make install"
    java.find_java()  # raises NoJava
