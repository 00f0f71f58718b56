"""The `BrokerProduct` for ActiveMQ Classic."""

from collections.abc import Sequence

from topologies.classic import link_log, link_proof, management
from topologies.classic.amazon_mq import templates
from topologies.classic.broker import Broker, without_broker_path
from topologies.classic.deliveries import routes
from topologies.classic.launch import DATA, LAUNCH, in_container, start_script, why_no_container
from topologies.classic.manual_words import CLASSIC_WORDS
from topologies.classic.network_connectors import NetworkConnector
from topologies.classic.queries import classic_queries
from topologies.classic.queue_users import CLASSIC_QUEUE_USERS
from topologies.classic.reachability import carries_all, reaches
from topologies.classic.render.broker_xml import needs_tls, render
from topologies.classic.validation import classic_problems, classic_warnings
from topologies.management.jolokia import PATH, Jolokia
from topologies.model.broker import AnyBroker
from topologies.model.launch import ProductCompose
from topologies.model.link import Link
from topologies.model.management import LinkLog, StoreLimit
from topologies.model.site import Site
from topologies.model.topology import BrokerProduct, ProductManagement, Topology


def _join(opened_by: AnyBroker, to: AnyBroker, links: Sequence[Link]) -> Link:
    return NetworkConnector(opened_by, to, duplex=True)


def _render(topology: Topology, broker: AnyBroker, site: Site) -> dict[str, str]:
    assert isinstance(broker, Broker)  # a Topology has no other
    return render(topology, broker, site)


CLASSIC = BrokerProduct(
    name="classic",
    brokers={"broker": Broker},
    links={NetworkConnector.kind: NetworkConnector},
    manual_words=CLASSIC_WORDS,
    join=_join,
    problems=classic_problems,
    warnings=classic_warnings,
    reaches=reaches,
    carries_all=carries_all,
    routes=routes,
    temporary_queues_by=("stomp", "amqp", "openwire"),
    render=_render,
    needs_tls=needs_tls,
    why_no_container=why_no_container,
    in_container=in_container,
    for_topics=without_broker_path,
    amazon_mq=templates,
    launch=LAUNCH,
    compose=ProductCompose(
        variable="ACTIVEMQ_IMAGE",
        called="ActiveMQ Classic 5.18",
        data=DATA,
        standby_writes=False,
        start_script=start_script,
    ),
    management=ProductManagement(
        connect=Jolokia,
        path=PATH,
        queries=classic_queries,
        link_end=management.end_of,
        missing=link_proof.missing,
        start_link=management.start_connector,
        stop_link=management.stop_connector,
        link_log=LinkLog(
            link_log.give_up_pattern,
            link_log.connected_pattern,
            link_log.BROKER_STARTS,
            "Raise max_reconnect_attempts or initial_reconnect_delay_ms of the link's discovery, or start the link "
            "during the run with --fault 'start-link(LINK, at=S)'",
            link_log.called_addresses,
            link_log.attempts,
        ),
        browse_by="stomp",  # its management returns only the first 400 messages (maxBrowsePageSize)
        durable_subscriptions=management.durable_subscriptions,
        remove_subscription=management.remove_subscription,
        queue_users=CLASSIC_QUEUE_USERS,
        store_limit=StoreLimit(management.lower_store_limit, management.restore_store_limit, management.store_percent),
    ),
)
