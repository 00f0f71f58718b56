"""Checks that the same scenario passes on every topology of the catalogue, with each message once.

Some entries are in whole runs elsewhere: ``mesh`` in test_steady.py, ``artemis-single`` in test_steady_by_protocol.py,
``single`` in test_transactions.py, and ``two-regions`` in test_far_links.py. Where an option changes nothing for a
whole run, tests/topologies/ checks what it does.
"""

from pathlib import Path

import pytest

from tests.support.locust_run import make_run, nothing_left

CLASSIC = (
    "active-standby",
    "source-and-sink(transport='ssl')",
    "two-one-way",
    "parallel-connectors(duplex=True)",
    "mesh-of-pairs",
    "cross-region-mesh",
    "hub-and-spoke(hub_standby=True)",
    "concentrator",
    "tiered-concentrator",
    "tree",
    "ring",
)
ARTEMIS = (
    "live-backup(ha='replication')",
    "cluster",
    "cluster(brokers=2)",  # not STRICT: what a broker without consumers gets may stay there
    "senders(match='steady')",  # no canary is let through: the messages themselves show that they are
    "receivers(auto_start=False, alternate=True)",
    "mirror(sync=True)",
    "dual-mirror",
)
# What is asked here is whether messages get there; the machine may be busy with other tests.


@pytest.mark.brokers
@pytest.mark.spark
@pytest.mark.nightly  # test_steady.py has a mesh in every run
@pytest.mark.parametrize("entry", CLASSIC + ARTEMIS)
def test_steady_passes_on_each_entry(entry: str, tmp_path: Path) -> None:
    arguments = ("--headless", "--runtime", "processes", "--topology", entry, "-t", "10s", "--warm-up", "2")
    done = make_run("scenarios/steady.py", *arguments, runs=tmp_path / "runs")
    assert done.status == 0, done.output
    assert done.summary["verdict"] == "pass"
    messages = done.summary["messages"]
    assert messages["sent"] == messages["received"] > 1_000
    if entry.startswith("parallel"):
        assert "not measured" not in (done.run / "report.html").read_text(encoding="utf-8"), "no link, nor its way back"
    assert nothing_left(tmp_path / "runs")
