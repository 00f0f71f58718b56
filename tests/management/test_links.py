"""Checks when a link counts as proven, and the error for links that are not."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from topologies.catalogue.lookup import build
from topologies.classic.broker import Broker
from topologies.classic.link_proof import missing as missing_of
from topologies.classic.management import LinkEnd, NetworkSubscription
from topologies.classic.network_connectors import NetworkConnector
from topologies.classic.product import CLASSIC
from topologies.management import links
from topologies.management.link_logs import give_up_lines
from topologies.management.links import LinksNotProven, doubtful, prove_links, relevant
from topologies.model.endpoints import ManagementEndpoint
from topologies.model.management import Bridge
from topologies.model.topology import Topology

A, B = Broker("a"), Broker("b")
ONE_WAY = NetworkConnector(opened_by=A, to=B, name="ab")
DUPLEX = replace(ONE_WAY, duplex=True)
DEMAND = "ActiveMQ.Advisory.Consumer.>_ActiveMQ.Advisory.TempQueue"
OPENED = Bridge("ab", "b", False, {})
RESPONDER = Bridge("#0", "a", True, {})


def subscribed(client_id: str) -> tuple[NetworkSubscription, ...]:
    return (NetworkSubscription(client_id, DEMAND),)


# The two ends of a working link, as 5.18.3 shows them.
ONE_WAY_ENDS = {
    "a": LinkEnd("a", (OPENED,)),
    "b": LinkEnd("b", (), frozenset({"ab_a_outbound"}), subscribed("ab_a_outbound")),
}
DUPLEX_ENDS = {
    "a": LinkEnd("a", (OPENED,), frozenset(), subscribed("ab_b_inbound_a")),
    "b": LinkEnd("b", (RESPONDER,), frozenset({"ab_a_outbound"}), subscribed("ab_a_inbound_b")),
}


def missing(link: NetworkConnector, ends: dict[str, LinkEnd]) -> tuple[str, ...]:
    (doubt,) = doubtful([link], ends, missing_of)
    return doubt.missing


@pytest.mark.parametrize(("link", "ends"), [(ONE_WAY, ONE_WAY_ENDS), (DUPLEX, DUPLEX_ENDS)])
def test_a_link_with_bridges_and_demand_at_its_ends_is_proven(link: NetworkConnector, ends: dict[str, LinkEnd]) -> None:
    assert doubtful([link], ends, missing_of) == []


@pytest.mark.parametrize(("link", "ends"), [(ONE_WAY, ONE_WAY_ENDS), (DUPLEX, DUPLEX_ENDS)])
def test_bridges_alone_prove_nothing(link: NetworkConnector, ends: dict[str, LinkEnd]) -> None:
    bare = {name: replace(end, subscriptions=()) for name, end in ends.items()}
    assert "b has no subscription that informs a of its consumers" in missing(link, bare)


def test_a_duplex_link_is_proven_both_ways() -> None:
    ends = DUPLEX_ENDS | {"a": replace(DUPLEX_ENDS["a"], subscriptions=())}
    assert missing(DUPLEX, ends) == ("a has no subscription that informs b of its consumers",)


def test_a_bridge_to_nobody_is_none() -> None:
    ends = ONE_WAY_ENDS | {"a": LinkEnd("a", (replace(OPENED, remote_broker="c"),))}
    assert missing(ONE_WAY, ends) == ("a shows no bridge to b (it shows one to c)",)


def test_the_bridge_of_another_link_does_not_count() -> None:
    ends = ONE_WAY_ENDS | {"a": LinkEnd("a", (replace(OPENED, connector="other"),))}
    assert missing(ONE_WAY, ends) == ("a shows no bridge to b",)


def test_the_demand_of_another_link_does_not_count() -> None:
    end_of_another = replace(ONE_WAY_ENDS["b"], subscriptions=subscribed("other_a_outbound"))
    assert missing(ONE_WAY, ONE_WAY_ENDS | {"b": end_of_another}) == (
        "b has no subscription that informs a of its consumers",
    )


def test_a_subscription_to_messages_is_no_demand() -> None:
    queue = replace(ONE_WAY_ENDS["b"], subscriptions=(NetworkSubscription("ab_a_outbound", "orders"),))
    assert len(missing(ONE_WAY, ONE_WAY_ENDS | {"b": queue})) == 1


def test_without_the_far_end_a_link_is_not_proven() -> None:
    without_login = replace(ONE_WAY_ENDS["b"], client_ids=frozenset())
    assert missing(ONE_WAY, ONE_WAY_ENDS | {"b": without_login}) == ("b shows no login of a",)
    without_bridge = replace(DUPLEX_ENDS["b"], bridges=())
    assert missing(DUPLEX, DUPLEX_ENDS | {"b": without_bridge}) == ("b shows no duplex bridge from a",)


@pytest.mark.parametrize(("link", "ends"), [(ONE_WAY, ONE_WAY_ENDS), (DUPLEX, DUPLEX_ENDS)])
def test_a_link_to_the_standby_that_took_over_is_proven_by_what_the_standby_shows(
    link: NetworkConnector, ends: dict[str, LinkEnd]
) -> None:
    """The standby logs in, subscribes and answers under its own name."""
    standby = replace(ends["b"], broker="b-standby")
    assert missing(link, ends | {"b": standby})[0] == "a shows no bridge to b-standby (it shows one to b)"
    opener = LinkEnd(
        "a", (replace(OPENED, remote_broker="b-standby"),), frozenset(), subscribed("ab_b-standby_inbound_a")
    )
    moved = replace(standby, subscriptions=subscribed("ab_a_inbound_b-standby" if link.duplex else "ab_a_outbound"))
    assert doubtful([link], {"a": opener, "b": moved}, missing_of) == []


def test_a_link_that_the_standby_opens_has_its_login() -> None:
    opened = LinkEnd("a-standby", (OPENED,))
    assert missing(ONE_WAY, ONE_WAY_ENDS | {"a": opened})[0] == "b shows no login of a-standby"
    login = "ab_a-standby_outbound"
    far = LinkEnd("b", (), frozenset({login}), subscribed(login))
    assert doubtful([ONE_WAY], {"a": opened, "b": far}, missing_of) == []


def test_a_static_bridge_needs_no_demand() -> None:
    ends = ONE_WAY_ENDS | {"b": replace(ONE_WAY_ENDS["b"], subscriptions=())}
    assert doubtful([replace(ONE_WAY, static_bridge=True)], ends, missing_of) == []


def test_another_token_between_the_parts_of_client_ids_is_followed() -> None:
    link = replace(ONE_WAY, client_id_token="-x-")
    ends = ONE_WAY_ENDS | {"b": LinkEnd("b", (), frozenset({"ab-x-a-x-outbound"}), subscribed("ab-x-a-x-outbound"))}
    assert doubtful([link], ends, missing_of) == []


def test_a_silent_broker_is_what_is_told_of_its_links() -> None:
    assert missing(DUPLEX, DUPLEX_ENDS | {"b": LinkEnd("b", failure="broker 'b': no answer")}) == (
        "broker 'b': no answer",
    )


class UnreachableRuntime:
    """A runtime whose brokers cannot be reached and have written one log line each."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def management(self, broker: str) -> ManagementEndpoint:
        return ManagementEndpoint(broker, "http://127.0.0.1:1/jolokia/", "agent", "s3cret")

    def rendered(self) -> dict[str, str]:
        return {}

    def log_path(self, broker: str) -> Path:
        path = self._folder / broker
        path.write_text(f"12:00 WARN clientId=ab_{broker} due to User name [u] or password is invalid.\n")
        return path


