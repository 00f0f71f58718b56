"""Checks when greenlets are woken: in a process that gevent has patched, and that another process has no such timer."""

from pathlib import Path

from drivers.client.loop_waits import due_timer
from tests.support.under_gevent import under_gevent


def test_without_gevents_patches_there_is_no_timer_and_events_are_waited_for_as_ever() -> None:
    assert due_timer() is None


def test_greenlets_are_woken_at_their_times() -> None:
    under_gevent(Path(__file__).parent, ["due_timer_under_gevent.py", "--timeout=120"])
