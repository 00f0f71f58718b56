"""Checks the sentences about links that retry or give up, from planted logs of their openers."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.topologies.test_classic_link_log import CALLED, ESTABLISHING, GAVE_UP, LOG, URI
from topologies.catalogue.lookup import build
from topologies.catalogue.overlay import Overlay
from topologies.management.contract import current_files
from topologies.management.link_logs import attempt_sentences, give_up_lines, give_up_sentences, stay_down
from topologies.model.topology import Topology

LOAD_BEGAN_NS = 1_795_913_160_000_000_000


def xml(uris: Mapping[str, str]) -> str:
    connectors = "".join(f'<networkConnector name="{name}" uri="static:({uri})"/>' for name, uri in uris.items())
    return f'<broker xmlns="http://activemq.apache.org/schema/core">{connectors}</broker>'


class PlantedRuntime:
    """A runtime with one broker, which has a planted log and a configuration with the given links."""

    def __init__(
        self,
        folder: Path,
        links: Mapping[str, str] | list[str],
        log: list[str] = LOG,
        restarted: Mapping[str, str] | None = None,
        opener: str = "source",
    ) -> None:
        """``links``: URIs by name, or names of links to `URI`. ``restarted``: the same since a restart."""
        self._opener, self._log = opener, folder / "broker.log"
        self._log.write_text("\n".join(log), encoding="utf-8")
        uris = links if isinstance(links, Mapping) else dict.fromkeys(links, URI)
        self._rendered = {f"{opener}/activemq.xml": xml(uris)}
        if restarted:
            self._rendered[f"{opener}/activemq.xml (restarted)"] = xml(restarted)

    def rendered(self) -> dict[str, str]:
        return self._rendered

    def log_path(self, broker: str) -> Path | None:
        return self._log if broker == self._opener else None

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
    assert list(attempt_sentences(runtime, [topology], LOAD_BEGAN_NS)) == expected
    assert list(attempt_sentences(runtime, [build("source-and-sink")], LOAD_BEGAN_NS)) == expected


def test_links_without_retries_of_their_own_are_not_mentioned(tmp_path: Path) -> None:
    runtime = PlantedRuntime(tmp_path, ["source-to-sink"], LOG[:-1])
    assert list(attempt_sentences(runtime, [build("source-and-sink")], LOAD_BEGAN_NS)) == []


def test_a_connector_that_gave_up_is_named_with_the_next_step(tmp_path: Path) -> None:
    runtime = PlantedRuntime(tmp_path, ["source-to-sink"])
    assert list(give_up_sentences(runtime, [limited("source-and-sink")])) == [
        f"link source-to-sink gave up: source logged {GAVE_UP!r}; it stays down until the broker restarts, or until"
        " --fault 'start-link(source-to-sink, at=S)' starts it"
    ]


def test_connectors_that_call_one_address_are_named_together(tmp_path: Path) -> None:
    topology = limited("parallel-connectors(queue_connectors=2)")
    runtime = PlantedRuntime(tmp_path, [link.name for link in topology.links])
    (sentence,) = give_up_sentences(runtime, [topology])
    assert sentence.startswith("link queues-1 or queues-2 or topics gave up (the log does not tell these 3 apart):")
    (attempts,) = attempt_sentences(runtime, [topology], LOAD_BEGAN_NS)
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
    assert list(give_up_sentences(runtime, [topology])) == [
        f"link source-to-sink gave up: source logged {GAVE_UP!r}; it connected again later"
    ]
    assert give_up_lines(runtime, topology, topology.links) == {}


def test_a_restart_of_the_opener_starts_its_connectors(tmp_path: Path) -> None:
    topology = limited("source-and-sink")
    runtime = PlantedRuntime(tmp_path, ["source-to-sink"], [*LOG, RESTARTED])
    assert list(give_up_sentences(runtime, [topology])) == [
        f"link source-to-sink gave up: source logged {GAVE_UP!r}; source was started again later"
    ]
    assert give_up_lines(runtime, topology, topology.links) == {}


def test_a_connector_that_gave_up_once_more_stays_down(tmp_path: Path) -> None:
    topology = limited("source-and-sink")
    for later in (RESTARTED, CONNECTED, CONNECTED.replace(CALLED, "127.0.0.1:1")):
        runtime = PlantedRuntime(tmp_path, ["source-to-sink"], [*LOG, later, *LOG[-2:]])
        (sentence,) = give_up_sentences(runtime, [topology])
        assert "; it stays down until the broker restarts" in sentence
        assert give_up_lines(runtime, topology, topology.links) == {"source-to-sink": GAVE_UP}


def test_another_address_that_connected_later_is_not_this_link(tmp_path: Path) -> None:
    runtime = PlantedRuntime(tmp_path, ["source-to-sink"], [*LOG, CONNECTED.replace(CALLED, "127.0.0.1:1")])
    (sentence,) = give_up_sentences(runtime, [limited("source-and-sink")])
    assert "; it stays down until the broker restarts" in sentence


def test_which_of_several_connectors_connected_again_is_not_known(tmp_path: Path) -> None:
    topology = limited("parallel-connectors(queue_connectors=2)")
    runtime = PlantedRuntime(tmp_path, [link.name for link in topology.links], [*LOG, CONNECTED])
    (sentence,) = give_up_sentences(runtime, [topology])
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
    (sentence,) = attempt_sentences(runtime, [limited("source-and-sink")], LOAD_BEGAN_NS)
    assert "tried to connect 3 times" in sentence
    assert "seconds from each failed attempt" not in sentence


OTHER_URI = URI.replace(CALLED, "127.0.0.1:1")


def renamed(topology: Topology, **names: str) -> Topology:
    """Return the topology after a restart with an overlay that renames links, as a rolling restart applies it."""
    text = f"links: {{{', '.join(f'{old}: {{name: {new}}}' for old, new in names.items())}}}"
    return Overlay(Path("renamed.yaml"), text.replace("_", "-")).apply(topology, renames_links=True)


def test_a_link_that_a_restart_renamed_keeps_its_attempts_and_its_end(tmp_path: Path) -> None:
    """The current configuration has only the new name. No fault can start a renamed link."""
    at_start = limited("source-and-sink")
    now = renamed(at_start, source_to_sink="renamed")
    runtime = PlantedRuntime(tmp_path, {"source-to-sink": URI}, [*LOG, *LOG], {"renamed": URI})
    assert list(give_up_sentences(runtime, [at_start, now])) == [
        f"link source-to-sink gave up: source logged {GAVE_UP!r}; it stays down until the broker restarts"
    ]
    (attempts,) = attempt_sentences(runtime, [at_start, now], LOAD_BEGAN_NS)
    assert attempts.startswith("link source-to-sink: source tried to connect 6 times")
    assert stay_down(runtime, now, now.links) == {"renamed"}


def test_links_that_a_restart_gave_each_others_names_are_not_confused(tmp_path: Path) -> None:
    """Each link still calls its own broker."""
    at_start = limited("concentrator(edges=1)")
    first, second = (link.name for link in at_start.links)
    uris = {first: URI, second: OTHER_URI}
    now = replace(
        at_start,
        links=tuple(replace(link, name=name) for link, name in zip(at_start.links, (second, first), strict=True)),
    )
    runtime = PlantedRuntime(tmp_path, uris, LOG, {second: URI, first: OTHER_URI}, opener="edge-1")
    (sentence,) = give_up_sentences(runtime, [at_start, now])
    assert sentence.startswith(f"link {first} gave up: edge-1 logged")
    assert stay_down(runtime, now, now.links) == {second}


def test_a_log_that_names_links_has_a_renamed_link_under_each_of_its_names(tmp_path: Path) -> None:
    log = [f"Could not re-establish AMQP Server Connection {name} on a:1 after 2 retries" for name in ("old", "new")]
    at_start = build("senders")
    at_start, now = (replace(at_start, links=(replace(at_start.links[0], name=name),)) for name in ("old", "new"))
    for lines in (log[:1], log[1:], log):
        (sentence,) = give_up_sentences(PlantedRuntime(tmp_path, {}, lines), [at_start, now])
        assert sentence == f"link old gave up: source logged {lines[-1]!r}; it stays down until the broker restarts"


def test_the_configuration_after_the_last_restart_is_the_current_one() -> None:
    assert current_files({"a/x": "1", "a/x (restarted)": "2", "a/y": "3", "a/z (restarted)": "4"}) == {
        "a/x": "2",
        "a/y": "3",
        "a/z": "4",
    }
