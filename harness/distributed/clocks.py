"""Estimates the offset between another process's clock and ours, and the error of the estimate.

One request and its answer bound the offset, as the other clock was read between our two readings. The quickest of
several answers is the most exact. Clocks are read repeatedly during a run. Between two readings, the offset of a clock
that runs too fast or too slow changes linearly. A clock that moved by more than any clock drifts is in doubt.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from records.run import ClockReading
from records.units import NS_PER_MS

MOST_DRIFT = 500e-6
"""A clock that drifts more than this was set during the run, as NTP slews a clock by at most this rate."""
MOST_READINGS = 64


@dataclass(frozen=True)
class Offset:
    """A clock's offset from the master's clock when it showed ``at_ns``.

    ``bound``: the maximum error, half of the round trip; None if the clock did not answer.
    """

    offset_ns: int
    bound: int | None
    at_ns: int = 0

    @classmethod
    def of(cls, asked_ns: int, theirs_ns: int, answered_ns: int) -> "Offset":
        return cls(theirs_ns - (asked_ns + answered_ns) // 2, (answered_ns - asked_ns + 1) // 2, theirs_ns)

    @property
    def uncertainty(self) -> float:
        """The maximum error; infinite if the clock did not answer."""
        return float("inf") if self.bound is None else self.bound


@dataclass(frozen=True)
class ClockAssessment:
    """A clock compared with the master's during a run. ``readings``: empty if its offset did not change.

    ``doubt``: why its times cannot be compared with ours; '' if they can.
    """

    offset_ns: int
    bound_ns: int
    readings: tuple[ClockReading, ...] = ()
    doubt: str = ""


def assess_clock(answers: Sequence[Offset], *, one_host: bool) -> ClockAssessment:
    """Assess a clock by its answers in order of time, the first before the run and the last after it.

    Processes on one host share the monotonic clock, so an offset within its error bound is noise and counts as 0.
    """
    first, last = answers[0], answers[-1]
    bounded = [(answer, answer.bound) for answer in answers if answer.bound is not None]
    if first.bound is None or last.bound is None:
        silence = "its clock did not answer, so its times cannot be compared with the others'"
        return ClockAssessment(first.offset_ns, first.bound or 0, doubt=silence)
    doubt = next((jump for answer, next_answer in pairwise(bounded) if (jump := _jump(*answer, *next_answer))), "")
    if one_host and abs(first.offset_ns) <= first.bound:
        return ClockAssessment(0, 0, doubt=doubt)
    if doubt or all(abs(answer.offset_ns - first.offset_ns) <= bound + first.bound for answer, bound in bounded):
        return ClockAssessment(first.offset_ns, first.bound, doubt=doubt)
    bound_ns = max(bound for _, bound in bounded) + _residual_ns([answer for answer, _ in bounded])
    return ClockAssessment(first.offset_ns, bound_ns, tuple(ClockReading(a.at_ns, a.offset_ns) for a, _ in bounded))


def _jump(before: Offset, bound_before: int, after: Offset, bound_after: int) -> str:
    """Return why a clock cannot have drifted linearly from one answer to the next; '' if it can."""
    moved_ns, passed_ns = after.offset_ns - before.offset_ns, max(0, after.at_ns - before.at_ns)
    if abs(moved_ns) <= bound_before + bound_after + MOST_DRIFT * passed_ns:
        return ""
    return (
        f"its clock moved by {moved_ns / NS_PER_MS:+.1f} ms against the master's during the run: "
        "latencies between processes are wrong by up to this amount"
    )


def _residual_ns(answers: Sequence[Offset]) -> int:
    """Return the largest distance of an answer from the line between the previous and the next answer."""
    residual_ns = 0.0
    for before, here, after in zip(answers, answers[1:], answers[2:], strict=False):
        share = (here.at_ns - before.at_ns) / max(1, after.at_ns - before.at_ns)
        on_the_line_ns = before.offset_ns + share * (after.offset_ns - before.offset_ns)
        residual_ns = max(residual_ns, abs(here.offset_ns - on_the_line_ns))
    return round(residual_ns)


def thin_out(answers: Sequence[Offset]) -> list[Offset]:
    """Return the answers, or every second one if there are too many; the first stays."""
    return list(answers if len(answers) <= MOST_READINGS else answers[::2])
