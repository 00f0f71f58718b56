"""Checks that user classes use their own protocols in one run on real brokers, and that every message is counted."""

from collections import Counter
from pathlib import Path

import pytest

from tests.support.locust_run import RunOutcome, make_run, nothing_left

SCENARIO = "tests/planted/locustfiles/two_protocols.py"
SHORT = ("--runtime", "processes", "--broker-memory", "256", "--warm-up", "1", "-t", "3s", "--headless")
BY_AMQP = ("amqp:amqp", "stomp, Orders=amqp, OrderTakers=amqp")
THREE = ("amqp:openwire", "stomp, Orders=amqp, OrderTakers=openwire")


@pytest.mark.brokers
@pytest.mark.spark
@pytest.mark.parametrize(
    ("topology", "orders", "recorded"),
    [
        pytest.param("mesh(brokers=2)", *THREE, marks=[pytest.mark.amqp, pytest.mark.java]),
        pytest.param("mesh(brokers=2)", *BY_AMQP, marks=[pytest.mark.amqp, pytest.mark.nightly]),
        pytest.param("cluster(brokers=2)", *BY_AMQP, marks=[pytest.mark.amqp, pytest.mark.nightly]),
        pytest.param(
            "mesh(brokers=2)",
            "stomp:openwire",
            "stomp, OrderTakers=openwire",
            marks=[pytest.mark.java, pytest.mark.nightly],
        ),
        pytest.param(
            "cluster(brokers=2)",
            "core:openwire",
            "stomp, Orders=core, OrderTakers=openwire",
            marks=[pytest.mark.java, pytest.mark.nightly],
        ),
    ],
)
def test_orders_and_telemetry_speak_their_own_protocols(
    topology: str, orders: str, recorded: str, tmp_path: Path
) -> None:
    outcome = make_run(SCENARIO, *SHORT, "--topology", topology, runs=tmp_path / "runs", env={"ORDERS": orders})
    assert (outcome.status, outcome.summary["verdict"]) == (0, "pass"), outcome.output
    sends, takes = orders.split(":")
    assert protocols_by_class(outcome) == {
        "Orders": {sends}, "OrderTakers": {takes}, "Telemetry": {"stomp"}, "Dashboards": {"stomp"},
    }  # fmt: skip
    sent, received = (Counter(row["destination"] for row in outcome.events(name)) for name in ("sends", "receipts"))
    assert sent["queue://orders"] > 100
    assert sent["topic://telemetry"] > 150
    assert received == {"queue://orders": sent["queue://orders"], "topic://telemetry": 2 * sent["topic://telemetry"]}
    messages = outcome.summary["messages"]
    assert messages["lost"] == messages["duplicated"] == messages["corrupted"] == messages["stranded"] == 0
    assert outcome.info["protocol"] == recorded
    assert recorded in (outcome.run / "report.html").read_text(encoding="utf-8")
    assert "paths proven by a canary each, stomp → stomp: 4" in outcome.output
    assert f"paths proven by a canary each, {sends} → {takes}: 4" in outcome.output
    assert nothing_left(tmp_path / "runs")


def protocols_by_class(outcome: RunOutcome) -> dict[str, set[str]]:
    """Return the protocols of the connections that the users of each class had."""
    of_connection = {
        row["client"]: row["protocol"] for row in outcome.events("connections") if row["event"] == "connected"
    }
    by_class: dict[str, set[str]] = {}
    for row in outcome.events("members"):
        by_class.setdefault(row["user_class"], set()).add(of_connection[row["connection"]])
    return by_class
