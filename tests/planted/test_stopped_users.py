"""Checks that users which end before the load does are named, and that no such run passes."""

import re
from pathlib import Path

import pytest

from tests.support.locust_run import Outcome, make_run

pytestmark = pytest.mark.spark


def stopped(folder: Path, how: str) -> Outcome:
    locustfile, runs = "tests/planted/locustfiles/stopped_users.py", folder / "runs"
    return make_run(locustfile, "--runtime", "memory", runs=runs, env={"HOW": how})


@pytest.mark.parametrize(
    ("how", "named"), [("producer", "Producer: producer"), ("consumer", "Consumer: consumer"), ("ramp-down", "")]
)
def test_a_user_stopped_in_mid_load_is_named(tmp_path: Path, how: str, named: str) -> None:
    outcome = stopped(tmp_path, how)
    assert (outcome.summary["verdict"], outcome.status) == ("invalid", 3), outcome.output
    (reason, *_) = outcome.summary["reasons"]
    assert re.match(rf"{named or r'(Producer: producer|Consumer: consumer)'} \d+ was stopped at [23]\.\d s", reason)
