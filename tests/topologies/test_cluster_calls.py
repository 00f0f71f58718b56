"""Checks which cluster members connect to each other over which link, and where they can share one proxy."""

from dataclasses import replace

import pytest

from topologies.artemis.broker import REPLICATION, ArtemisBroker, HaPolicy
from topologies.artemis.links import ClusterConnection, ClusterLink, cluster_links
from topologies.artemis.product import ARTEMIS
from topologies.catalogue.lookup import build
from topologies.model.impaired_links import with_impairments
from topologies.model.impairment import Impairment
from topologies.model.proxied_links import MemberConnection, cluster_connections, why_no_shared_proxies
from topologies.model.topology import Topology
from topologies.model.validity import TopologyInvalid


def pairs_in_a_cluster(kind: str = "shared-store") -> Topology:
    """Return two linked active brokers, the first with a standby."""
    ha = HaPolicy(kind)
    actives, spare = (
        (ArtemisBroker("one", ha=ha), ArtemisBroker("two")),
        ArtemisBroker("spare", ha=ha, standby_of="one"),
    )
    return Topology("t", (actives[0], spare, actives[1]), cluster_links(actives, ClusterConnection()), (), ARTEMIS)


def names_of(call: MemberConnection) -> tuple[str, str, str]:
    return call.caller.name, call.called.name, call.link_name


def calls_of(topology: Topology) -> list[tuple[str, str, str]]:
    return [names_of(call) for call in cluster_connections(topology.links, topology.brokers)]


def test_each_of_two_members_calls_the_other_over_their_link() -> None:
    link = "broker-1-to-broker-2"
    assert calls_of(build("cluster(brokers=2)")) == [("broker-1", "broker-2", link), ("broker-2", "broker-1", link)]


def test_every_member_calls_every_other_once() -> None:
    calls = calls_of(build("cluster(brokers=4)"))
    members = [f"broker-{n}" for n in range(1, 5)]
    assert sorted((a, b) for a, b, _ in calls) == sorted((a, b) for a in members for b in members if a != b)


def test_a_standby_uses_its_actives_link() -> None:
    """The connections between the active broker and its standby use no link."""
    assert set(calls_of(pairs_in_a_cluster())) == {
        ("one", "two", "one-to-two"), ("two", "one", "one-to-two"),
        ("spare", "two", "one-to-two"), ("two", "spare", "one-to-two"),
        ("one", "spare", ""), ("spare", "one", ""),
    }  # fmt: skip


def test_a_call_goes_back_where_the_links_opener_or_its_standby_is_called() -> None:
    topology = pairs_in_a_cluster()
    back = {names_of(call)[:2] for call in cluster_connections(topology.links, topology.brokers) if call.is_back}
    assert back == {("two", "one"), ("two", "spare")}


def test_links_that_are_no_clusters_are_called_by_their_openers_alone() -> None:
    assert calls_of(build("senders")) == []


def test_a_pair_that_is_in_no_cluster_calls_nobody_over_a_link() -> None:
    assert calls_of(build("live-backup")) == []


@pytest.mark.parametrize(
    ("entry", "link"),
    [
        ("cluster(brokers=2)", "*:delay=5ms"),
        ("cluster", "*:delay=5ms"),
        ("cluster", ""),
        ("mesh", "broker-1<->broker-2:delay=5ms"),
    ],
)
def test_one_proxy_before_each_member_does_where_all_links_that_lead_there_are_alike(entry: str, link: str) -> None:
    topology = with_impairments(build(entry), link)
    assert why_no_shared_proxies(topology.links, topology.brokers) == ""


def test_one_proxy_before_each_member_does_not_where_links_that_lead_there_differ() -> None:
    topology = with_impairments(build("cluster"), "*:delay=5ms;broker-1<->broker-3:delay=40ms,jitter=2ms")
    assert why_no_shared_proxies(topology.links, topology.brokers) == (
        "broker 'broker-1' announces one address to its cluster, so in containers all links to it share one proxy:"
        " 'broker-1-to-broker-2' needs delay=5ms and 'broker-1-to-broker-3' delay=40ms,jitter=2ms; make them equal, or"
        " use --runtime processes, where each caller has a separate proxy"
    )


def test_a_store_that_is_copied_would_go_through_a_shared_proxy_too() -> None:
    shared, copied = pairs_in_a_cluster(), pairs_in_a_cluster(REPLICATION)
    assert why_no_shared_proxies(shared.links, shared.brokers) == ""
    assert why_no_shared_proxies(copied.links, copied.brokers).startswith(
        "brokers 'one' and 'spare' replicate a store, which in containers would also go through the proxy"
    )


def test_two_clusters_links_between_two_brokers_cannot_go_through_proxies() -> None:
    topology = build("cluster(brokers=2)")
    (link,) = topology.links
    assert isinstance(link, ClusterLink)
    second_link = replace(link, name="other", cluster=ClusterConnection("other"))
    doubled = replace(topology, links=(link, second_link))
    with pytest.raises(TopologyInvalid, match="links 'broker-1-to-broker-2' and 'other' both join 'broker-1' and"):
        replace(doubled, links=tuple(replace(cluster_link, impairment=Impairment(1)) for cluster_link in doubled.links))
