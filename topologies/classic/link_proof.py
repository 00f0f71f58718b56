"""Proves that a network connector is up, from the MBeans of the brokers at its ends.

A bridge's MBean is registered before the far side is ready and before its subscriptions exist, so it proves nothing
alone. A link counts as proven when

* the opening broker shows the bridge, with the right broker at its far end;
* the far broker shows its end: the duplex bridge, or the opener's login;
* the broker that receives the messages has this link's subscription to its consumer advisories. From these advisories
  the other broker learns about consumers. For a duplex link both brokers have one.
"""

from collections.abc import Mapping

from topologies.classic.management import LinkEnd, bridge_client_id
from topologies.classic.network_connectors import NetworkConnector
from topologies.model.link import Link

DEMAND = "ActiveMQ.Advisory.Consumer."


def missing(link: Link, ends: Mapping[str, LinkEnd]) -> tuple[str, ...]:
    """Return one sentence per missing proof of a link; empty if the link is proven. ``ends``: by broker. Pure."""
    if not isinstance(link, NetworkConnector):
        return ()
    opener, far = ends[link.opened_by.name], ends[link.to.name]
    if failures := tuple(end.failure for end in (opener, far) if end.failure):
        return failures
    problems = [
        _bridge_missing(link, opener, far),
        _far_end_missing(link, far, opener.broker),
        _demand_missing(link, far, opener),
    ]
    if link.duplex:
        problems.append(_demand_missing(link, opener, far))
    return tuple(filter(None, problems))


def _bridge_missing(link: NetworkConnector, opener: LinkEnd, far: LinkEnd) -> str:
    own = [bridge.remote_broker for bridge in opener.bridges if bridge.connector == link.connector]
    if far.broker in own:
        return ""
    instead = f" (it shows one to {', '.join(own)})" if own else ""
    return f"{opener.broker} shows no bridge to {far.broker}{instead}"


def _far_end_missing(link: NetworkConnector, far: LinkEnd, opener: str) -> str:
    if link.duplex:
        duplex = any(bridge.created_by_duplex and bridge.remote_broker == opener for bridge in far.bridges)
        return "" if duplex else f"{far.broker} shows no duplex bridge from {opener}"
    logged_in = bridge_client_id(link.connector, opener, link.client_id_token) in far.client_ids
    return "" if logged_in else f"{far.broker} shows no login of {opener}"


def _demand_missing(link: NetworkConnector, holder: LinkEnd, listener: LinkEnd) -> str:
    """Check the subscription at ``holder`` for its consumer advisories to ``listener``; static bridges need none."""
    if link.static_bridge:
        return ""
    client_id = _demand_client_id(link, holder.broker, listener.broker)
    for subscription in holder.subscriptions:
        if subscription.client_id == client_id and subscription.destination.startswith(DEMAND):
            return ""
    return f"{holder.broker} has no subscription that informs {listener.broker} of its consumers"


def _demand_client_id(link: NetworkConnector, holder: str, listener: str) -> str:
    """Return the client id. One-way: the opener's login. Duplex: each end subscribes for the other, in its broker."""
    if not link.duplex:
        return bridge_client_id(link.connector, listener, link.client_id_token)
    return link.client_id_token.join((link.name, listener, "inbound", holder))
