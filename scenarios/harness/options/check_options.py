"""Reads ``--check 'messages.duplicated <= 10'``, and refuses figures that the summary does not have."""

import math
import re
from collections.abc import Collection, Sequence

from records.checks import Check
from records.figures import RENAMED, known_figures
from scenarios.harness.options.run_options import OptionError
from topologies.model.spelling import nearest, plainly

HOW = "write FIGURE < NUMBER, with <, <=, >, >= or ==, such as 'latency_ms.due_to_received.p99 < 50'"
DEMAND = re.compile(r"\s*([\w.]+)\s*(<=|>=|==|<|>)\s*(\S+)\s*")
FAULTS, CLIENTS, RATES, REQUESTS = "faults", "clients", "rates", "requests"
EVERYTHING = frozenset({FAULTS, CLIENTS, RATES, REQUESTS})
ONLY_WITH = {
    FAULTS: (
        ("recovery.", "rebalance.not_settled", "rebalance.settled_s"),
        "a run without a fault has no such figure; add one by --fault",
    ),
    CLIENTS: (
        ("connections.",),
        "only a load whose clients become more has this figure; choose a scenario of such a load, such as connections",
    ),
    RATES: (
        ("throughput.held_per_s", "limit."),
        "only a load in steps and a search have this figure; add --rate 100,200@10s or --rate search",
    ),
    REQUESTS: (
        ("latency_ms.round_trip.",),
        "only a run with requests has this figure; choose a scenario with awaits_replies, such as request_reply",
    ),
}
"""What a run has to have for some figures: the beginnings of their names, and the error without it."""


def parse_checks(text: str, *, has: Collection[str]) -> tuple[Check, ...]:
    """The checks of a text such as ``messages.lost == 0; messages.duplicated <= 10``. Raises OptionError.

    ``has``: what the run has, of EVERYTHING. Without it some figures are not there.
    """
    return tuple(_parse(each.strip(), has) for each in text.split(";") if each.strip())


def _parse(text: str, has: Collection[str]) -> Check:
    found = DEMAND.fullmatch(text)
    if not found:
        raise OptionError(f"--check {text!r}: cannot be read; {HOW}")
    metric, sign, number = found.groups()
    _require_known(text, metric, has)
    return _check(text, metric, sign, _number(text, number))


def _require_known(text: str, metric: str, has: Collection[str]) -> None:
    known = known_figures()
    if metric in RENAMED:
        raise OptionError(
            f"--check {text!r}: the summary has no figure {metric!r} any more, as stranded means confirmed messages "
            f"only; write {RENAMED[metric]!r}"
        )
    if metric not in known:
        close = _nearest(metric, [figure for figure in known if not _lacking(figure, has)])
        close = close or "; docs/summary.schema.json lists its figures"
        raise OptionError(f"--check {text!r}: the summary has no figure {metric!r}{close}")
    if error := _lacking(metric, has):
        raise OptionError(f"--check {text!r}: {error}")


def _nearest(metric: str, figures: Sequence[str]) -> str:
    """``; did you mean 'latency_ms.due_to_received.p99'?`` for ``latency.p99``: the first one with all its parts."""
    wanted = [plainly(part) for part in metric.split(".")]
    for figure in figures:
        parts = iter(plainly(part) for part in figure.split("."))
        if all(any(part.startswith(begin) for part in parts) for begin in wanted) and not next(parts, ""):
            return f"; did you mean {figure!r}?"
    return nearest(metric, [*figures])


def _lacking(metric: str, has: Collection[str]) -> str:
    """Why a run has no such figure, with the next step; '' if it has."""
    return next(
        (error for what, (beginnings, error) in ONLY_WITH.items() if metric.startswith(beginnings) and what not in has),
        "",
    )


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
