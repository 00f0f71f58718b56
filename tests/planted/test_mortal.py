"""Checks that messages that expire, or that no selector matches, are reported as such, not as lost or stranded.

These run at night. In every test run, drivers/conformance/test_headers.py covers selectors and times to live on real
brokers, and analysis/test_expiry_and_selectors.py covers the outcomes of these messages.
"""

from pathlib import Path

import pytest

from tests.support.locust_run import make_run

pytestmark = [pytest.mark.brokers, pytest.mark.spark, pytest.mark.nightly]

RUNTIMES = {
    "memory": ("--runtime", "memory"),
    "classic": ("--topology", "single", "--protocol", "amqp"),
    "artemis": ("--topology", "artemis-single", "--protocol", "amqp"),
}


@pytest.mark.parametrize("arguments", RUNTIMES.values(), ids=RUNTIMES.keys())
def test_what_expired_and_what_nobody_selects_is_told_apart_from_losses(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    outcome = make_run("tests/planted/locustfiles/mortal.py", "--messages", "150", *arguments, runs=tmp_path / "runs")
    messages = outcome.summary["messages"]
    expected = {"sent": 150, "received": 75, "expired": 50, "unselected": 25}
    nothing = ("lost", "stranded", "dead_lettered", "unaccounted", "missing_unconfirmed", "unselected_yet_received")
    assert {name: messages[name] for name in (*expected, *nothing)} == expected | dict.fromkeys(nothing, 0), (
        outcome.output
    )
    counts_by_queue = {row["destination"]: (row["expired"], row["unselected"]) for row in outcome.results("accounting")}
    assert counts_by_queue == {"queue://mortal": (25, 0), "queue://immortal": (0, 25), "queue://one-way": (25, 0)}
    assert outcome.summary["verdict"] == "fail"
    assert outcome.summary["reasons"] == ["check 'expired at most 0' failed: messages.expired is 50, it must be <= 0"]
