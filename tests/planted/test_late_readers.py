"""Checks that messages which consumers read late count as the load generator's delay, and the run still passes.

These run at night. In every test run, analysis/test_stalls.py covers which reads count as late and how a stall changes
figures, and drivers/jvm/test_stall_sampler.py covers a stalled process with a JVM.

The consumers stall once. On in-memory brokers the stall lasts 150 ms, and 60 of 10,800 messages are on their way then:
the slowest 0.6 %. On a real broker it lasts 1.5 s, and another process sends 360 of 4,320 messages during it: the
slowest 8 %. They were sent on time, so only the record of the stall distinguishes them from messages of a slow broker.
"""

from pathlib import Path

import pytest

from drivers.users.stall_sampler import PERIOD_NS
from records.tables.schemas import CLIENTS_PER_PROCESS
from tests.support.locust_run import RunOutcome, make_run

pytestmark = [pytest.mark.spark, pytest.mark.nightly]

SENT_TO_RECEIVED = "latency_ms.sent_to_received"
ITS_CAUSE = "the load generator itself was late: without its own delay {} would be"
STOPPED_S = 1.5
STOPPED_NS = STOPPED_S * 1e9 - PERIOD_NS


def test_consumers_that_block_150_ms_make_p99_9_doubtful(tmp_path: Path) -> None:
    """The report names the generator as the cause."""
    locustfile = "tests/planted/locustfiles/late_readers.py"
    outcome = make_run(locustfile, "--runtime", "memory", "--warm-up", "1", runs=tmp_path / "runs")
    summary = outcome.summary
    assert (summary["verdict"], outcome.status, summary["reasons"]) == ("pass", 0, []), outcome.output
    longest_ns = max(row["ended_ns"] - row["began_ns"] for row in outcome.events("stalls"))
    assert longest_ns >= 140_000_000, "150 ms, less the time until the next sample was due"
    assert {(row["process"], row["protocol"]) for row in outcome.events("stalls")} == {(0, "memory")}
    assert summary["latency_ms"]["sent_to_received"]["p99_9"] > 180, "100 ms in the network, and 150 unread"
    for measure in (SENT_TO_RECEIVED, "latency_ms.due_to_received"):
        reason = summary["timing"]["doubtful"][f"{measure}.p99_9"]
        assert reason.startswith(ITS_CAUSE.format("p99.9"))
    assert f"{SENT_TO_RECEIVED}.p50" in summary["timing"]["sound"]
    assert summary["timing"]["note"] in outcome.output


@pytest.mark.brokers
@pytest.mark.parametrize("protocol", ["stomp", pytest.param("openwire", marks=pytest.mark.java)])
def test_consumers_of_a_stopped_process_are_named(tmp_path: Path, protocol: str) -> None:
    """The consumers run in Python or in a JVM."""
    outcome = stopped(tmp_path, protocol, "consumers")
    summary = outcome.summary
    (consumer_process,) = {row["consumer"] // CLIENTS_PER_PROCESS for row in outcome.events("receipts")}
    assert {row["producer"] // CLIENTS_PER_PROCESS for row in outcome.events("sends")} != {consumer_process}
    stalls = outcome.events("stalls")
    assert {row["protocol"] for row in stalls} == {protocol}
    assert any(row["process"] == consumer_process and row["ended_ns"] - row["began_ns"] >= STOPPED_NS for row in stalls)
    for measure in (SENT_TO_RECEIVED, "latency_ms.due_to_received"):
        assert summary["timing"]["doubtful"][f"{measure}.p99"].startswith(ITS_CAUSE.format("p99"))


@pytest.mark.brokers
@pytest.mark.parametrize("protocol", ["stomp", pytest.param("openwire", marks=pytest.mark.java)])
def test_a_stopped_producer_is_named_as_the_cause(tmp_path: Path, protocol: str) -> None:
    """90 of 1,080 messages were due during the stop: the slowest 8 %.

    The producer may have only one message in flight, but it was stopped, not blocked.
    """
    outcome = stopped(tmp_path, protocol, "producers")
    summary = outcome.summary
    (producer_process,) = {row["producer"] // CLIENTS_PER_PROCESS for row in outcome.events("sends")}
    stalls = outcome.events("stalls")
    assert any(row["process"] == producer_process and row["ended_ns"] - row["began_ns"] >= STOPPED_NS for row in stalls)
    assert summary["lag_ms"]["max"] > 0.9 * STOPPED_S * 1e3
    assert summary["timing"]["doubtful"]["latency_ms.due_to_received.p99"].startswith(ITS_CAUSE.format("p99"))
    assert summary["unplanned"] == []


def stopped(folder: Path, protocol: str, role: str) -> RunOutcome:
    """Make a run that passes although the process of the consumers or of the producers was stopped."""
    locustfile = "tests/planted/locustfiles/stopped_process.py"
    arguments = ("--runtime", "processes", "--protocol", protocol, "--processes", "2", "--warm-up", "3")
    outcome = make_run(locustfile, *arguments, runs=folder / "runs", env={"STOPPED": role})
    summary = outcome.summary
    assert (summary["verdict"], outcome.status, summary["reasons"]) == ("pass", 0, []), outcome.output
    return outcome
