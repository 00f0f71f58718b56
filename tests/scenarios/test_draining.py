"""Is it put down what a drain left unknown, and does one that was given up end at once?"""

from typing import Any, cast

from drivers.session import Tally
from scenarios.harness.draining import until_still


class Seen:
    """Crew, stage and chronicle of a run that shows the same at every look."""

    def __init__(self, tally: Tally, waiting: int | None) -> None:
        self._tally, self._waiting = tally, waiting
        self.looks = 0
        self.unknowns: list[str] = []

    def tally(self) -> Tally:
        self.looks += 1
        return self._tally

    def waiting(self) -> int | None:
        return self._waiting

    def unknown(self, text: str) -> None:
        self.unknowns.append(text)

    def drain(self, timeout_s: float, *, given_up: bool = False) -> bool:
        run = cast(Any, self)
        return until_still(run, run, run, timeout_s, lambda: given_up)


def test_a_drain_that_ran_out_of_time_leaves_unknown_what_it_names() -> None:
    run = Seen(Tally(sent=9, settled=7, received=5), waiting=3)
    assert run.drain(timeout_s=0)
    assert run.unknowns == [
        "the drain ended after 0 s while messages still moved (2 sends unanswered, 3 messages on queues)"
    ]


def test_empty_queues_leave_nothing_unknown() -> None:
    run = Seen(Tally(sent=9, settled=9, received=9), waiting=0)
    assert run.drain(timeout_s=60)
    assert run.unknowns == []
    assert run.looks > 1


def test_a_run_that_was_given_up_is_not_looked_at() -> None:
    run = Seen(Tally(), waiting=None)
    assert not run.drain(timeout_s=60, given_up=True)
    assert run.looks == 0
