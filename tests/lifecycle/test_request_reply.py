"""Checks that replies come back to their temporary queues over a link only if it bridges temporary destinations."""

from collections import Counter
from pathlib import Path

import pytest

from records.store.reader import seal
from records.store.rundir import RunDirectory
from tests.support.locust_run import make_run

pytestmark = [pytest.mark.brokers, pytest.mark.nightly]

REQUESTS, REPLIES = "queue://request_reply", "queue://request_reply.replies"
RATE_PER_S, AT_LEAST_S = 80, 10
AMQP = pytest.mark.amqp


def run_of(tmp_path: Path, topology: str, protocol: str) -> tuple[Counter[tuple[str, str]], Counter[str]]:
    """Return a run's sends by destination and outcome, and its receipts by destination."""
    arguments = ("--topology", topology, "--protocol", protocol, "-t", f"{AT_LEAST_S}s", "--analyse-later")
    outcome = make_run("scenarios/request_reply.py", *arguments, runs=tmp_path / "runs")
    seal(RunDirectory.open(outcome.run))
    sent = Counter((row["destination"], row["outcome"]) for row in outcome.events("sends"))
    return sent, Counter(row["destination"] for row in outcome.events("receipts"))


@pytest.mark.parametrize(
    ("topology", "protocol"),
    [
        ("chain", "stomp"),
        pytest.param("chain", "amqp", marks=AMQP),
        ("chain", "openwire"),
        pytest.param("cluster", "amqp", marks=AMQP),
        ("cluster", "core"),
    ],
)
def test_every_request_gets_its_reply_over_links(tmp_path: Path, topology: str, protocol: str) -> None:
    sent, received = run_of(tmp_path, topology, protocol)
    requests = sent[REQUESTS, "acked"]
    assert requests >= RATE_PER_S * AT_LEAST_S
    assert sent == {(REQUESTS, "acked"): requests, (REPLIES, "acked"): requests}
    assert received == {REQUESTS: requests, REPLIES: requests}


@pytest.mark.parametrize("protocol", ["stomp", pytest.param("amqp", marks=AMQP), "openwire"])
def test_no_reply_finds_its_way_over_a_link_that_bridges_no_temporary_destinations(
    tmp_path: Path, protocol: str
) -> None:
    sent, received = run_of(tmp_path, "chain(bridge_temp_destinations=False)", protocol)
    requests = sent[REQUESTS, "acked"]
    assert requests >= RATE_PER_S * AT_LEAST_S
    assert sent == {(REQUESTS, "acked"): requests, (REPLIES, "failed"): requests}
    assert received == {REQUESTS: requests}
