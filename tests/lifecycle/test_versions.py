"""Checks whole runs on every version of the brokers that can be chosen, and on a build of one's own."""

import re
from pathlib import Path

import pytest

from tests.support.locust_run import Outcome, make_run, nothing_left
from topologies.catalogue.lookup import build
from topologies.runtimes.distribution import ensure, pinned, pinned_versions

# In every run: topologies/test_rendered_brokers.py starts and links brokers of each older version, and brokers with an
# overlay and without defaults. topologies_runtime/test_release.py has builds of one's own, drivers/jvm/test_vm.py has
# clients of another version.
pytestmark = [pytest.mark.brokers, pytest.mark.spark, pytest.mark.nightly]

ENTRIES = ("source-and-sink", "artemis-single")
OF_EACH = [
    (entry, version) for entry in ENTRIES for version in pinned_versions(build(entry).product.launch.distribution)
]
LOGGED = re.compile(r"^\d{4}-\d\d-\d\dT\S+ INFO  \w", re.MULTILINE)


def steady_on(entry: str, *arguments: str, runs: Path) -> Outcome:
    asked = ("--topology", entry, "-t", "5s", "--warm-up", "2", *arguments)
    done = make_run("scenarios/steady.py", *asked, runs=runs)
    assert (done.status, done.summary["verdict"]) == (0, "pass"), done.output
    assert done.summary["messages"]["received"] == done.summary["messages"]["sent"] > 300
    assert nothing_left(runs)
    return done


@pytest.mark.parametrize(("entry", "version"), OF_EACH)
def test_steady_passes_on_each_version_that_can_be_chosen(entry: str, version: str, tmp_path: Path) -> None:
    done = steady_on(entry, "--broker-version", version, runs=tmp_path / "runs")
    product = build(entry).product.launch.name
    assert (done.info["versions"][product], done.info["options"]["broker_version"]) == (version, version)
    for log in (done.run / "brokers").glob("*/log/broker.log"):
        assert LOGGED.search(log.read_text(encoding="utf-8")), log.read_text(encoding="utf-8")


def test_steady_passes_on_a_build_of_ones_own_and_the_report_says_which(tmp_path: Path) -> None:
    home = ensure(pinned("activemq-classic", "5.16.6"))
    done = steady_on("source-and-sink", "--distribution", str(home), runs=tmp_path / "runs")
    versions = done.info["versions"]
    assert (versions["activemq"], versions["activemq-distribution"]) == ("5.16.6", str(home))
    page = (done.run / "report.html").read_text(encoding="utf-8")
    assert str(home) in page
    assert versions["activemq-build"] in page


OVERLAY = "brokers: {all: {policies: [{queue_prefetch: 77}], jvm: {heap_mb: 140, options: [-XX:+UseSerialGC]}}}\n"


def test_steady_passes_with_an_overlay_without_defaults_and_with_older_clients_and_the_report_says_so(
    tmp_path: Path,
) -> None:
    file = tmp_path / "tuned.yaml"
    file.write_text(OVERLAY, encoding="utf-8")
    asked = ("--protocol", "openwire", "--client-version", "5.16.6", "--overlay", str(file), "--unset-defaults")
    done = steady_on("source-and-sink", *asked, runs=tmp_path / "runs")
    rendered, versions = done.info["rendered"], done.info["versions"]
    assert rendered["overlay/tuned.yaml"] == OVERLAY
    assert rendered["sink/jvm.options"] == "-Xms140m\n-Xmx140m\n-XX:+UseSerialGC\n"
    assert 'queuePrefetch="77"' in rendered["sink/activemq.xml"]
    assert "topicPrefetch" not in rendered["sink/activemq.xml"]
    assert (versions["openwire client"], versions["activemq"]) == ("5.16.6", "5.18.3")
    log = (done.run / "brokers" / "sink" / "log" / "broker.log").read_text(encoding="utf-8")
    assert "JVM args: -Xms140m -Xmx140m -XX:+UseSerialGC " in log
    page = (done.run / "report.html").read_text(encoding="utf-8")
    for told in (str(file), done.info["options"]["overlay_digest"], "queue_prefetch: 77", "5.16.6"):
        assert told in page
