"""Checks the sentences about links that retry or give up, from planted logs of their openers."""

from pathlib import Path
from typing import Any

from tests.topologies.test_classic_link_log import CALLED, ESTABLISHING, GAVE_UP, LOG, URI
from topologies.catalogue.lookup import build
from topologies.catalogue.overlay import Overlay
from topologies.management.link_logs import attempt_sentences, give_up_lines, give_up_sentences
from topologies.model.topology import Topology

LOAD_BEGAN_NS = 1_795_913_160_000_000_000


class PlantedRuntime:
    """A runtime whose source has a planted log and a configuration with the given links."""

    def __init__(self, folder: Path, links: list[str], log: list[str] = LOG) -> None:
        self._log = folder / "broker.log"
        self._log.write_text("\n".join(log), encoding="utf-8")
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
    assert sentence.endswith(
        "it stays down until the broker restarts, or until --fault 'start-link(queues-1, at=S)' or"
        " 'start-link(queues-2, at=S)' or 'start-link(topics, at=S)' starts it"
    )


CONNECTED = next(line for line in LOG if line.endswith("has been established.")).replace("T00:45:59", "T00:46:40")
RESTARTED = LOG[0]


def test_a_connector_that_connected_again_does_not_stay_down(tmp_path: Path) -> None:
    topology = limited("source-and-sink")
    runtime = PlantedRuntime(tmp_path, ["source-to-sink"], [*LOG, CONNECTED])
    assert list(give_up_sentences(runtime, topology)) == [
        f"link source-to-sink gave up: source logged {GAVE_UP!r}; it connected again later"
    ]
    assert give_up_lines(runtime, topology, topology.links) == {}


def test_a_restart_of_the_opener_starts_its_connectors(tmp_path: Path) -> None:
    topology = limited("source-and-sink")
    runtime = PlantedRuntime(tmp_path, ["source-to-sink"], [*LOG, RESTARTED])
    assert list(give_up_sentences(runtime, topology)) == [
        f"link source-to-sink gave up: source logged {GAVE_UP!r}; source was started again later"
    ]
    assert give_up_lines(runtime, topology, topology.links) == {}


def test_a_connector_that_gave_up_once_more_stays_down(tmp_path: Path) -> None:
    topology = limited("source-and-sink")
    for later in (RESTARTED, CONNECTED, CONNECTED.replace(CALLED, "127.0.0.1:1")):
        runtime = PlantedRuntime(tmp_path, ["source-to-sink"], [*LOG, later, *LOG[-2:]])
        (sentence,) = give_up_sentences(runtime, topology)
        assert "; it stays down until the broker restarts" in sentence
        assert give_up_lines(runtime, topology, topology.links) == {"source-to-sink": GAVE_UP}


def test_another_address_that_connected_later_is_not_this_link(tmp_path: Path) -> None:
    runtime = PlantedRuntime(tmp_path, ["source-to-sink"], [*LOG, CONNECTED.replace(CALLED, "127.0.0.1:1")])
    (sentence,) = give_up_sentences(runtime, limited("source-and-sink"))
    assert "; it stays down until the broker restarts" in sentence


def test_which_of_several_connectors_connected_again_is_not_known(tmp_path: Path) -> None:
    topology = limited("parallel-connectors(queue_connectors=2)")
    runtime = PlantedRuntime(tmp_path, [link.name for link in topology.links], [*LOG, CONNECTED])
    (sentence,) = give_up_sentences(runtime, topology)
    assert sentence.endswith("; one of these links connected later")
    assert give_up_lines(runtime, topology, topology.links).keys() == {link.name for link in topology.links}


def test_only_failed_attempts_count_as_failed(tmp_path: Path) -> None:
    """The transport's reconnection is no failure, and an attempt without a result is not known to be one."""
    log = [
        f"2026-11-29T00:46:01.000Z INFO  {ESTABLISHING}",
        f"2026-11-29T00:46:02.000Z INFO  FailoverTransport [ActiveMQ Task-2] Successfully reconnected to {URI}",
        f"2026-11-29T00:46:04.000Z INFO  {ESTABLISHING}",
    ]
    runtime = PlantedRuntime(tmp_path, ["source-to-sink"], log)
    (sentence,) = attempt_sentences(runtime, limited("source-and-sink"), LOAD_BEGAN_NS)
    assert "tried to connect 3 times" in sentence
    assert "seconds from each failed attempt" not in sentence
