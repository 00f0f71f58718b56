"""Does the same scenario pass on every topology of the catalogue, with each message once?"""

from pathlib import Path

import pytest

from tests.support.locust_run import make_run, nothing_left

CLASSIC = (
    "single",
    "active-standby",
    "source-and-sink",
    "source-and-sink(duplex=True)",
    "source-and-sink(transport='ssl')",
    "two-one-way",
    "parallel-connectors",
    "mesh",
    "mesh(brokers=5)",
    "mesh(discovery='multicast')",
    "mesh-of-pairs",
    "cross-region-mesh",
    "two-regions",
    "hub-and-spoke",
    "hub-and-spoke(hub_standby=True)",
    "concentrator",
    "tiered-concentrator",
    "tree",
    "ring",
)
ARTEMIS = (
    "artemis-single",
    "live-backup",
    "live-backup(ha='replication')",
    "cluster",
    "cluster(brokers=2)",  # not STRICT: what a broker without consumers gets may stay there
    "senders",
    "senders(match='steady')",  # no canary is let through: the messages themselves show that they are
    "receivers",
    "receivers(auto_start=False, alternate=True)",
    "mirror",
    "mirror(sync=True)",
    "mirror(alternate=True)",
    "dual-mirror",
)
# What is asked here is whether messages get there; the machine may be busy with other tests.
LAG_LIMIT_MS = "1000"


@pytest.mark.brokers
@pytest.mark.spark
@pytest.mark.nightly  # a sample of every run: test_steady on a mesh, distributed/test_workers on senders of Artemis
@pytest.mark.parametrize("entry", CLASSIC + ARTEMIS)
def test_steady_passes_on_each_entry(entry: str, tmp_path: Path) -> None:
    arguments = ("--headless", "--runtime", "processes", "--topology", entry, "-t", "10s", "--lag-limit", LAG_LIMIT_MS)
    done = make_run("scenarios/steady.py", *arguments, runs=tmp_path / "runs")
    assert done.status == 0, done.output
    assert done.summary["verdict"] == "pass"
    messages = done.summary["messages"]
    assert messages["sent"] == messages["received"] > 1_000
    assert nothing_left(tmp_path / "runs")
