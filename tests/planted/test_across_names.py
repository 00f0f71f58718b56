"""Checks that messages which real brokers deliver under other names are counted per subscription."""

from pathlib import Path

import pytest

from tests.support.locust_run import RunOutcome, make_run

pytestmark = [pytest.mark.brokers, pytest.mark.spark]

SUBSCRIPTIONS = {
    ("queue://across.eu", "across.eu"),
    ("queue://across.us.east", "across.us.east"),
    ("topic://VirtualTopic.orders", "Consumer.shop.VirtualTopic.orders"),
    ("topic://VirtualTopic.orders", "Consumer.audit.VirtualTopic.orders"),
    ("topic://VirtualTopic.orders", "VirtualTopic.>"),
    ("queue://both.a,both.b", "both.a"),
    ("queue://both.a,both.b", "both.b"),
}
AUDIT = "topic://VirtualTopic.orders", "Consumer.audit.VirtualTopic.orders"


def planted(folder: Path, *options: str, plant: str = "") -> RunOutcome:
    run = "tests/planted/locustfiles/across_names.py", "-t", "4s", "--warm-up", "0", *options
    return make_run(*run, runs=folder / "runs", env={"PLANT": plant})


def counts_by_subscription(outcome: RunOutcome) -> dict[tuple[str, str], dict[str, int]]:
    """Return the counts by destination and subscription, without the consumer's number in topic subscriptions."""
    rows = outcome.results("accounting")
    return {(row["destination"], row["subscription"].partition("#")[0]): row for row in rows}


def test_wildcards_virtual_topics_and_lists_pass(tmp_path: Path) -> None:
    outcome = planted(tmp_path)
    messages = outcome.summary["messages"]
    assert (outcome.summary["verdict"], outcome.status) == ("pass", 0), outcome.output
    counts = counts_by_subscription(outcome)
    assert {*counts} == SUBSCRIPTIONS
    assert all(row["received"] == row["sent"] > 0 for row in counts.values())
    assert messages["expected"] == messages["received"] == sum(row["sent"] for row in counts.values())
    assert not any(messages[name] for name in ("lost", "stranded", "duplicated", "reordered", "unowed_yet_received"))


@pytest.mark.nightly
def test_what_a_filter_keeps_from_one_subscriber_is_missed(tmp_path: Path) -> None:
    outcome = planted(tmp_path, plant="filter")
    counts = counts_by_subscription(outcome)
    sent = counts[AUDIT]["sent"]
    assert outcome.summary["verdict"] == "fail", outcome.output
    assert counts[AUDIT]["unselected"] == sent // 2
    assert all(row["received"] == row["sent"] for key, row in counts.items() if key != AUDIT)
