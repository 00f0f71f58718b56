"""Checks on real brokers which kinds of messages a killed broker loses, and where they are lost."""

from pathlib import Path

import pytest

from records.figures.messages import KINDS
from tests.support.locust_run import make_run, nothing_left

pytestmark = [pytest.mark.brokers, pytest.mark.spark, pytest.mark.nightly]

RELIABILITY, TIMEOUT_S = "scenarios/reliability.py", 600


def counts(summary: dict[str, dict[str, dict[str, int]]], figure: str) -> dict[str, int]:
    return {kind: summary["kinds"][kind][figure] for kind in KINDS}


@pytest.mark.timeout(TIMEOUT_S)
@pytest.mark.parametrize(("topology", "protocol"), [("single", "stomp"), ("cluster", "stomp"), ("live-backup", "core")])
def test_a_killed_broker_loses_none_of_what_jms_promises(tmp_path: Path, topology: str, protocol: str) -> None:
    # clients that find no broker retry after up to 30 s
    arguments = ("--topology", topology, "--protocol", protocol, "--seed", "1", "-t", "90s")
    outcome = make_run(RELIABILITY, *arguments, runs=tmp_path / "runs")
    assert (outcome.summary["verdict"], outcome.status) == ("pass", 0), outcome.output
    lost = counts(outcome.summary, "undelivered")
    assert (lost["queue_persistent"], lost["durable_topic_persistent"]) == (0, 0)
    assert counts(outcome.summary, "unaccounted") == dict.fromkeys(KINDS, 0), "every place was searched"
    assert sum(counts(outcome.summary, "missed_away").values()) > 0, "subscribers that were away were owed nothing"
    assert nothing_left(tmp_path / "runs")


@pytest.mark.timeout(2 * TIMEOUT_S)
@pytest.mark.parametrize("uris", ["all", "one"])
def test_durable_subscribers_that_move_leave_messages_behind(tmp_path: Path, uris: str) -> None:
    """Subscribers that stay with their broker do not."""
    outcome = make_run(RELIABILITY, "--topology", "mesh", "--uris", uris, "--seed", "1", runs=tmp_path / "runs")
    queue_counts, durable_counts = (
        outcome.summary["kinds"][kind] for kind in ("queue_persistent", "durable_topic_persistent")
    )
    assert queue_counts["undelivered"] == 0
    assert (durable_counts["pending"] > 0) is (uris == "all"), outcome.output
    assert counts(outcome.summary, "unaccounted") == dict.fromkeys(KINDS, 0), "every place was searched"
    victim = outcome.events("faults")[0]["target"]
    leftover_brokers = [
        row["broker"] for row in outcome.events("leftovers") if row["queue"].startswith("DurableSubscriber")
    ]
    assert {*leftover_brokers} == ({victim} if uris == "all" else set())
