"""The `BrokerProduct` for ActiveMQ Artemis and its routers."""

from collections.abc import Sequence
from itertools import chain, count

from topologies.artemis import link_proof, management, router
from topologies.artemis.broker import ArtemisBroker
from topologies.artemis.deliveries import routes
from topologies.artemis.launch import DATA, LAUNCH, start_script
from topologies.artemis.links import BrokerConnection, ClusterConnection, ClusterLink, unsupported_settings
from topologies.artemis.manual_words import ARTEMIS_WORDS
from topologies.artemis.queries import artemis_queries
from topologies.artemis.queue_users import ARTEMIS_QUEUE_USERS
from topologies.artemis.reachability import carries_all, reaches
from topologies.artemis.render import broker_xml
from topologies.artemis.validation import artemis_problems, artemis_warnings
from topologies.management.jolokia import PATH, Jolokia
from topologies.model.broker import AnyBroker
from topologies.model.launch import ProductCompose
from topologies.model.link import Link
from topologies.model.management import LinkLog
from topologies.model.site import Site
from topologies.model.topology import BrokerProduct, ProductManagement, Topology


def _join(opened_by: AnyBroker, to: AnyBroker, links: Sequence[Link]) -> Link:
    """Return a link in a separate cluster, because all links of one cluster must have the same settings."""
    taken = {link.cluster_name for link in links}
    name = next(
        candidate for candidate in chain(["cluster"], map("cluster-{}".format, count(2))) if candidate not in taken
    )
    return ClusterLink(opened_by, to, cluster=ClusterConnection(name=name))


def _render(topology: Topology, broker: AnyBroker, site: Site) -> dict[str, str]:
    if isinstance(broker, router.Router):
        return router.render(broker, site)
    assert isinstance(broker, ArtemisBroker)  # a Topology has no other
    return broker_xml.render(topology, broker, site)


def _why_no_container(topology: Topology, broker: AnyBroker) -> str:
    if isinstance(broker, router.Router):
        return f"router {broker.name!r} has no container image, only brokers have one; use --runtime processes"
    return ""


ARTEMIS = BrokerProduct(
    name="artemis",
    brokers={"broker": ArtemisBroker, "router": router.Router},
    links={BrokerConnection.kind: BrokerConnection, ClusterLink.kind: ClusterLink},
    manual_words=ARTEMIS_WORDS,
    join=_join,
    problems=artemis_problems,
    warnings=artemis_warnings,
    reaches=reaches,
    carries_all=carries_all,
    routes=routes,
    temporary_queues_by=("amqp", "openwire", "core"),
    unanswered=frozenset({("core", "openwire")}),
    render=_render,
    lacks=unsupported_settings,
    why_no_container=_why_no_container,
    launch=LAUNCH,
    compose=ProductCompose(
        variable="ARTEMIS_IMAGE",
        called="ActiveMQ Artemis 2.44",
        data=DATA,
        standby_writes=True,  # a lock file, with the permissions of its image's user
        start_script=start_script,
    ),
    management=ProductManagement(
        connect=Jolokia,
        path=PATH,
        queries=artemis_queries,
        link_end=link_proof.end_of,
        missing=link_proof.missing,
        start_link=management.start_connection,
        stop_link=management.stop_connection,
        link_log=LinkLog(
            lambda names, _addresses: management.give_up_pattern(names),
            lambda names, _addresses: management.connected_pattern(names),
            management.BROKER_STARTS,
            "Raise reconnect_attempts or retry_interval_ms, or write auto_start=False: then the link is started once "
            "all brokers listen",
        ),
        browse=management.browse,
        unbrowsable=frozenset({"stomp"}),
        browse_names=management.fully_qualified_names,
        backlogs_on_queues=True,
        queue_users=ARTEMIS_QUEUE_USERS,
        list_queues=management.list_queues,
    ),
)
