"""Estimates how far another process's clock is from ours, and how wrong that may be.

One question and its answer bound it: theirs was read somewhere between our two readings. The quickest of several
answers is the best one. Clocks are asked again and again during a run: between two answers the offset of a clock that
runs faster or slower changes evenly. One that moved by more than any clock drifts is doubted.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from records.run import ClockReading
from records.units import NS_PER_MS

MOST_DRIFT = 500e-6
"""A clock that keeps worse time than that against another is set by somebody: NTP slews by so much at most."""
MOST_READINGS = 64


@dataclass(frozen=True)
class Offset:
    """A clock against the master's when it showed ``at_ns``, and how wrong that may be: half of the round trip.

    ``bound``: None when it did not answer.
    """

    offset_ns: int
    bound: int | None
    at_ns: int = 0

    @classmethod
    def of(cls, asked_ns: int, theirs_ns: int, answered_ns: int) -> "Offset":
        return cls(theirs_ns - (asked_ns + answered_ns) // 2, (answered_ns - asked_ns + 1) // 2, theirs_ns)

    @property
    def uncertainty(self) -> float:
        """The bound of the error. The best of several answers has the smallest."""
        return float("inf") if self.bound is None else self.bound


@dataclass(frozen=True)
class ClockCourse:
    """A clock against the master's during a run. ``readings``: none if its offset did not change.

    ``doubt``: why its times cannot be set beside ours; ''.
    """

    offset_ns: int
    bound_ns: int
    readings: tuple[ClockReading, ...] = ()
    doubt: str = ""


def course(answers: Sequence[Offset], *, one_host: bool) -> ClockCourse:
    """What became of a clock, by its answers in order of time, the first before the run and the last after it.

    On one host the monotonic clock is one: an offset within its bound is the noise of asking, and so none.
    """
    first, last = answers[0], answers[-1]
    bounded = [(answer, answer.bound) for answer in answers if answer.bound is not None]
    if first.bound is None or last.bound is None:
        silence = "its clock did not answer, so its times cannot be set beside the others'"
        return ClockCourse(first.offset_ns, first.bound or 0, doubt=silence)
    doubt = next((jump for answer, next_answer in pairwise(bounded) if (jump := _jump(*answer, *next_answer))), "")
    if one_host and abs(first.offset_ns) <= first.bound:
        return ClockCourse(0, 0, doubt=doubt)
    if doubt or all(abs(answer.offset_ns - first.offset_ns) <= bound + first.bound for answer, bound in bounded):
        return ClockCourse(first.offset_ns, first.bound, doubt=doubt)
    bound_ns = max(bound for _, bound in bounded) + _residual_ns([answer for answer, _ in bounded])
    return ClockCourse(first.offset_ns, bound_ns, tuple(ClockReading(a.at_ns, a.offset_ns) for a, _ in bounded))


def _jump(before: Offset, bound_before: int, after: Offset, bound_after: int) -> str:
    """Why a clock cannot have gone evenly from one answer to the next; '' if it can."""
    moved_ns, passed_ns = after.offset_ns - before.offset_ns, max(0, after.at_ns - before.at_ns)
    if abs(moved_ns) <= bound_before + bound_after + MOST_DRIFT * passed_ns:
        return ""
    return (
        f"its clock moved by {moved_ns / NS_PER_MS:+.1f} ms against the master's during the run: "
        "latencies between processes are wrong by up to as much"
    )


def _residual_ns(answers: Sequence[Offset]) -> int:
    """How far an answer is at most from the line between the one before it and the one after it."""
    residual_ns = 0.0
    for before, here, after in zip(answers, answers[1:], answers[2:], strict=False):
        share = (here.at_ns - before.at_ns) / max(1, after.at_ns - before.at_ns)
        on_the_line_ns = before.offset_ns + share * (after.offset_ns - before.offset_ns)
        residual_ns = max(residual_ns, abs(here.offset_ns - on_the_line_ns))
    return round(residual_ns)


def thinned(answers: Sequence[Offset]) -> list[Offset]:
    """The same, or every second one of very many; the first stays."""
    return list(answers if len(answers) <= MOST_READINGS else answers[::2])
