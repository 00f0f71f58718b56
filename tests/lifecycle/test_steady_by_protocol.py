"""Does the same scenario pass by every protocol, and from one to another, with each message once?"""

from pathlib import Path

import pytest

from tests.support.locust_run import make_run, nothing_left

SPOKEN = [
    *(("mesh", protocol) for protocol in ("stomp", "amqp", "openwire", "stomp:openwire", "openwire:amqp")),
    *(("artemis-single", protocol) for protocol in ("stomp", "amqp", "openwire", "core", "core:stomp", "amqp:core")),
]
LAG_LIMIT_MS = "1000"  # what is asked is whether messages get there; the machine may be busy with other tests


@pytest.mark.brokers
@pytest.mark.spark
@pytest.mark.nightly
@pytest.mark.parametrize(("entry", "protocol"), SPOKEN)
def test_steady_passes_by_each_protocol(entry: str, protocol: str, tmp_path: Path) -> None:
    where = ("--headless", "--runtime", "processes", "--topology", entry, "--protocol", protocol)
    done = make_run("scenarios/steady.py", *where, "-t", "10s", "--lag-limit", LAG_LIMIT_MS, runs=tmp_path / "runs")
    assert (done.status, done.summary["verdict"]) == (0, "pass"), done.output
    messages = done.summary["messages"]
    assert messages["sent"] == messages["acked"] == messages["received"] > 1_000
    assert messages["lost"] == messages["duplicated"] == messages["stranded"] == 0
    connected = {row["protocol"] for row in done.events("connections") if row["event"] == "connected"}
    assert connected == set(protocol.split(":"))
    assert nothing_left(tmp_path / "runs")