def test_the_error_names_each_link_what_its_ends_show_and_what_they_log(tmp_path: Path) -> None:
    with pytest.raises(LinksNotProven) as failed:
        prove_links(UnreachableRuntime(tmp_path), Topology("t", (A, B), (ONE_WAY,), (), CLASSIC), timeout_s=0)
    reached = "http://127.0.0.1:1/jolokia/ cannot be reached (Connection refused)"
    lines = str(failed.value).splitlines()
    assert lines[0] == "1 of the links did not come up within 0 s; see the brokers' logs, or allow more time"
    assert lines[1].startswith("link 'ab' from a to b: broker 'a', MBean org.apache.activemq:type=Broker,brokerName=a,")
    assert lines[1].count(reached) == 2
    assert lines[2:] == [
        "    a logs: 12:00 WARN clientId=ab_a due to User name [u] or password is invalid.",
        "    b logs: 12:00 WARN clientId=ab_b due to User name [u] or password is invalid.",
    ]


class GaveUpRuntime(UnreachableRuntime):
    """A runtime whose brokers have logged the end of their attempts as Artemis does."""

    def log_path(self, broker: str) -> Path:
        path = super().log_path(broker)
        path.write_text(
            "2026-11-28T17:09:10.690Z WARN  logger [Thread-3 (activemq-source)] AMQ111001: \n*****\n"
            "Could not re-establish AMQP Server Connection source-to-sink on 127.0.0.1:16006 after 2 retries\n*****\n"
        )
        return path


