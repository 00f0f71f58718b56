"""Runs a locustfile and a topology outside the clone, like the CI of another repository (docs/ci.md)."""

import socket
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from reports.other_files import OTHER_FILES
from tests.support.locust_run import REPOSITORY, RunOutcome, make_run

ORDERS = '''"""Orders from one site to the other."""

from brokerbench import ConsumerUser, ProducerUser
from brokerbench import Hold, Scenario, duplicates_at_most, no_acked_send_lost, run


class OrderProducer(ProducerUser):
    group, destination, sends_per_second, fixed_count = "producers", "queue://orders", 40, 3


class OrderConsumer(ConsumerUser):
    group, destination, fixed_count = "consumers", "queue://orders", 2


run(
    Scenario(
        users=(OrderProducer, OrderConsumer),
        default_topology="mesh",
        load=Hold(for_s=30),
        checks=(no_acked_send_lost(), duplicates_at_most(0)),
    )
)
'''
NETWORK = """\
name: two-sites
brokers: [east, west]
links:
  - {opened_by: east, to: west, duplex: true}
groups:
  - {name: producers, enter_at: [east]}
  - {name: consumers, enter_at: [west]}
"""
CHECKS = "messages.received >= 100; throughput.received_per_s < 10; latency_ms.due_to_received.p99_99 < 1000"
NAMES = {name: f"{name}.of-this-run" for name in OTHER_FILES} | {"junit": "checks.xml", "markdown": "summary.md"}
FILES = tuple(word for name, file in NAMES.items() for word in (f"--{name}", file))
STALE = "of an earlier run"


def elsewhere(folder: Path) -> Path:
    """Create a folder with a benchmark, and files of an earlier run."""
    (folder / "orders.py").write_text(ORDERS, encoding="utf-8")
    (folder / "network.yaml").write_text(NETWORK, encoding="utf-8")
    for name in NAMES.values():
        (folder / name).write_text(STALE, encoding="utf-8")
    assert not folder.resolve().is_relative_to(REPOSITORY)
    return folder


def benchmark(folder: Path, *arguments: str) -> RunOutcome:
    all_arguments = ("--topology", "network.yaml", *FILES, *arguments)
    return make_run(str(folder / "orders.py"), *all_arguments, runs=folder / "runs")


@pytest.mark.nightly  # reports/test_junit.py covers the content
@pytest.mark.spark
def test_a_benchmark_of_another_repository_fails_its_job_and_says_which_check(tmp_path: Path) -> None:
    folder = elsewhere(tmp_path)
    outcome = benchmark(folder, "--runtime", "memory", "-t", "3s", "--warm-up", "0", "--check", CHECKS)
    assert (outcome.status, outcome.summary["verdict"]) == (1, "fail"), outcome.output
    suite = ET.parse(folder / "checks.xml").getroot()[0]
    cases = suite.findall("testcase")
    became = {case.attrib["name"]: case[0].tag if len(case) else "passed" for case in cases}
    assert became == {
        **{check["name"]: "passed" for check in outcome.summary["checks"] if check["outcome"] == "pass"},
        "throughput.received_per_s < 10": "failure",
        "latency_ms.due_to_received.p99_99 < 1000": "skipped",  # this takes 100,000 messages
    }
    assert len(cases) == 5
    assert suite.attrib["name"] == outcome.info["run_id"]
    text = (folder / "summary.md").read_text(encoding="utf-8")
    assert text.startswith("## orders on network.yaml: failed\n")
    assert f"| Sent | {outcome.summary['messages']['sent']:,} messages |" in text
    assert text.endswith(f"\nReport: `{outcome.run / 'report.html'}`\n")


@pytest.mark.brokers
def test_a_run_that_cannot_be_made_leaves_no_file_of_an_earlier_one(tmp_path: Path) -> None:
    folder = elsewhere(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        outcome = benchmark(folder, "--runtime", "processes", "--base-port", port)
    assert outcome.status == 2, outcome.output
    assert [name for name in NAMES.values() if (folder / name).exists()] == []
