"""Checks a whole run with one broker whose store is full for a while: its producers wait, and nothing is lost.

These run at night. In every test run, management/test_store_limit.py fills a real broker's store, and
drivers/conformance/test_flow_control.py covers a producer that a full broker blocks.
"""

import pytest

from tests.support.locust_run import LocustRun, RunOutcome, nothing_left

pytestmark = [pytest.mark.brokers, pytest.mark.spark, pytest.mark.nightly]

STEADY, TIMEOUT_S = "scenarios/steady.py", 480
NS_PER_S = 1_000_000_000
LASTS_S = 4
FULL = f"full-store(broker-1, at=3, for={LASTS_S})"


@pytest.fixture(scope="module", params=["stomp", "amqp", "openwire"])
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> RunOutcome:
    runs = tmp_path_factory.mktemp("full") / "runs"
    where = ("--runtime", "processes", "--topology", "single", "--protocol", request.param)
    return LocustRun(STEADY, *where, "-t", "12s", "--warm-up", "2", "--fault", FULL, runs=runs).outcome(TIMEOUT_S)


def fault(run: RunOutcome) -> dict[str, int]:
    (row,) = run.events("faults")
    assert (row["kind"], row["target"], row["error"]) == ("full-store", "broker-1", None)
    return row


def test_the_store_is_full_for_as_long_as_asked_and_then_has_room(run: RunOutcome) -> None:
    row = fault(run)
    in_order = [row[f"{moment}_ns"] for moment in ("requested", "began", "effective", "ended", "restored")]
    assert in_order == sorted(in_order)
    assert row["ended_ns"] - row["effective_ns"] >= LASTS_S * NS_PER_S


def test_nothing_is_acknowledged_meanwhile(run: RunOutcome) -> None:
    """One second is allowed for messages that the broker had already accepted and acknowledges late."""
    since_ns, until_ns = fault(run)["effective_ns"] + NS_PER_S, fault(run)["ended_ns"]
    answered = [row["settled_ns"] for row in run.events("sends") if row["outcome"] == "acked"]
    assert not [at_ns for at_ns in answered if since_ns < at_ns < until_ns]
    assert min(answered) < since_ns
    assert max(answered) > until_ns


def test_afterwards_everything_arrives_once_and_the_run_passes(run: RunOutcome) -> None:
    messages = run.summary["messages"]
    assert messages["sent"] == messages["acked"] == messages["received"] > 0, run.output
    assert (messages["lost"], messages["stranded"], messages["duplicated"]) == (0, 0, 0), run.output
    assert run.summary["verdict"] == "pass", run.output
    assert nothing_left(run.runs)


def test_the_report_says_that_the_store_was_full_and_who_held_producers_back(run: RunOutcome) -> None:
    assert run.summary["blocked"]["brokers"] == ["broker-1"]
    (recovery,) = run.summary["recovery"]["faults"]
    assert (recovery["kind"], recovery["cut_off"], recovery["lost"]) == ("full-store", 0, 0)
    page = (run.run / "report.html").read_text(encoding="utf-8")
    assert "broker-1 had a full store from " in page
