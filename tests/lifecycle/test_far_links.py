"""Checks that a run over links with a delay measures that delay on its messages and its links."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import psutil
import pytest

from records.figures.buckets import upper_ns
from tests.support.locust_run import make_run, nothing_left

pytestmark = [pytest.mark.spark, pytest.mark.nightly]

DELAY_MS, NS_PER_MS = 40, 1_000_000
TOPOLOGY = "two-regions(brokers_each=2)"  # all messages go from one to the other


@pytest.mark.parametrize(
    "runtime",
    [pytest.param("processes", marks=pytest.mark.brokers), pytest.param("containers", marks=pytest.mark.containers)],
)
def test_two_regions_are_as_far_apart_as_they_were_made(runtime: str, tmp_path: Path) -> None:
    link = f"east<->west:delay={DELAY_MS}ms"
    arguments = ("--headless", "--runtime", runtime, "--topology", TOPOLOGY, "--link", link, "-t", "10s")
    outcome = make_run("scenarios/steady.py", *arguments, runs=tmp_path / "runs")
    assert (outcome.status, outcome.summary["verdict"]) == (0, "pass"), outcome.output
    rows = [row for row in outcome.results("latency") if row["measure"] == "sent_to_received" and row["count"]]
    least = min(row["bucket"] for row in rows)  # rows without a count are latencies minus the generator's own time
    assert upper_ns(least) >= DELAY_MS * NS_PER_MS
    assert measured_links(outcome.results("resources")) == {
        "east-1-to-east-2": False,
        "west-1-to-west-2": False,
        "west-2-to-east-2": True,
    }
    assert "Links through proxies" in (outcome.run / "report.html").read_text(encoding="utf-8")
    assert nothing_left(tmp_path / "runs")
    assert not any(str(tmp_path) in (process.info["cwd"] or "") for process in psutil.process_iter(["cwd"]))


@pytest.mark.brokers
@pytest.mark.links
@pytest.mark.parametrize("transport", ["ssl", "http"])
def test_links_whose_round_trip_cannot_be_asked_carry_a_load(tmp_path: Path, transport: str) -> None:
    """management/test_link_traffic.py covers the report about them."""
    link = ("--topology", f"source-and-sink(transport='{transport}')", "--link", "*:delay=5ms")
    outcome = make_run(
        "scenarios/steady.py", *link, "-t", "2s", "--warm-up", "0", "--analyse-later", runs=tmp_path / "runs"
    )
    assert outcome.status == 0, outcome.output
    assert "Traceback" not in outcome.output
    assert outcome.info["state"] == "ended"


def measured_links(resources: Iterable[Mapping[str, Any]]) -> dict[str, bool]:
    """Return by link whether a round trip takes twice the delay, for links with traffic both ways."""
    link_rows = [row for row in resources if row["kind"] == "link"]
    carried = {(row["object"], row["metric"]) for row in link_rows if row["value"]}
    return {
        row["object"]: row["value"] >= 2 * DELAY_MS * NS_PER_MS
        for row in link_rows
        if row["metric"] == "round_trip_least_ns"
        and {(row["object"], f"whole_run_{direction}_bytes") for direction in ("forth", "back")} <= carried
    }
