"""Checks that the same scenario passes on every topology of the catalogue, with each message once.

If an option does not affect a whole run, tests/topologies/ checks its effect.
"""

from pathlib import Path

import pytest

from tests.support.locust_run import make_run, nothing_left
from topologies.products import ENTRIES

ELSEWHERE = {
    "single": "test_transactions.py",
    "mesh": "test_steady.py",
    "two-regions": "test_far_links.py",
    "chain": "test_request_reply.py",
    "artemis-single": "test_steady_by_protocol.py",
    "router-peer": "tests/topologies_runtime/test_real_router.py",
}
"""Entries that other tests cover in whole runs."""
VARIANTS = {
    "source-and-sink": ("source-and-sink(transport='ssl')",),
    "parallel-connectors": ("parallel-connectors(duplex=True)",),
    "hub-and-spoke": ("hub-and-spoke(hub_standby=True)",),
    "live-backup": ("live-backup(ha='replication')",),
    "cluster": ("cluster", "cluster(brokers=2)"),  # not STRICT: messages at a broker without consumers may stay there
    "senders": ("senders(match='steady')",),  # no canary gets through: the messages themselves show that links pass
    "receivers": ("receivers(auto_start=False, alternate=True)",),
    "mirror": ("mirror(sync=True)",),
}
"""Entries with other parameters than their defaults, which would show less."""
TOPOLOGIES = [text for name in ENTRIES if name not in ELSEWHERE for text in VARIANTS.get(name, (name,))]
# The question is only whether messages arrive: the machine may be busy with other tests.


@pytest.mark.brokers
@pytest.mark.spark
@pytest.mark.nightly  # test_steady.py covers a mesh in every test run
@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_steady_passes_on_each_entry(topology: str, tmp_path: Path) -> None:
    arguments = ("--headless", "--runtime", "processes", "--topology", topology, "-t", "10s", "--warm-up", "2")
    outcome = make_run("scenarios/steady.py", *arguments, runs=tmp_path / "runs")
    assert outcome.status == 0, outcome.output
    assert outcome.summary["verdict"] == "pass"
    messages = outcome.summary["messages"]
    assert messages["sent"] == messages["received"] > 1_000
    if topology.startswith("parallel"):
        assert "not measured" not in (outcome.run / "report.html").read_text(encoding="utf-8"), (
            "no link, nor its way back"
        )
    assert nothing_left(tmp_path / "runs")
