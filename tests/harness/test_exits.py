"""Checks the errors about events that would end a run without a verdict."""

import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from locust.event import Events

from harness.exits import exit_problem, keep_status


def test_an_exiting_greenlet_is_named_by_line() -> None:
    with pytest.raises(SystemExit) as caught:
        sys.exit(0)
    problem = exit_problem(caught.value, caught.tb)
    assert problem.startswith("a greenlet that a user or a listener spawned raised SystemExit: 0 (test_exits.py:")


def exits_with(own: int | None, **listeners: Callable[..., None]) -> int | None:
    """Return how Locust's `shutdown` ends a process whose run had the status ``own``."""
    environment = SimpleNamespace(events=Events(), process_exit_code=own)
    called: list[str] = []
    for name in ("quitting", "quit"):
        hook = getattr(environment.events, name)
        hook.add_listener(lambda name=name, **_: called.append(f"{name}, before"))
        if name in listeners:
            hook.add_listener(listeners[name])
        hook.add_listener(lambda name=name, **_: called.append(f"{name}, after"))
    keep_status(environment, lambda: own)
    try:
        environment.events.quitting.fire(environment=environment, reverse=True)
        environment.events.quit.fire(exit_code=environment.process_exit_code)
        status: Any = environment.process_exit_code
    except SystemExit as error:
        status = error.code
    assert called == ["quitting, after", "quitting, before", "quit, before", "quit, after"], "every listener is called"
    return status  # type: ignore[no-any-return]


def sets(status: object) -> Callable[..., None]:
    return lambda environment, **_: setattr(environment, "process_exit_code", status)


def raises(status: object) -> Callable[..., None]:
    return lambda **_: sys.exit(status)  # type: ignore[arg-type]


@pytest.mark.parametrize("own", [1, 2, 3])
@pytest.mark.parametrize("theirs", [0, None, 4])
def test_no_listener_changes_a_failed_runs_status(own: int, theirs: int | None) -> None:
    assert exits_with(own, quitting=sets(theirs)) == own
    assert exits_with(own, quitting=raises(theirs)) == own
    assert exits_with(own, quit=raises(theirs)) == own


def test_a_listener_may_fail_a_run_that_passed() -> None:
    assert exits_with(0, quitting=sets(4)) == 4
    assert exits_with(0, quitting=raises(4)) == 4
    assert exits_with(0, quitting=raises("why")) == 1
    assert exits_with(0, quit=raises(4)) == 4
    assert exits_with(0, quitting=sets(None)) == 0
    assert exits_with(0) == 0


def test_a_process_without_a_run_ends_as_asked() -> None:
    assert exits_with(None, quitting=sets(4)) == 4
    assert exits_with(None, quitting=raises(0)) == 0
    assert exits_with(None) is None


def test_a_listener_that_fails_changes_no_status() -> None:
    def fails(**_: object) -> None:
        raise ValueError

    assert exits_with(1, quitting=fails, quit=fails) == 1
