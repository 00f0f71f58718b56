"""Checks whole runs with a broker that disconnects its clients, a slow link, and a link whose connector is stopped."""

from pathlib import Path

import pytest

from tests.support.locust_run import LocustRun, RunOutcome, nothing_left

pytestmark = [
    pytest.mark.brokers,
    pytest.mark.links,
    pytest.mark.spark,
    pytest.mark.nightly,  # management/ covers each operation
]

STEADY, TIMEOUT_S = "scenarios/steady.py", 480
NS_PER_MS, NS_PER_S = 1_000_000, 1_000_000_000
PRODUCERS = 6
DELAY_MS = 80
HANG_UP, SLOWER, STOPPED = (
    "disconnect(source, at=2)",
    f"slow(source-to-sink, at=4, for=3, delay={DELAY_MS}ms)",
    "stop-link(source-to-sink, at=10, for=3)",
)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunOutcome:
    runs = tmp_path_factory.mktemp("management") / "runs"
    faults = ("--fault", "; ".join((HANG_UP, SLOWER, STOPPED)))
    return LocustRun(
        STEADY, "--topology", "source-and-sink", "-t", "18s", "--warm-up", "2", *faults, runs=runs
    ).outcome(TIMEOUT_S)


def fault(run: RunOutcome, kind: str) -> dict[str, int]:
    (row,) = [row for row in run.events("faults") if row["kind"] == kind]
    assert row["error"] is None
    return row


def crossed_meanwhile(run: RunOutcome, fault: dict[str, int]) -> list[dict[str, int]]:
    """Return the receipts while the link was down, without the first second: the far broker already had these."""
    since_ns = fault["effective_ns"] + NS_PER_S
    return [row for row in run.events("receipts") if since_ns < row["received_ns"] < fault["ended_ns"]]


def test_no_message_is_lost_and_only_what_was_in_doubt_may_come_twice(run: RunOutcome) -> None:
    messages, in_flight = run.summary["messages"], run.summary["recovery"]["in_flight"]
    assert (messages["lost"], messages["stranded"]) == (0, 0), run.output
    assert messages["duplicated"] == messages["duplicated_by_resend"] <= in_flight <= PRODUCERS, run.output
    bad = [check["name"] for check in run.summary["checks"] if check["outcome"] != "pass"]
    assert bad == (["duplicates at most 0"] if messages["duplicated"] else []), run.output
    assert nothing_left(run.runs)


def test_all_clients_of_the_broker_and_no_others_are_cut_off_and_come_back(run: RunOutcome) -> None:
    (disconnect,) = [recovery for recovery in run.summary["recovery"]["faults"] if recovery["kind"] == "disconnect"]
    assert (disconnect["target"], disconnect["cut_off"], disconnect["never_back"]) == ("source", PRODUCERS, 0)
    lost = [row for row in run.events("connections") if row["event"] == "lost"]
    assert {row["broker"] for row in lost} == {"source"}
    assert len(lost) == PRODUCERS
    assert disconnect["outage_ms"]["max"] is not None


def test_while_the_link_is_slow_messages_take_longer_by_its_delay_and_not_before(run: RunOutcome) -> None:
    slow, began = fault(run, "slow"), fault(run, "disconnect")["began_ns"]
    due = {(row["producer"], row["seq"]): row["due_ns"] for row in run.events("sends")}
    latencies = [
        (row["received_ns"], row["received_ns"] - due[row["producer"], row["seq"]]) for row in run.events("receipts")
    ]
    during = [
        latency_ns for at_ns, latency_ns in latencies if slow["effective_ns"] + NS_PER_S < at_ns < slow["ended_ns"]
    ]
    before = [latency_ns for at_ns, latency_ns in latencies if at_ns < began]
    assert during
    assert min(during) >= DELAY_MS * NS_PER_MS
    assert min(before) < DELAY_MS * NS_PER_MS


def test_nothing_crosses_while_the_connector_is_stopped(run: RunOutcome) -> None:
    stopped = fault(run, "stop-link")
    assert crossed_meanwhile(run, stopped) == []
    assert stopped["ended_ns"] - stopped["effective_ns"] >= 3 * NS_PER_S


def test_the_report_says_what_was_done_to_whom(run: RunOutcome) -> None:
    page = (run.run / "report.html").read_text(encoding="utf-8")
    for sentence in (
        "source ended its clients",
        "source-to-sink was made slow",
        "source-to-sink was stopped by management",
    ):
        assert sentence in page


def test_the_same_of_artemis_and_its_amqp_connection(tmp_path: Path) -> None:
    """The stopped connection may have carried a message whose settlement is lost, so the message is sent again."""
    arguments = (
        "--topology",
        "senders",
        "-t",
        "12s",
        "--warm-up",
        "2",
        "--fault",
        f"{HANG_UP}; {STOPPED.replace('10', '5')}",
    )
    outcome = LocustRun(STEADY, *arguments, runs=tmp_path / "runs").outcome(TIMEOUT_S)
    assert outcome.summary["messages"]["lost"] == 0, outcome.output
    assert all(row["error"] is None for row in outcome.events("faults")), outcome.output
    disconnect, _ = outcome.summary["recovery"]["faults"]
    assert (disconnect["cut_off"], disconnect["never_back"]) == (PRODUCERS, 0)
    stopped = fault(outcome, "stop-link")
    assert crossed_meanwhile(outcome, stopped) == []
