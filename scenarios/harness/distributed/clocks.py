"""Estimates how far another process's clock is from ours, and how wrong that may be.

One question and its answer bound it: theirs was read somewhere between our two readings. The quickest of several
answers is the best one. A second measurement at the end of the run shows whether the clock kept its pace.
"""

from dataclasses import dataclass

NS_PER_MS = 1_000_000


@dataclass(frozen=True)
class Offset:
    """A clock against the master's, and how wrong that may be: half of the round trip; None when it did not answer."""

    offset_ns: int
    bound: int | None

    @classmethod
    def of(cls, asked_ns: int, theirs_ns: int, answered_ns: int) -> "Offset":
        return cls(theirs_ns - (asked_ns + answered_ns) // 2, (answered_ns - asked_ns + 1) // 2)

    @property
    def uncertainty(self) -> float:
        """The bound of the error. The best of several answers has the smallest."""
        return float("inf") if self.bound is None else self.bound

    def between(self, ours: str, theirs: str) -> "Offset":
        """On one host the monotonic clock is one: an offset within its bound is the noise of asking, and so none."""
        one_clock = ours == theirs and self.bound is not None and abs(self.offset_ns) <= self.bound
        return Offset(0, 0) if one_clock else self

    def doubt(self, later: "Offset") -> str:
        """Why its times cannot be set beside ours, given a second look at the end of the run; or nothing."""
        if self.bound is None or later.bound is None:
            return "its clock did not answer, so its times cannot be set beside the others'"
        moved_ns = later.offset_ns - self.offset_ns
        if abs(moved_ns) <= self.bound + later.bound:
            return ""
        return (
            f"its clock moved by {moved_ns / NS_PER_MS:+.1f} ms against the master's during the run: "
            "latencies between processes are wrong by up to as much"
        )
