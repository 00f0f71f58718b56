"""Checks which threads get real-time priority, for how long, and the error on machines that do not permit it."""

import os
import subprocess
import sys

import pytest

from drivers import realtime
from drivers.realtime import why_refused
from drivers.users.priority import JAVA_THREADS, RealTimePriority
from records.errors import UserError

MADE = """
import os, subprocess, sys, time
import gevent
from drivers.users.priority import RealTimePriority
notes = []
mine = RealTimePriority(notes.append)
mine.start()
during = os.sched_getscheduler(0) & ~os.SCHED_RESET_ON_FORK
asking = [sys.executable, "-c", "import os; print(os.sched_getscheduler(0))"]
child = subprocess.run(asking, capture_output=True, text=True)
{then}
mine.stop()
after = os.sched_getscheduler(0) & ~os.SCHED_RESET_ON_FORK
print(during == os.SCHED_RR, int(child.stdout) == os.SCHED_OTHER, after == os.SCHED_OTHER, len(notes))
"""
BUSY = """
ends = time.monotonic() + 8
while not notes and time.monotonic() < ends:
    sum(range(1000))
    gevent.sleep(0)
"""


def in_a_process_of_its_own(then: str = "") -> str:
    """Keep the priority of this process during the test."""
    process = subprocess.run(
        [sys.executable, "-c", MADE.format(then=then)], capture_output=True, text=True, check=False
    )
    return process.stdout.strip() or process.stderr.strip().splitlines()[-1]


def permitted(text: str) -> str:
    """Return ``text``, or the error with its next step if real-time priority is not permitted here."""
    why = why_refused()
    return f"drivers.UserError: {why}" if why else text


def test_the_main_thread_has_it_and_its_children_have_not_and_it_is_given_back() -> None:
    assert in_a_process_of_its_own() == permitted("True True True 0")


def test_a_process_that_uses_most_of_a_core_gives_it_back_and_says_so() -> None:
    assert in_a_process_of_its_own(BUSY) == permitted("True True True 1")


def test_a_machine_that_permits_none_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "sched_setscheduler", refuse)
    with pytest.raises(UserError, match=r"not permitted here \(Operation not permitted\): run as root, or let"):
        RealTimePriority(print).start()


def test_a_system_without_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(realtime.os, "sched_setscheduler")
    assert why_refused() == "real-time priority is for Linux only"


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("brokerbench-sen", True),
        ("ActiveMQ Transp", True),
        ("ActiveMQ Sessio", True),
        ("Thread-12 (Acti", True),
        ("GC Thread#0", False),
        ("stall-sampler", True),
    ],
)
def test_the_threads_of_java_clients_are_known_by_their_names(name: str, is_one: bool) -> None:
    assert bool(JAVA_THREADS.match(name)) is is_one
