"""Checks that a link's line lists its hop limits and the settings that are not at their defaults, and no others."""

import pytest

from brokerbench.showing import link_settings
from tests.topologies.artemis_samples import every_artemis_feature
from tests.topologies.samples import every_feature
from topologies.artemis.broker import ArtemisBroker
from topologies.artemis.links import AddressMatch, BrokerConnection, ClusterConnection, ClusterLink, Mirror
from topologies.classic.broker import Broker
from topologies.classic.network_connectors import MulticastDiscovery, NetworkConnector, StaticDiscovery
from topologies.model.impairment import Impairment
from topologies.model.link import Link

A, B = Broker("a"), Broker("b")
EAST, WEST, SPARE = (ArtemisBroker(name) for name in ("east", "west", "spare"))
TTLS = "message_ttl=1 consumer_ttl=1"


@pytest.mark.parametrize(
    ("link", "text"),
    [
        (NetworkConnector(A, B), TTLS),
        (NetworkConnector(A, B, message_ttl=-1, prefetch_size=5), "message_ttl=-1 consumer_ttl=1, prefetch_size=5"),
        (NetworkConnector(A, B, network_ttl=5), "message_ttl=5 consumer_ttl=5, network_ttl=5"),
        (
            NetworkConnector(A, B, excluded_destinations=("queue://a", "topic://b"), impairment=Impairment(delay_ms=4)),
            f"{TTLS}, excluded_destinations=queue://a topic://b, delay=4ms",
        ),
        (NetworkConnector(A, B, discovery=MulticastDiscovery()), f"{TTLS}, discovery=multicast"),
        (
            NetworkConnector(A, B, discovery=StaticDiscovery(back_off_multiplier=3)),
            f"{TTLS}, discovery=static(back_off_multiplier=3)",
        ),
        (ClusterLink(EAST, WEST), "max_hops=1"),
        (
            ClusterLink(EAST, WEST, cluster=ClusterConnection(max_hops=2, message_load_balancing="STRICT")),
            "max_hops=2, cluster(message_load_balancing=STRICT)",
        ),
        (
            BrokerConnection(EAST, WEST, senders=(AddressMatch("eu.#"), AddressMatch(queue_name="us"))),
            "senders=eu.# queue us",
        ),
        (
            BrokerConnection(EAST, WEST, mirror=Mirror(sync=True), alternates=(SPARE,), auto_start=False),
            "mirror(sync=True), alternates=spare, auto_start=False",
        ),
        (BrokerConnection(EAST, WEST, mirror=Mirror()), "mirror"),
    ],
)
def test_what_is_set_is_told_and_nothing_else(link: Link, text: str) -> None:
    assert link_settings(link) == text


@pytest.mark.parametrize("link", [*every_feature().links, *every_artemis_feature().links], ids=lambda link: link.name)
def test_whatever_a_link_can_be_set_to_is_told_in_words_of_a_file(link: Link) -> None:
    text = link_settings(link)
    assert "(" in text or "=" in text
    assert not {"'", "[", "{"} & {*text}, "no value is shown as Python has it"
