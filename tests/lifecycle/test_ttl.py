"""Checks on real brokers how far messages get in a ring, and where they wait if they get no further."""

from collections import Counter
from pathlib import Path

import pytest

from tests.support.locust_run import make_run, nothing_left

pytestmark = [pytest.mark.brokers, pytest.mark.spark, pytest.mark.nightly]

SIZE = ("-t", "10s", "--warm-up", "2", "--seed", "7")


@pytest.mark.parametrize(
    ("limits", "waiting"),
    [
        ("", {}),
        ("consumer_ttl=2", {("broker-1", "ttl.third")}),
        ("ttl=2, consumer_ttl=3", {("broker-3", "ttl.third")}),
        ("ttl=1, consumer_ttl=3", {("broker-2", "ttl.second"), ("broker-2", "ttl.third")}),
    ],
)
def test_messages_wait_where_their_ttl_or_demand_ends(
    tmp_path: Path, limits: str, waiting: set[tuple[str, str]]
) -> None:
    """The TTL does not allow another link, or the next broker does not know the consumer."""
    outcome = make_run("scenarios/ttl.py", "--topology", f"ring({limits})", *SIZE, runs=tmp_path / "runs")
    received = {row["destination"]: row["received"] for row in outcome.results("accounting")}
    sent = {row["destination"]: row["sent"] for row in outcome.results("accounting")}
    leftovers = Counter((row["broker"], row["queue"]) for row in outcome.events("leftovers"))
    assert leftovers == {(broker, queue): sent[f"queue://{queue}"] for broker, queue in waiting}
    assert {name for name, count in received.items() if not count} == {f"queue://{queue}" for _, queue in waiting}
    assert outcome.summary["verdict"] == ("fail" if waiting else "pass"), outcome.output
    assert nothing_left(tmp_path / "runs")
