"""Checks whole runs with a link that is cut and mended: no client notices, and waiting messages arrive."""

import re

import pytest

from tests.support.locust_run import LocustRun, RunOutcome

pytestmark = [
    pytest.mark.brokers,
    pytest.mark.links,
    pytest.mark.spark,
    pytest.mark.nightly,  # topologies_runtime/test_far_links.py cuts a link between processes
]

PARTITION = "scenarios/partition.py"
TIMEOUT_S = 480
NS_PER_S = 1_000_000_000


@pytest.fixture(scope="module")
def partition(tmp_path_factory: pytest.TempPathFactory) -> RunOutcome:
    runs = tmp_path_factory.mktemp("partition") / "runs"
    size = ("-t", "20s", "--warm-up", "2", "--fault", "cut(source-to-sink, at=3, for=4)")
    return LocustRun(PARTITION, *size, runs=runs).outcome(TIMEOUT_S)


def test_what_a_cut_link_held_back_arrives_and_no_client_is_cut_off(partition: RunOutcome) -> None:
    assert (partition.summary["verdict"], partition.status) == ("pass", 0), partition.output
    assert partition.summary["messages"]["lost"] == 0
    assert partition.summary["recovery"]["cut_off"] == 0


def test_nothing_crossed_the_link_while_it_was_cut(partition: RunOutcome) -> None:
    (fault,) = partition.events("faults")
    assert (fault["kind"], fault["target"], fault["error"]) == ("cut", "source-to-sink", None)
    assert fault["ended_ns"] - fault["effective_ns"] >= 4 * NS_PER_S
    since_ns = fault["effective_ns"] + NS_PER_S  # messages that sink had by then may be read a little later
    during = [row for row in partition.events("receipts") if since_ns < row["received_ns"] < fault["ended_ns"]]
    before = [row for row in partition.events("receipts") if row["received_ns"] < fault["began_ns"]]
    assert before
    assert during == []


def test_the_terminal_and_the_report_say_that_the_link_was_cut_and_is_back(partition: RunOutcome) -> None:
    for step in (r"effective after \d+\.\d\d s", r"mended: is up at both ends again after \d+\.\d\d s"):
        assert re.search(rf"fault cut of source-to-sink, \d+\.\d s into the load: {step}", partition.output), step
    page = (partition.run / "report.html").read_text(encoding="utf-8")
    assert re.search(r'class="answer">source-to-sink was cut at 3(\.\d\d?)? s: no client was cut off\.', page)
