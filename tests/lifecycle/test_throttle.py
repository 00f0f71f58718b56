"""Checks that a link with a rate limit keeps to it, and that the local consumer gets the remaining messages."""

from pathlib import Path

import pytest

from tests.support.locust_run import make_run, nothing_left

pytestmark = [pytest.mark.brokers, pytest.mark.spark, pytest.mark.nightly]

LIMIT_PER_S, RATE_PER_S = 10, 70
NS_PER_S = 1_000_000_000
LINK = f"decrease_network_consumer_priority=False, rate_limit={LIMIT_PER_S}"
TOPOLOGY = f"source-and-sink(consumers_at_both=True, {LINK})"


def test_a_limited_link_leaves_messages_to_the_local_consumer(
    tmp_path: Path,
) -> None:
    """The link forwards at most its limit."""
    size = ("--messages", "1400", "--rate", str(RATE_PER_S), "--warm-up", "0", "--seed", "3")
    outcome = make_run("scenarios/throttle.py", "--topology", TOPOLOGY, *size, runs=tmp_path / "runs")
    assert (outcome.summary["verdict"], outcome.status) == ("pass", 0), outcome.output
    (division,) = outcome.summary["consumers"]["subscriptions"]
    near, far = division["brokers"]["source"], division["brokers"]["sink"]
    received_ns = [row["received_ns"] for row in outcome.events("receipts")]
    periods = (max(received_ns) - min(received_ns)) // NS_PER_S + 2  # the first and the last second may be incomplete
    assert near + far == 1_400
    assert 0 < far <= LIMIT_PER_S * periods
    assert nothing_left(tmp_path / "runs")
