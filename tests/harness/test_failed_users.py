"""Checks that a load continues without users that may fail, and that the failed users are reported."""

from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest

from drivers.users.session import Tally
from harness.distributed import messages
from harness.run.load import all_producers_failed, failed_user_sentences
from tests.support.under_gevent import under_gevent

LOST = Tally(
    ready=Counter(Guest=2, Order=3),
    failed=Counter(Guest=2, Taker=1),
    unsent=Counter(Guest=1_500),
    first_errors={"Guest": "broker b refused user 'guest'. Check the password.", "Taker": "broker c is gone"},
)


@pytest.mark.nightly  # drivers/test_under_gevent.py covers users under gevent
def test_the_loads_of_users_that_fail_pass_under_gevent() -> None:
    under_gevent(Path(__file__).parent, ["failing_under_gevent.py", "--timeout=120"])


def test_failed_users_of_a_class_are_one_sentence() -> None:
    """It has the number of unsent messages and the first error."""
    assert list(failed_user_sentences(LOST, {"Guest": 4, "Order": 3, "Taker": 1})) == [
        "2 of 4 users Guest failed (may_fail), and the load went on without them; 1,500 of their messages were never "
        "sent. The first error: broker b refused user 'guest'. Check the password.",
        "1 of 1 users Taker failed (may_fail), and the load went on without them. The first error: broker c is gone",
    ]


def test_nobody_sends_once_all_producers_of_all_classes_have_failed() -> None:
    assert all_producers_failed(LOST, {"Guest": 2, "Order": 3}) == ""
    assert all_producers_failed(LOST, {"Guest": 3}) == ""
    assert all_producers_failed(Tally(), {"Guest": 2}) == ""
    assert all_producers_failed(LOST, {"Guest": 2}) == (
        "all producers have failed; Guest: broker b refused user 'guest'. Check the password."
    )


def test_workers_tell_of_their_failed_users_and_the_master_adds_them_up() -> None:
    recorder = SimpleNamespace(failure=None, late_rows=0)
    later = Tally(failed=Counter(Guest=1), first_errors={"Guest": "one that is not the first"})
    sessions = [
        SimpleNamespace(tally=tally, connected=Counter, problems=[], recorder=recorder)
        for tally in (LOST, later, Tally())
    ]
    total = messages.tally_in([messages.progress_of(session) for session in sessions])  # type: ignore[arg-type]
    assert total.failed == Counter(Guest=3, Taker=1)
    assert total.unsent == LOST.unsent
    assert total.first_errors == LOST.first_errors
