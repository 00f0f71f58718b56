"""Reads ``--check 'messages.duplicated <= 10'``, and refuses figures that the summary does not have."""

import math
import re
from collections.abc import Collection, Sequence

from records.checks import Check
from records.errors import UserError
from records.figures import Need
from records.summary import FIGURES, RENAMED
from topologies.model.spelling import nearest, plainly

HOW = "write FIGURE < NUMBER, with <, <=, >, >= or ==, such as 'latency_ms.due_to_received.p99 < 50'"
DEMAND = re.compile(r"\s*([\w.]+)\s*(<=|>=|==|<|>)\s*(\S+)\s*")


def parse_checks(text: str, *, present: Collection[Need]) -> tuple[Check, ...]:
    """The checks of a text such as ``messages.lost == 0; messages.duplicated <= 10``. Raises UserError.

    ``present``: what the run has, of NEEDS. Without it some figures are not there.
    """
    return tuple(_parse(demand.strip(), present) for demand in text.split(";") if demand.strip())


def _parse(text: str, present: Collection[Need]) -> Check:
    demand = DEMAND.fullmatch(text)
    if not demand:
        raise UserError(f"--check {text!r}: cannot be read; {HOW}")
    metric, sign, number = demand.groups()
    _require_known(text, metric, present)
    return _check(text, metric, sign, _number(text, number))


def _require_known(text: str, metric: str, present: Collection[Need]) -> None:
    if metric in RENAMED:
        raise UserError(
            f"--check {text!r}: the summary has no figure {metric!r} any more, as stranded means confirmed messages "
            f"only; write {RENAMED[metric]!r}"
        )
    if metric not in FIGURES:
        close = _nearest(metric, [figure for figure in FIGURES if not _lacking(figure, present)])
        close = close or "; docs/figures.md lists its figures"
        raise UserError(f"--check {text!r}: the summary has no figure {metric!r}{close}")
    if error := _lacking(metric, present):
        raise UserError(f"--check {text!r}: {error}")


def _nearest(metric: str, figures: Sequence[str]) -> str:
    """``; did you mean 'latency_ms.due_to_received.p99'?`` for ``latency.p99``: the first one with all its parts."""
    wanted = [plainly(part) for part in metric.split(".")]
    for figure in figures:
        parts = iter(plainly(part) for part in figure.split("."))
        if all(any(part.startswith(begin) for part in parts) for begin in wanted) and not next(parts, ""):
            return f"; did you mean {figure!r}?"
    return nearest(metric, [*figures])


def _lacking(metric: str, present: Collection[Need]) -> str:
    """Why a run has no such figure, with the next step; '' if it has."""
    need = FIGURES[metric].figure.needs
    return need.refusal if need and need not in present else ""


def _number(text: str, number: str) -> float:
    try:
        value = float(number)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise UserError(f"--check {text!r}: {number!r} is no number; {HOW}")
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
