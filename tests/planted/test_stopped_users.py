"""Checks that users that end before the load are named, and that their run does not pass."""

import re
from pathlib import Path

import pytest

from tests.support.locust_run import RunOutcome, make_run

pytestmark = pytest.mark.spark


def stopped(folder: Path, how: str) -> RunOutcome:
    locustfile, runs = "tests/planted/locustfiles/stopped_users.py", folder / "runs"
    return make_run(locustfile, "--runtime", "memory", runs=runs, env={"HOW": how})


STOPPED = r"\d+ was stopped at [23]\.\d s"


@pytest.mark.parametrize(
    ("how", "named"),
    [
        ("producer", f"Producer: producer {STOPPED}"),
        pytest.param("consumer", f"Consumer: consumer {STOPPED}", marks=pytest.mark.nightly),
        ("ramp-down", r"the load was ended after \d\.\d s of \d+ s by environment\.runner\.start\(\)"),
    ],
)
def test_a_user_stopped_in_mid_load_is_named(tmp_path: Path, how: str, named: str) -> None:
    """A ramp-down is skipped: the call that asks for it is named instead of a user."""
    outcome = stopped(tmp_path, how)
    assert (outcome.summary["verdict"], outcome.status) == ("invalid", 3), outcome.output
    (reason, *_) = outcome.summary["reasons"]
    assert re.match(named, reason), reason
