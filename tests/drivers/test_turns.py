"""Checks who goes first when a greenlet ends its turn: in a process that gevent has patched."""

from pathlib import Path

from drivers.client.loop_waits import let_others_run
from tests.support.under_gevent import under_gevent


def test_without_gevents_patches_a_turn_ends_at_once() -> None:
    let_others_run()


def test_whoever_waits_for_a_time_goes_before_the_one_that_ended_its_turn() -> None:
    under_gevent(Path(__file__).parent, ["turns_under_gevent.py", "--timeout=120"])
