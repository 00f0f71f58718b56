"""Checks a run in which a broker restarts with another configuration: its network connector has a new name."""

from pathlib import Path

import pytest

from tests.support.locust_run import make_run, nothing_left

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
NEW_SUBSCRIPTION = OLD_SUBSCRIPTION.replace("source-to-sink", "renamed")
LOAD = ("--warm-up", "1", "--broker-memory", "128", "--failover", "maxReconnectDelay=200")


def test_a_renamed_connector_leaves_a_durable_subscription_behind(tmp_path: Path) -> None:
    """The broker continues to store every message for it.

    The subscriber gets them by the new connector, except for what was sent before that connector had subscribed.
    """
    runs, scenario, overlay = tmp_path / "runs", tmp_path / "names.py", tmp_path / "renamed.yaml"
    scenario.write_text(SCENARIO, encoding="utf-8")
    overlay.write_text("links: {source-to-sink: {name: renamed}}\n", encoding="utf-8")
    fault = f"rolling-restart(producers, at=1, overlay={overlay})"
    outcome = make_run(str(scenario), "--fault", fault, *LOAD, runs=runs)
    assert (outcome.summary["verdict"], outcome.status) == ("pass", 0), outcome.output
    (restart,) = outcome.events("faults")
    assert (restart["kind"], restart["target"], restart["error"]) == ("restart", "source", None)
    messages, left = outcome.summary["messages"], outcome.summary["left_behind"]
    assert messages["received"] + messages["stranded"] == messages["sent"]
    assert {(row["queue"], row["broker"]) for row in left} == {(OLD_SUBSCRIPTION, "source")}
    assert {row["outcome"] for row in left} - {"stranded"} == {"copy"}
    sent_after = sum(row["sent_ns"] > restart["restored_ns"] for row in outcome.events("sends"))
    assert sum(row["messages"] for row in left) >= sent_after > 0
    bridges = {
        row["object"] for row in outcome.events("samples") if row["kind"] == "bridge" and row["broker"] == "source"
    }
    assert bridges == {"source-to-sink|sink"}, "the link keeps its name from the start"
    stored = {row["object"] for row in outcome.events("samples") if row["kind"] == "subscription"}
    assert {OLD_SUBSCRIPTION, NEW_SUBSCRIPTION} <= stored
    assert_says_what_changed(outcome.info, (outcome.run / "report.html").read_text(encoding="utf-8"))
    assert nothing_left(runs)


def assert_says_what_changed(info: dict[str, object], report: str) -> None:
    rendered, options = info["rendered"], info["options"]
    assert isinstance(rendered, dict)
    assert isinstance(options, dict)
    change = "source: link source-to-sink: name source-to-sink → renamed"
    assert options["changed_by_restarts"] == change
    assert change in report
    assert 'name="source-to-sink"' in rendered["source/activemq.xml"]
    assert 'name="renamed"' in rendered["source/activemq.xml (restarted)"]
    assert "name: renamed" in rendered["overlay/renamed.yaml (restart)"]