class ConnectedAgainRuntime(GaveUpRuntime):
    def log_path(self, broker: str) -> Path:
        path = super().log_path(broker)
        again = (
            "AMQ111003: \n*****\nConnected on Server AMQP Connection source-to-sink on 127.0.0.1:16006 after 0 retries"
        )
        path.write_text(
            f"{path.read_text()}2026-11-28T17:10:10.690Z INFO  logger [Thread-3 (activemq-source)] {again}\n"
        )
        return path


def test_a_link_that_gave_up_is_named_with_its_attempts(tmp_path: Path) -> None:
    topology = build("senders(reconnect_attempts=2)")
    logged = "Could not re-establish AMQP Server Connection source-to-sink on 127.0.0.1:16006 after 2 retries"
    assert give_up_lines(GaveUpRuntime(tmp_path), topology, topology.links) == {"source-to-sink": logged}
    assert give_up_lines(ConnectedAgainRuntime(tmp_path), topology, topology.links) == {}
    assert give_up_lines(UnreachableRuntime(tmp_path), topology, topology.links) == {}
    with pytest.raises(LinksNotProven) as failed:
        prove_links(GaveUpRuntime(tmp_path), topology, timeout_s=0)
    assert f"    source gave up: {logged}. Raise reconnect_attempts or retry_interval_ms, or write" in str(failed.value)


class ExternalRuntimeDouble(UnreachableRuntime):
    """A runtime whose brokers' logs are on other machines."""

    def log_path(self, broker: str) -> None:  # type: ignore[override]
        return None


def test_without_logs_the_error_says_what_to_check_once_for_all_links(tmp_path: Path) -> None:
    links = (ONE_WAY, replace(ONE_WAY, opened_by=B, to=A, name="ba"))
    with pytest.raises(LinksNotProven) as failed:
        prove_links(ExternalRuntimeDouble(tmp_path), Topology("t", (A, B), links, (), CLASSIC), timeout_s=0)
    lines = str(failed.value).splitlines()
    assert [line.partition(":")[0] for line in lines[1:3]] == ["link 'ab' from a to b", "link 'ba' from b to a"]
    assert lines[3:] == [
        "the logs of a, b cannot be read from here: check the user and password of each link and, for"
        " TLS, the certificates that its opener trusts"
    ]


def test_log_lines_that_name_the_link_come_before_others() -> None:
    named = "10:00 WARN Failed to add Connection clientId=ab_a_outbound due to User name [u] or password is invalid."
    log = [named, named, "10:01 WARN Could not start network bridge to c", "10:02 INFO a bridge to c started"]
    assert relevant(log, ONE_WAY) == [named]
    assert relevant(log[2:], ONE_WAY) == ["10:01 WARN Could not start network bridge to c"]


def test_a_topology_without_links_is_proven_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[str] = []
    monkeypatch.setattr(links, "time", SimpleNamespace(monotonic=lambda: 5.0))  # without a sleep function
    assert (
        prove_links(
            UnreachableRuntime(tmp_path), Topology("t", (A,), (), (), CLASSIC), timeout_s=0, progress=lines.append
        )
        == 0
    )
    assert lines == ["links proven after 0.0 s: 0"]
