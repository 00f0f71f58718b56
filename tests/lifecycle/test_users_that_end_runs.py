"""Checks that a run that is ended by the user's code reports this, and never ends with status 0.

`tests/harness/test_runner_calls.py` covers the other ways to call the runner.
"""

import re
from pathlib import Path

import pytest

from harness.lifecycle import FAILED_LISTENER
from tests.support.locust_run import make_run

CANNOT_RUN, INVALID = 2, 3
AFTER, BEFORE = r"the load was ended after \d\.\d s of 5 s", "the load was ended before it began"
ADVICE = "which is not part of the scenario: find the caller, remove the call, and run again"
HERE = r"\(ending_users\.py:\d+\)"


def by_a_call(method: str) -> str:
    """Return a regular expression for the problem of a load that the locustfile ended by a method of the runner."""
    return rf"{AFTER} by environment\.runner\.{method}\(\) {HERE}, {ADVICE}"


@pytest.mark.parametrize(
    ("how", "status", "reason"),
    [
        ("exit in on_start", CANNOT_RUN, r"Consumer: on_start raised SystemExit \(ending_users\.py:\d+\)"),
        ("killed in on_start", CANNOT_RUN, r"Consumer: on_start raised GreenletExit \(ending_users\.py:\d+\)"),
        ("exit in a greenlet", INVALID, r"a greenlet that a user or a listener spawned raised SystemExit.*"),
        ("stop by a user", INVALID, by_a_call("stop")),
        pytest.param("quit by a user", INVALID, by_a_call("quit"), marks=pytest.mark.nightly),
        ("more users", INVALID, by_a_call("spawn_users")),
        pytest.param("more by a start", INVALID, by_a_call("start"), marks=pytest.mark.nightly),
        pytest.param("users stopped", INVALID, by_a_call("stop_users"), marks=pytest.mark.nightly),
        pytest.param(
            "stop by its class", INVALID, rf"{AFTER} by an event test_stopping, {ADVICE}", marks=pytest.mark.nightly
        ),
        pytest.param(
            "test_stop fired", INVALID, rf"{AFTER} by an event test_stop, {ADVICE}", marks=pytest.mark.nightly
        ),
        ("quit in on_start", CANNOT_RUN, rf"{BEFORE} by environment\.runner\.quit\(\) {HERE}, {ADVICE}"),
        pytest.param(
            "error in on_stop",
            INVALID,
            rf"Consumer: on_stop raised RuntimeError: planted {HERE}",
            marks=pytest.mark.nightly,
        ),
        ("exit in on_stop", INVALID, r"Consumer raised SystemExit: 0 \(ending_users\.py:\d+\).*"),
    ],
)
def test_a_run_that_a_user_ends_says_why(tmp_path: Path, how: str, status: int, reason: str) -> None:
    locustfile, runs = "tests/lifecycle/locustfiles/ending_users.py", tmp_path / "runs"
    outcome = make_run(locustfile, "--runtime", "memory", "--analyse-later", runs=runs, env={"HOW": how})
    assert outcome.status == status, outcome.output
    (problem,) = outcome.info["problems"]
    assert re.fullmatch(reason, problem)
    assert outcome.info["state"] == "ended"
    assert problem in outcome.output


@pytest.mark.nightly
def test_a_listener_that_fails_is_a_warning(tmp_path: Path) -> None:
    locustfile, runs = "tests/lifecycle/locustfiles/ending_users.py", tmp_path / "runs"
    env = {"HOW": "error in a listener"}
    outcome = make_run(locustfile, "--runtime", "memory", "--analyse-later", runs=runs, env=env)
    assert (outcome.status, outcome.info["problems"]) == (0, []), outcome.output
    assert FAILED_LISTENER in outcome.info["warnings"]


@pytest.mark.brokers
@pytest.mark.nightly
@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ("quit in the master", rf"{AFTER} by environment\.runner\.quit\(\) {HERE}, {ADVICE}"),
        ("quit by a user", rf"the load was ended .* by environment\.runner\.quit\(\) {HERE} in worker-\d, {ADVICE}"),
    ],
)
def test_a_run_of_several_processes_says_so_too(tmp_path: Path, how: str, reason: str) -> None:
    locustfile, runs = "tests/lifecycle/locustfiles/ending_users.py", tmp_path / "runs"
    outcome = make_run(locustfile, "--processes", "2", "--analyse-later", runs=runs, env={"HOW": how})
    assert (outcome.status, outcome.info["state"]) == (INVALID, "ended"), outcome.output
    assert re.fullmatch(reason, outcome.info["problems"][0])
