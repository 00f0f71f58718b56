"""Runs the order service of docs/scenarios.md: two protocols, and a check on the latency of one consumer class."""

import re
from pathlib import Path

import pytest

from tests.support.locust_run import make_run

LOAD_S = 8
PAGE = (Path(__file__).parents[2] / "docs" / "scenarios.md").read_text(encoding="utf-8")


@pytest.fixture
def order_service(tmp_path: Path) -> str:
    (code,) = re.findall(r"```python\n(\"\"\"How long do orders take.*?)```", PAGE, re.DOTALL)
    file = tmp_path / "order_service.py"
    file.write_text(code, encoding="utf-8")
    return str(file)


@pytest.mark.brokers
@pytest.mark.spark
@pytest.mark.amqp
def test_orders_have_a_latency_of_their_own(order_service: str, tmp_path: Path) -> None:
    """Archive and SlowDashboard each get a copy of all telemetry. `test_latency_by_label` has planted latencies."""
    outcome = make_run(order_service, "-t", f"{LOAD_S}s", "--warm-up", "1", runs=tmp_path / "runs")
    by_label = outcome.summary["latency_by"]
    counts = {name: latency["count"] for name, latency in by_label["consumer_classes"].items()}
    assert counts["OrderConsumer"] == pytest.approx(2 * 40 * LOAD_S, abs=4)
    assert counts["SlowDashboard"] == counts["Archive"] == pytest.approx(2 * 25 * LOAD_S, abs=4)
    assert by_label["destinations"]["queue://orders"] == by_label["consumer_classes"]["OrderConsumer"]
    (check,) = (check for check in outcome.summary["checks"] if "OrderConsumer" in check["name"])
    assert check["value"] == by_label["consumer_classes"]["OrderConsumer"]["p99"]
    report = (outcome.run / "report.html").read_text(encoding="utf-8")
    assert "Latency by consumer class and destination" in report


@pytest.mark.amqp
def test_a_label_that_the_run_lacks_is_rejected(order_service: str, tmp_path: Path) -> None:
    check = "latency_ms.due_to_received.p99{OrderConsumers} < 500"
    outcome = make_run(order_service, "--runtime", "processes", "--check", check, runs=tmp_path / "runs")
    assert outcome.status == 2
    assert (
        f"check '{check}': the run has no consumer class or destination 'OrderConsumers'; did you mean "
        "'OrderConsumer'? Write one of OrderConsumer, SlowDashboard, Archive, queue://orders, topic://telemetry"
    ) in outcome.output
