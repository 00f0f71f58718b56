"""Parses ``--abort-on``: ``messages.failed > 0; latency_ms.due_to_received.p99 > 500 for 10s``."""

import re

from harness.checks import parse_number
from records.errors import UserError
from records.figures.abort import COUNTS, LIVE_FIGURES, SIGNS, AbortCondition

HOW = "write FIGURE > NUMBER, or FIGURE > NUMBER for 10s, such as 'latency_ms.due_to_received.p99 > 500 for 10s'"
PARTS = re.compile(r"(?P<figure>[^\s<>=!~]+)\s*(?P<sign>[<>=!~]+)\s*(?P<number>[^\s<>=!~]+)(?:\s+(?P<rest>.*))?", re.S)
FOR = re.compile(r"for\s+(?P<number>\d{1,9})\s*s")
MOST_FOR_S = 86_400


def parse_abort_conditions(text: str) -> tuple[AbortCondition, ...]:
    """Return the conditions of a text, which are separated by ``;``. Raises UserError."""
    conditions: list[AbortCondition] = []
    for part in filter(None, map(str.strip, text.split(";"))):
        condition = _condition(part)
        alike = (condition.figure, condition.sign, condition.limit)
        if any((known.figure, known.sign, known.limit) == alike for known in conditions):
            raise UserError(f"{part!r}: the same figure, operator and number are given twice; leave one of them out")
        conditions.append(condition)
    if text and not conditions:
        raise UserError(f"{text!r}: has no condition; {HOW}")
    return tuple(conditions)


def _condition(text: str) -> AbortCondition:
    parts = PARTS.fullmatch(text)
    if parts is None:
        raise UserError(f"{text!r}: cannot be read; {HOW}")
    figure, sign, number = parts["figure"], parts["sign"], parts["number"]
    if sign not in SIGNS:
        raise UserError(f"{text!r}: {sign!r} is not an operator; write one of {', '.join(SIGNS)}")
    if figure not in LIVE_FIGURES:
        known = ", ".join(LIVE_FIGURES)
        raise UserError(f"{text!r}: figure {figure!r} is not known during a run; write one of {known}")
    condition = AbortCondition(figure, sign, parse_number(text, number, HOW), _for_s(text, parts["rest"]))
    _require_sense(text, condition)
    return condition


def _for_s(text: str, rest: str | None) -> int:
    """Return the seconds of ``for 10s``; 0 without this part."""
    if not rest:
        return 0
    duration = FOR.fullmatch(rest)
    for_s = int(duration["number"]) if duration else None
    if for_s is None or not 1 <= for_s <= MOST_FOR_S:
        rule = f"is not a duration of 1 to {MOST_FOR_S:,} whole seconds"
        raise UserError(f"{text!r}: {rest!r} {rule}; write for 10s, or leave it out to abort at once")
    return for_s


def _require_sense(text: str, condition: AbortCondition) -> None:
    """Reject conditions on counts that hold before the load has done anything, or that can never hold."""
    if condition.figure not in COUNTS:
        return
    if condition.holds(0):
        raise UserError(
            f"{text!r}: holds as soon as the load begins, because {condition.figure} is 0 then; "
            f"write what must end the load, such as '{condition.figure} > {abs(condition.limit):.10g}'"
        )
    if condition.limit < 0 or (condition.sign == "==" and condition.limit % 1):
        raise UserError(
            f"{text!r}: can never hold, because {condition.figure} is a whole number, 0 or more; "
            f"write a whole number, as in '{condition.figure} > 0'"
        )
