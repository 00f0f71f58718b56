"""Checks that the same scenario passes by every protocol and between protocols, with each message once.

STOMP on a mesh is in test_steady.py. Each protocol sends and receives on each product here, there or in transactions.
"""

from pathlib import Path

import pytest

from tests.support.locust_run import make_run, nothing_left

SPOKEN = [
    *(("mesh", protocol) for protocol in ("amqp", "stomp:openwire", "openwire:amqp")),
    *(("artemis-single", protocol) for protocol in ("openwire", "core:stomp", "stomp:amqp", "amqp:core")),
]


@pytest.mark.brokers
@pytest.mark.spark
@pytest.mark.nightly
@pytest.mark.parametrize(("entry", "protocol"), SPOKEN)
def test_steady_passes_by_each_protocol(entry: str, protocol: str, tmp_path: Path) -> None:
    where = ("--headless", "--runtime", "processes", "--topology", entry, "--protocol", protocol)
    outcome = make_run("scenarios/steady.py", *where, "-t", "10s", "--warm-up", "2", runs=tmp_path / "runs")
    assert (outcome.status, outcome.summary["verdict"]) == (0, "pass"), outcome.output
    messages = outcome.summary["messages"]
    assert messages["sent"] == messages["acked"] == messages["received"] > 1_000
    assert messages["lost"] == messages["duplicated"] == messages["stranded"] == 0
    connected = {row["protocol"] for row in outcome.events("connections") if row["event"] == "connected"}
    assert connected == set(protocol.split(":"))
    assert nothing_left(tmp_path / "runs")
