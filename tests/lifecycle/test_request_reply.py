"""Checks that replies come back to their temporary queues over a link only if it bridges temporary destinations."""

from collections import Counter
from pathlib import Path

import pytest

from records.reader import seal
from records.rundir import RunDirectory
from tests.support.locust_run import make_run

pytestmark = [pytest.mark.brokers, pytest.mark.nightly]

REQUESTS, REPLIES = "queue://request_reply", "queue://request_reply.replies"
RATE_PER_S, AT_LEAST_S = 80, 10


@pytest.mark.parametrize("bridged", [True, False])
def test_every_request_is_answered_only_if_the_link_bridges_temporary_destinations(
    tmp_path: Path, bridged: bool
) -> None:
    topology = f"chain(bridge_temp_destinations={bridged})"
    arguments = ("--topology", topology, "-t", "10s", "--analyse-later")  # the events say it all
    outcome = make_run("scenarios/request_reply.py", *arguments, runs=tmp_path / "runs")
    seal(RunDirectory.open(outcome.run))
    sent = Counter((row["destination"], row["outcome"]) for row in outcome.events("sends"))
    requests = sent[REQUESTS, "acked"]
    assert requests >= RATE_PER_S * AT_LEAST_S
    assert sent == {(REQUESTS, "acked"): requests, (REPLIES, "acked" if bridged else "failed"): requests}
    received = Counter(row["destination"] for row in outcome.events("receipts"))
    assert received == ({REQUESTS: requests, REPLIES: requests} if bridged else {REQUESTS: requests})
