"""Checks whole runs on every available broker version, and on a custom build."""

import re
from pathlib import Path

import pytest

from tests.support.locust_run import RunOutcome, make_run, nothing_left
from topologies.catalogue.lookup import build
from topologies.jvm.distribution import ensure
from topologies.pinned import pinned

# In every test run, topologies/test_rendered_brokers.py starts and links brokers of each older version, and brokers
# with an overlay and without defaults. topologies_runtime/test_release.py covers custom builds, and
# drivers/jvm/test_vm.py clients of another version.
pytestmark = [pytest.mark.brokers, pytest.mark.spark, pytest.mark.nightly]

ENTRIES = ("source-and-sink", "artemis-single")
OF_EACH = [(entry, version) for entry in ENTRIES for version in build(entry).product.launch.versions]
LOGGED = re.compile(r"^\d{4}-\d\d-\d\dT\S+ INFO  \w", re.MULTILINE)


def steady_on(entry: str, *arguments: str, runs: Path) -> RunOutcome:
    all_arguments = ("--topology", entry, "-t", "5s", "--warm-up", "2", *arguments)
    outcome = make_run("scenarios/steady.py", *all_arguments, runs=runs)
    assert (outcome.status, outcome.summary["verdict"]) == (0, "pass"), outcome.output
    assert outcome.summary["messages"]["received"] == outcome.summary["messages"]["sent"] > 300
    assert nothing_left(runs)
    return outcome


@pytest.mark.parametrize(("entry", "version"), OF_EACH)
def test_steady_passes_on_each_version_that_can_be_chosen(entry: str, version: str, tmp_path: Path) -> None:
    outcome = steady_on(entry, "--broker-version", version, runs=tmp_path / "runs")
    product = build(entry).product.launch.name
    assert (outcome.info["versions"][product], outcome.info["options"]["broker_version"]) == (version, version)
    for log in (outcome.run / "brokers").glob("*/log/broker.log"):
        assert LOGGED.search(log.read_text(encoding="utf-8")), log.read_text(encoding="utf-8")


def test_steady_passes_on_a_build_of_ones_own_and_the_report_says_which(tmp_path: Path) -> None:
    home = ensure(pinned("activemq-classic", "5.16.6"))
    outcome = steady_on("source-and-sink", "--distribution", str(home), runs=tmp_path / "runs")
    versions = outcome.info["versions"]
    assert (versions["activemq"], versions["activemq-distribution"]) == ("5.16.6", str(home))
    page = (outcome.run / "report.html").read_text(encoding="utf-8")
    assert str(home) in page
    assert versions["activemq-build"] in page


OVERLAY = "brokers: {all: {policies: [{queue_prefetch: 77}], jvm: {heap_mb: 140, options: [-XX:+UseSerialGC]}}}\n"


def test_steady_passes_with_an_overlay_and_older_clients(
    tmp_path: Path,
) -> None:
    """Default settings are off too, and the report shows each of these."""
    file = tmp_path / "tuned.yaml"
    file.write_text(OVERLAY, encoding="utf-8")
    arguments = ("--protocol", "openwire", "--client-version", "5.16.6", "--overlay", str(file), "--unset-defaults")
    outcome = steady_on("source-and-sink", *arguments, runs=tmp_path / "runs")
    rendered, versions = outcome.info["rendered"], outcome.info["versions"]
    assert rendered["overlay/tuned.yaml"] == OVERLAY
    assert rendered["sink/jvm.options"] == "-Xms140m\n-Xmx140m\n-XX:+UseSerialGC\n"
    assert 'queuePrefetch="77"' in rendered["sink/activemq.xml"]
    assert "topicPrefetch" not in rendered["sink/activemq.xml"]
    assert (versions["openwire client"], versions["activemq"]) == ("5.16.6", "5.18.3")
    log = (outcome.run / "brokers" / "sink" / "log" / "broker.log").read_text(encoding="utf-8")
    assert "JVM args: -Xms140m -Xmx140m -XX:+UseSerialGC " in log
    page = (outcome.run / "report.html").read_text(encoding="utf-8")
    for text in (str(file), outcome.info["options"]["overlay_digest"], "queue_prefetch: 77", "5.16.6"):
        assert text in page
