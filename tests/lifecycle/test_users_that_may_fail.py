"""Checks that runs continue without users with `may_fail=True`, in one process or several, and report them."""

import re
from pathlib import Path

import pytest

from tests.support.locust_run import make_run, nothing_left

pytestmark = [pytest.mark.brokers, pytest.mark.nightly]

GUESTS = "tests/lifecycle/locustfiles/guests.py"
QUICK = ("-t", "5s", "--warm-up", "1")


@pytest.mark.spark
@pytest.mark.parametrize(
    "protocol", [("stomp", "--processes", "2"), ("amqp",), ("openwire",)], ids=lambda words: words[0]
)
def test_users_that_the_broker_refuses_are_two_warnings_and_all_others_pass(
    protocol: tuple[str, ...], tmp_path: Path
) -> None:
    outcome = make_run(GUESTS, *QUICK, "--protocol", *protocol, "--runtime", "processes", runs=tmp_path / "runs")
    assert (outcome.status, outcome.summary["verdict"]) == (0, "pass"), outcome.output
    choosy, guests = outcome.info["warnings"]
    assert choosy.startswith("1 of 1 users Choosy failed (may_fail), and the load went on without them. The first")
    warning = re.fullmatch(
        r"2 of 2 users Guest failed \(may_fail\), and the load went on without them; (\d+) of their messages were "
        r"never sent\. The first error: producers client \d+: .*broker.* refused user .* Check the user name .*",
        guests,
    )
    assert warning, guests
    assert int(warning[1]) == pytest.approx(2 * 10 * 6, abs=4)
    assert len(outcome.events("sends")) == len(outcome.events("receipts")) == pytest.approx(2 * 10 * 6, abs=4)
    assert "users Guest failed (may_fail)" in (outcome.run / "report.html").read_text(encoding="utf-8")
    assert outcome.output.count("The other users go on (may_fail)") == 2
    assert "mistyped" not in outcome.output + guests
    assert "Traceback" not in outcome.output
    assert nothing_left(tmp_path / "runs")


def test_a_run_whose_every_producer_is_refused_ends_with_that_error(tmp_path: Path) -> None:
    outcome = make_run(GUESTS, *QUICK, runs=tmp_path / "runs", env={"WHO_MAY_FAIL": "everybody"})
    assert outcome.status == 2, outcome.output
    (problem,) = outcome.info["problems"]
    assert problem.startswith("all producers have failed; Guest: producers client ")
    assert "Traceback" not in outcome.output
    assert nothing_left(tmp_path / "runs")
