"""Checks the sentences about links that retry or give up, from planted logs of their openers."""

from pathlib import Path
from typing import Any

from tests.topologies.test_classic_link_log import GAVE_UP, LOG, URI
from topologies.catalogue.lookup import build
from topologies.catalogue.overlay import Overlay
from topologies.management.link_logs import attempt_sentences, give_up_sentences
from topologies.model.topology import Topology

LOAD_BEGAN_NS = 1_795_913_160_000_000_000


class PlantedRuntime:
    """A runtime whose source has a planted log and a configuration with the given links."""

    def __init__(self, folder: Path, links: list[str]) -> None:
        self._log = folder / "broker.log"
        self._log.write_text("\n".join(LOG), encoding="utf-8")
        connectors = "".join(f'<networkConnector name="{name}" uri="static:({URI})"/>' for name in links)
        self._xml = f'<broker xmlns="http://activemq.apache.org/schema/core">{connectors}</broker>'

    def rendered(self) -> dict[str, str]:
        return {"source/activemq.xml": self._xml}

    def log_path(self, broker: str) -> Path | None:
        return self._log if broker == "source" else None

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"{name} is not needed to read logs")


def limited(topology: str) -> Topology:
    text = "links: {all: {discovery: {max_reconnect_attempts: 4}}}"
    return Overlay(Path("limited.yaml"), text).apply(build(topology))


def test_attempts_are_reported_in_seconds_of_the_load(tmp_path: Path) -> None:
    runtime = PlantedRuntime(tmp_path, ["source-to-sink"])
    topology = limited("source-and-sink")
    expected = [
        "link source-to-sink: source tried to connect 3 times, at (in seconds of the load) -1.05: connected, 13.46:"
        " Connection refused, 14.46: no result; seconds from each failed attempt to the next: 1.01"
    ]
    assert list(attempt_sentences(runtime, topology, LOAD_BEGAN_NS)) == expected
    assert list(attempt_sentences(runtime, build("source-and-sink"), LOAD_BEGAN_NS, ["source-to-sink"])) == expected


def test_links_without_retries_of_their_own_are_not_mentioned(tmp_path: Path) -> None:
    runtime = PlantedRuntime(tmp_path, ["source-to-sink"])
    assert list(attempt_sentences(runtime, build("source-and-sink"), LOAD_BEGAN_NS)) == []


def test_a_connector_that_gave_up_is_named_with_the_next_step(tmp_path: Path) -> None:
    runtime = PlantedRuntime(tmp_path, ["source-to-sink"])
    assert list(give_up_sentences(runtime, limited("source-and-sink"))) == [
        f"link source-to-sink gave up: source logged {GAVE_UP!r}; it stays down until the broker restarts, or until"
        " --fault 'start-link(source-to-sink, at=S)' starts it"
    ]


def test_connectors_that_call_one_address_are_named_together(tmp_path: Path) -> None:
    topology = limited("parallel-connectors(queue_connectors=2)")
    runtime = PlantedRuntime(tmp_path, [link.name for link in topology.links])
    (sentence,) = give_up_sentences(runtime, topology)
    assert sentence.startswith(
        "link queues-1 or queues-2 or topics gave up (the log does not name which of these 3: they call one address):"
    )
    (attempts,) = attempt_sentences(runtime, topology, LOAD_BEGAN_NS)
    assert attempts.startswith("link queues-1, queues-2, topics: source tried to connect 3 times")
