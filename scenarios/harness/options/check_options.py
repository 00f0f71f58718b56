"""Reads ``--check 'messages.duplicated <= 10'``, and refuses figures that the summary does not have."""

import math
import re

from records.checks import Check
from records.figures import known_figures
from scenarios.harness.options.run_options import OptionError
from topologies.model.spelling import nearest

HOW = "write FIGURE < NUMBER, with <, <=, >, >= or ==, such as 'latency_ms.due_to_received.p99 < 50'"
DEMAND = re.compile(r"\s*([\w.]+)\s*(<=|>=|==|<|>)\s*(\S+)\s*")
OF_FAULTS = ("recovery.", "rebalance.not_settled", "rebalance.settled_s")


def parse_checks(text: str, *, faults: bool) -> tuple[Check, ...]:
    """The checks of a text such as ``messages.lost == 0; messages.duplicated <= 10``. Raises OptionError.

    ``faults``: whether the run has faults, without which some figures are not there.
    """
    return tuple(_parse(each.strip(), faults) for each in text.split(";") if each.strip())


def _parse(text: str, faults: bool) -> Check:
    found = DEMAND.fullmatch(text)
    if not found:
        raise OptionError(f"--check {text!r}: cannot be read; {HOW}")
    metric, sign, number = found.groups()
    _require_known(text, metric, faults)
    return _check(text, metric, sign, _number(text, number))


def _require_known(text: str, metric: str, faults: bool) -> None:
    known = known_figures()
    if metric not in known:
        close = nearest(metric, known) or "; docs/summary.schema.json lists its figures"
        raise OptionError(f"--check {text!r}: the summary has no figure {metric!r}{close}")
    if metric.startswith(OF_FAULTS) and not faults:
        figures = "figures of recovery" if metric.startswith("recovery.") else metric
        raise OptionError(f"--check {text!r}: a run without a fault has no {figures}; add one by --fault")


def _number(text: str, number: str) -> float:
    try:
        value = float(number)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise OptionError(f"--check {text!r}: {number!r} is no number; {HOW}")
    return value


def _check(text: str, metric: str, sign: str, value: float) -> Check:
    match sign:
        case "<":
            return Check(text, metric, below=value)
        case ">":
            return Check(text, metric, above=value)
        case "<=":
            return Check(text, metric, at_most=value)
        case ">=":
            return Check(text, metric, at_least=value)
        case _:
            return Check(text, metric, at_most=value, at_least=value)
