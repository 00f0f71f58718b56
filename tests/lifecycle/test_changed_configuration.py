"""Checks runs in which a broker restarts with a new name in its configuration: of its network connector, or its own."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.locust_run import RunOutcome, make_run, nothing_left

pytestmark = [pytest.mark.brokers, pytest.mark.spark]

SCENARIO = """\
from brokerbench import ConsumerUser, Hold, ProducerUser, Scenario, no_acked_send_lost, run


class Producer(ProducerUser):
    group, destination, sends_per_second, fixed_count = "producers", "topic://names", 20, 2


class Subscriber(ConsumerUser):
    group, destination, durable_subscription, fixed_count = "consumers", "topic://names", True, 1


load, checks = Hold(for_s=120, after_faults_s=3), (no_acked_send_lost(),)
run(Scenario(users=(Producer, Subscriber), default_topology="source-and-sink", load=load, checks=checks))
"""
OLD_SUBSCRIPTION = "source-to-sink_sink_inbound_source.NC-DS_source_names"
LOAD = ("--warm-up", "1", "--broker-memory", "128", "--failover", "maxReconnectDelay=200")


@dataclass(frozen=True)
class NewName:
    """An overlay with a new name, the broker that restarts with it, and what is known by it afterwards."""

    overlay: str
    group: str
    restarted: str
    change: str
    new_subscription: str


CONNECTOR = NewName(
    "links: {source-to-sink: {name: renamed}}\n",
    "producers",
    "source",
    "source: link source-to-sink: name source-to-sink → renamed",
    "renamed_sink_inbound_source.NC-DS_source_names",
)
PRODUCERS_BROKER = NewName(
    "brokers: {source: {broker_name: renamed}}\n",
    "producers",
    "source",
    "source: broker source: broker_name none → renamed",
    "source-to-sink_sink_inbound_renamed.NC-DS_renamed_names",
)
CONSUMERS_BROKER = NewName(
    "brokers: {sink: {broker_name: renamed}}\n",
    "consumers",
    "sink",
    "sink: broker sink: broker_name none → renamed",
    "source-to-sink_renamed_inbound_source.NC-DS_source_names",
)


@pytest.mark.parametrize(  # docs/manual.yaml has runs that show all three
    "new_name",
    [
        pytest.param(CONNECTOR, id="connector", marks=pytest.mark.nightly),
        pytest.param(PRODUCERS_BROKER, id="producers-broker"),
        pytest.param(CONSUMERS_BROKER, id="consumers-broker", marks=pytest.mark.nightly),
    ],
)
def test_a_new_name_leaves_a_durable_subscription_behind(new_name: NewName, tmp_path: Path) -> None:
    """The broker continues to store every message for it.

    The subscriber gets them by the new subscription, except for what was sent before the link had created that.
    """
    runs, scenario, overlay = tmp_path / "runs", tmp_path / "names.py", tmp_path / "renamed.yaml"
    scenario.write_text(SCENARIO, encoding="utf-8")
    overlay.write_text(new_name.overlay, encoding="utf-8")
    fault = f"rolling-restart({new_name.group}, at=1, overlay={overlay})"
    outcome = make_run(str(scenario), "--fault", fault, *LOAD, runs=runs)
    assert (outcome.summary["verdict"], outcome.status) == ("pass", 0), outcome.output
    (restart,) = outcome.events("faults")
    assert (restart["kind"], restart["target"], restart["error"]) == ("restart", new_name.restarted, None)
    messages, left = outcome.summary["messages"], outcome.summary["left_behind"]
    assert messages["received"] + messages["stranded"] == messages["sent"]
    assert {(row["queue"], row["broker"]) for row in left} == {(OLD_SUBSCRIPTION, "source")}
    assert {row["outcome"] for row in left} - {"stranded"} == {"copy"}
    sent_after = sum(row["sent_ns"] > restart["restored_ns"] for row in outcome.events("sends"))
    assert sum(row["messages"] for row in left) >= sent_after > 0
    samples = outcome.events("samples")
    stored = {row["object"] for row in samples if row["kind"] == "subscription"}
    assert {OLD_SUBSCRIPTION, new_name.new_subscription} <= stored
    restored_ns = restart["restored_ns"]
    assert {row["broker"] for row in samples if row["kind"] == "broker" and row["at_ns"] > restored_ns} == {
        "source",
        "sink",
    }
    bridges = {row["object"] for row in samples if row["kind"] == "bridge" and row["broker"] == "source"}
    assert bridges == {"source-to-sink|sink"}, "the link and the brokers keep their names from the start"
    assert_says_what_changed(new_name, outcome)
    assert nothing_left(runs)


def assert_says_what_changed(new_name: NewName, outcome: RunOutcome) -> None:
    rendered, options = outcome.info["rendered"], outcome.info["options"]
    assert options["changed_by_restarts"] == new_name.change
    assert new_name.change in (outcome.run / "report.html").read_text(encoding="utf-8")
    file = f"{new_name.restarted}/activemq.xml"
    assert 'ame="renamed"' not in rendered[file]
    assert 'ame="renamed"' in rendered[f"{file} (restarted)"]
    assert new_name.overlay.strip() in rendered["overlay/renamed.yaml (restart)"]
