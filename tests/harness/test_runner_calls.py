"""Checks that calls of Locust's runner during a run are skipped, and reported with their location."""

from typing import Any

import gevent
import pytest
from locust import runners

from harness.runner_calls import cut_short_by, guard_runner

ADVICE = "which is not part of the scenario: find the caller, remove the call, and run again"


class Runner:
    """Stops and quits as Locust's does: `quit` stops first, and `stop` calls listeners."""

    def __init__(self) -> None:
        self.acts: list[str] = []
        self.listeners: list[str] = []

    def stop(self) -> None:
        self.acts.append("stop")
        for listener in self.listeners:
            getattr(self, listener)()

    def quit(self) -> None:
        self.stop()
        self.acts.append("quit")

    def start(self, users: int, _spawn_rate: float) -> None:
        self.acts.append(f"start {users}")

    def spawn_users(self, counts: dict[str, int]) -> list[str]:
        self.acts.append("spawn")
        return [*counts]

    def stop_users(self, _counts: dict[str, int]) -> None:
        self.acts.append("stop users")


def guarded(*, own: bool) -> tuple[Runner, list[str]]:
    runner = Runner()
    reports: list[str] = []
    guard_runner(runner, lambda: own, reports.append)
    return runner, reports


@pytest.mark.parametrize("name", ["stop", "quit"])
def test_a_call_of_other_code_is_reported_and_skipped(name: str) -> None:
    runner, reports = guarded(own=False)
    getattr(runner, name)()
    (report,) = reports
    assert report.startswith(f"environment.runner.{name}() (test_runner_calls.py:")
    assert runner.acts == []


@pytest.mark.parametrize(
    ("name", "arguments"), [("start", (8, 100)), ("spawn_users", ({"P": 4},)), ("stop_users", ({"P": 1},))]
)
def test_a_call_that_changes_the_users_is_reported(name: str, arguments: tuple[Any, ...]) -> None:
    runner, reports = guarded(own=False)
    assert getattr(runner, name)(*arguments) == []
    (report,) = reports
    assert report.startswith(f"environment.runner.{name}() (test_runner_calls.py:")
    assert runner.acts == []


def test_users_are_spawned_before_a_run() -> None:
    runner, reports = guarded(own=True)
    assert runner.spawn_users({"P": 4}) == ["P"]
    assert (runner.acts, reports) == (["spawn"], [])


def test_locusts_runner_changes_its_users_itself() -> None:
    runner, reports = guarded(own=False)
    in_locust = compile("runner.spawn_users({}); runner.stop_users({}); runner.start(1, 1)", runners.__file__, "exec")
    exec(in_locust, {"runner": runner})
    assert (runner.acts, reports) == (["spawn", "stop users", "start 1"], [])


def test_a_greenlet_that_only_calls_it_is_reported() -> None:
    runner, reports = guarded(own=False)
    gevent.spawn(runner.quit).join()
    assert [report.partition(" (")[0] for report in reports] == ["environment.runner.quit()"]


def test_the_harness_itself_stops_and_quits() -> None:
    runner, reports = guarded(own=True)
    runner.quit()
    assert (runner.acts, reports) == (["stop", "quit"], [])


@pytest.mark.parametrize("listener", ["stop", "quit"])
def test_a_listener_of_the_stop_ends_nothing_twice(listener: str) -> None:
    runner, reports = guarded(own=True)
    runner.listeners.append(listener)
    runner.quit()
    assert (runner.acts, reports) == (["stop", "quit"], [])


@pytest.mark.parametrize(
    ("when", "sentence"),
    [
        ((2.46, 9.0), "the load was ended after 2.5 s of 9 s by x, "),
        ((2.46, None), "the load was ended after 2.5 s by x, "),
        ((-1.0, 9.0), "the load was ended before it began by x, "),
    ],
)
def test_the_sentence_says_when_the_load_ended(when: tuple[float, float | None], sentence: str) -> None:
    assert cut_short_by("x", *when) == sentence + ADVICE
