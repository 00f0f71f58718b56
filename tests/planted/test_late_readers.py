"""Checks that messages which consumers read late count as the load generator's delay, and the run still passes.

The process stands still once for 150 ms while 60 of 10,800 messages are on their way: they are the slowest 0.6 %. Their
sends were on time, so that only the record of the stall tells them from messages of a slow broker.
"""

from pathlib import Path

import pytest

from tests.support.locust_run import make_run

pytestmark = [pytest.mark.spark]

SENT_TO_RECEIVED = "latency_ms.sent_to_received"


def test_consumers_that_block_for_150_ms_make_p99_9_doubtful_with_the_generator_named(tmp_path: Path) -> None:
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
        assert reason.startswith("the load generator itself was late: without its own delay p99.9 would be")
    assert f"{SENT_TO_RECEIVED}.p50" in summary["timing"]["sound"]
    assert summary["timing"]["note"] in outcome.output
