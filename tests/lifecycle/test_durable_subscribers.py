"""Checks runs whose durable subscribers are away while the link to the producers' broker is started."""

from pathlib import Path

import pytest

from tests.support.locust_run import make_run, nothing_left

pytestmark = [pytest.mark.brokers, pytest.mark.spark]

NS_PER_S = 1_000_000_000
SCENARIO = """\
from brokerbench import ConsumerUser, Hold, ProducerUser, Scenario, Stay, no_acked_send_lost, none_stranded, run


class Producer(ProducerUser):
    group, destination, sends_per_second, fixed_count = "producers", "topic://away", 20, 2


class Subscriber(ConsumerUser):
    group, destination, durable_subscription, fixed_count = "consumers", "topic://away", True, 2
    stays = (Stay(until_s=1), Stay(from_s=9))


checks = (no_acked_send_lost(), none_stranded())
run(Scenario(users=(Producer, Subscriber), default_topology="source-and-sink", load=Hold(for_s=11), checks=checks))
"""
FAULT = ("--fault", "start-link(source-to-sink, at=3)", "--warm-up", "1", "--broker-memory", "128")


@pytest.mark.parametrize("synchronized", [True, pytest.param(False, marks=pytest.mark.nightly)])
def test_a_starting_link_learns_of_an_absent_subscriber(tmp_path: Path, synchronized: bool) -> None:
    """Only with syncDurableSubs. Without it, the messages are lost until the subscriber is back, and the run says so.

    The link starts while the subscriber is away, so what was sent before is lost in any case.
    """
    runs, scenario, overlay = tmp_path / "runs", tmp_path / "away.py", tmp_path / "sync.yaml"
    scenario.write_text(SCENARIO, encoding="utf-8")
    overlay.write_text(
        f"links: {{all: {{sync_durable_subs: {str(synchronized).lower()}, dynamically_included_destinations: [topic://>]}}}}\n",
        encoding="utf-8",
    )
    outcome = make_run(str(scenario), "--overlay", str(overlay), *FAULT, runs=runs)
    assert (outcome.summary["verdict"], outcome.status) == ("fail", 1), outcome.output
    faults = {row["kind"]: row for row in outcome.events("faults")}
    up_ns, back_ns = faults["start-link"]["effective_ns"], faults["away"]["restored_ns"]
    assert up_ns < back_ns - 2 * NS_PER_S, "the link was up while the subscribers were away"
    sent_ns = {(row["producer"], row["seq"]): row["sent_ns"] for row in outcome.events("sends")}
    received = {(row["subscription"], row["producer"], row["seq"]) for row in outcome.events("receipts")}
    subscriptions = {row["subscription"] for row in outcome.events("subscriptions")}
    assert len(subscriptions) == 2, "each subscriber came back to its subscription"
    missing_ns = [
        sent
        for message, sent in sent_ns.items()
        if any((subscription, *message) not in received for subscription in subscriptions)
    ]
    assert outcome.summary["messages"]["lost"] == 2 * len(missing_ns) > 0
    while_away = [sent for sent in missing_ns if up_ns + NS_PER_S < sent < back_ns - NS_PER_S]
    assert bool(while_away) is not synchronized
    assert nothing_left(runs)
