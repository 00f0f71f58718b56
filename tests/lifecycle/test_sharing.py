"""Checks the documented experiment on real brokers: 30 messages, one consumer here, two beyond a link."""

from itertools import pairwise
from pathlib import Path

import pytest

from tests.support.locust_run import make_run, nothing_left

pytestmark = [
    pytest.mark.brokers,
    pytest.mark.spark,
    pytest.mark.nightly,
]  # analysis/test_consumers.py covers the shares
NIGHTLY = pytest.mark.nightly

SHARING = "scenarios/sharing.py"
WORK_MS, NS_PER_MS = 20, 1_000_000
SAME_PRIORITY = ", decrease_network_consumer_priority=False"


@pytest.mark.parametrize(
    ("link", "here", "there", "max_to_mean"),
    [
        pytest.param("", 30, (0, 0), 3.0, marks=NIGHTLY),
        (SAME_PRIORITY, 15, (7, 8), 1.5),
        pytest.param(f"{SAME_PRIORITY}, conduit_subscriptions=False", 10, (10, 10), 1.0, marks=NIGHTLY),
    ],
)
def test_the_settings_of_the_link_decide_which_share_each_consumer_gets(
    tmp_path: Path, link: str, here: int, there: tuple[int, int], max_to_mean: float
) -> None:
    topology = ("--topology", f"source-and-sink(consumers_at_both=True{link})")
    check = ("--check", f"consumers.share.max_to_mean == {max_to_mean}")
    size = ("--messages", "30", "--rate", "30", "--warm-up", "0", "--seed", "3")
    outcome = make_run(SHARING, *topology, *size, *check, runs=tmp_path / "runs")
    assert (outcome.summary["verdict"], outcome.status) == ("pass", 0), outcome.output
    by_broker: dict[str, list[int]] = {"source": [], "sink": []}
    for row in outcome.results("consumers"):
        by_broker[row["broker"]].append(row["messages"])
    assert (by_broker["source"], tuple(sorted(by_broker["sink"]))) == ([here], there)
    (division,) = outcome.summary["consumers"]["subscriptions"]
    assert division["brokers"] == {"sink": sum(there), "source": here}
    assert nothing_left(tmp_path / "runs")


@NIGHTLY
@pytest.mark.parametrize("protocol", ["stomp", pytest.param("amqp", marks=pytest.mark.amqp), "openwire"])
def test_a_slow_consumer_leaves_messages_to_the_link(tmp_path: Path, protocol: str) -> None:
    """It has one message at a time, and the other messages cross the link."""
    size = ("--messages", "300", "--rate", "100", "--warm-up", "0", "--seed", "3")
    work = ("--protocol", protocol, "--runtime", "processes", "--work-ms", str(WORK_MS), "--prefetch", "5")
    outcome = make_run(SHARING, *size, *work, runs=tmp_path / "runs")
    assert (outcome.summary["verdict"], outcome.status) == ("pass", 0), outcome.output
    times_ns: dict[int, list[int]] = {}
    for row in outcome.events("receipts"):
        times_ns.setdefault(row["consumer"], []).append(row["received_ns"])
    gaps_ns = [later - earlier for times in times_ns.values() for earlier, later in pairwise(sorted(times))]
    assert sum(map(len, times_ns.values())) == 300
    assert min(gaps_ns) >= WORK_MS * NS_PER_MS
    assert outcome.summary["consumers"]["idle"] == 0, "the near one cannot take all of it"
