"""Topologies outside the catalogue: random ones, and one with the settings that no catalogue entry uses."""

from dataclasses import fields
from typing import Any

from hypothesis import strategies as st

from topologies.classic.broker import Broker, KahaDb
from topologies.classic.network_connectors import MulticastDiscovery, NetworkConnector, StaticDiscovery
from topologies.classic.policies import BridgeFilter, DeadLetters, DestinationPolicy
from topologies.classic.product import CLASSIC
from topologies.classic.transport_connectors import OPENWIRE_TRANSPORTS, TransportConnector
from topologies.classic.users import ClassicUser
from topologies.model.broker import GIB, MIB
from topologies.model.client_groups import ClientGroup
from topologies.model.site import Site
from topologies.model.topology import Topology

names = st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,8}", fullmatch=True)
flags = st.booleans()
texts = st.text(st.characters(exclude_categories=("C", "Z"), exclude_characters="$"), min_size=1, max_size=8)
destinations = st.lists(
    st.builds("{}://{}".format, st.sampled_from(["queue", "topic"]), texts), max_size=3, unique=True
).map(tuple)

FLAGS = {field.name: field.default for field in fields(Broker) if isinstance(field.default, bool)}
"""The boolean fields of a Classic broker, with their defaults: new fields are tested automatically."""
NEEDED = ("advisory_support", "use_jmx", "trace_broker_path")
"""A broker starts without these, but a run needs them."""

policies = st.builds(
    DestinationPolicy,
    pattern=texts,
    kind=st.sampled_from(["queue", "topic"]),
    producer_flow_control=flags,
    memory_limit_bytes=st.integers(0, GIB),
    queue_prefetch=st.integers(0, 5000),
    enable_audit=flags,
    dead_letters=st.builds(DeadLetters, kind=st.sampled_from(["shared", "individual"]), queue=texts),
    bridge_filter=st.builds(BridgeFilter, replay_when_no_consumers=flags, rate_limit=st.integers(0, 1000)),
)
connectors = st.builds(
    lambda transport, stomp, filters: (
        TransportConnector("openwire", transport=transport, update_cluster_clients=True, update_cluster_filter=filters),
        *((TransportConnector("stomp", name="extra", transport="nio+ssl", max_inactivity_ms=0),) if stomp else ()),
    ),
    st.sampled_from(OPENWIRE_TRANSPORTS),
    flags,
    texts,
)
settings_of_a_broker: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {
        "region": st.just("") | names,
        "connectors": connectors,
        "policies": st.lists(policies, max_size=3).map(tuple),
        "persistence": st.none()
        | st.builds(
            KahaDb,
            journal_disk_sync_strategy=st.sampled_from(["always", "periodic", "never"]),
            journal_max_file_length_bytes=st.integers(4 * MIB, GIB),
        ),
        "memory_limit_bytes": st.integers(0, GIB),
        **{name: flags for name in FLAGS},
    }
)
settings_of_a_link: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {
        "duplex": flags,
        "message_ttl": st.sampled_from([-1, 1, 2, 5]),
        "consumer_ttl": st.sampled_from([-1, 1, 2, 5]),
        "conduit_subscriptions": flags,
        "decrease_network_consumer_priority": flags,
        "prefetch_size": st.integers(1, 5000),
        "destination_filter": st.just("") | texts,
        "excluded_destinations": destinations,
        "dynamically_included_destinations": destinations,
        "statically_included_destinations": destinations,
        "client_id_token": texts,
        "discovery": st.builds(StaticDiscovery, max_reconnect_attempts=st.integers(0, 9))
        | st.just(MulticastDiscovery()),
    }
)


@st.composite
def topologies(draw: st.DrawFn) -> Topology:
    """Draw one to five brokers. A pair is linked one way, both ways or not at all, and clients enter at all brokers."""
    brokers = tuple(
        Broker(name, **draw(settings_of_a_broker))
        for name in draw(st.lists(names, min_size=1, max_size=5, unique=True))
    )
    pairs = [(a, b) for a in brokers for b in brokers if a.name < b.name and draw(flags)]
    links = tuple(
        NetworkConnector(opened_by=a, to=b, name=f"link-{n}", **draw(settings_of_a_link))
        for n, (a, b) in enumerate(pairs)
    )
    return Topology("random", brokers, links, (ClientGroup("anybody", enter_at=brokers),), CLASSIC)


def site_of(topology: Topology, first_port: int = 40000) -> Site:
    """Assign consecutive ports, in the order of brokers and their connectors."""
    wanted = [(broker.name, protocol) for broker in topology.brokers for protocol in broker.protocols]
    return Site(ports={key: first_port + n for n, key in enumerate(wanted)})


def every_feature() -> Topology:
    """Return two brokers with the settings that no catalogue entry uses: brokers must start with these, too."""
    odd = TransportConnector(
        "openwire", transport="nio", update_cluster_clients=True, rebalance_cluster_clients=True,
        update_cluster_filter="b.*", audit_network_producers=True, enable_status_monitor=True,
    )  # fmt: skip
    stomp = TransportConnector("stomp", transport="nio", transport_options=(("transport.soTimeout", "0"),))
    policies_ = (
        DestinationPolicy(
            "orders.>", dead_letters=DeadLetters(kind="individual", queue="DLQ", process_non_persistent=True),
            bridge_filter=BridgeFilter(replay_when_no_consumers=True, replay_delay_ms=500, rate_limit=100),
        ),
        DestinationPolicy("prices.>", kind="topic", memory_limit_bytes=MIB, producer_flow_control=False),
    )  # fmt: skip
    store = KahaDb(journal_disk_sync_strategy="periodic", preallocation_scope="none", preallocation_strategy="zeros")
    left = Broker(
        "left", connectors=(odd, stomp), policies=policies_, persistence=store, memory_limit_bytes=64 * MIB,
        send_fail_if_no_space_after_timeout_ms=100, users=(ClassicUser("links"),),
        **{name: not default for name, default in FLAGS.items() if name not in NEEDED},
    )  # fmt: skip
    user = ClassicUser("links", write=("queue://>", "topic://prices.>"), admin=("queue://>",))
    right = Broker(
        "right", connectors=(odd, stomp), policies=policies_, persistence=None, trace_broker_path=False, users=(user,)
    )
    link = NetworkConnector(
        opened_by=left, to=right, name="there.and_back", duplex=True, message_ttl=-1, consumer_ttl=2, user_name="links",
        conduit_subscriptions=False, destination_filter="Queue.orders.>",
        excluded_destinations=("queue://private.>",),
        dynamically_included_destinations=("queue://orders.>", "topic://prices.>"),
        statically_included_destinations=("queue://always",),
        discovery=StaticDiscovery(initial_reconnect_delay_ms=100, use_exponential_back_off=False),
    )  # fmt: skip
    return Topology(
        "every-feature",
        (left, right),
        (link,),
        (ClientGroup("producers", (left,)), ClientGroup("consumers", (right,))),
        CLASSIC,
    )
