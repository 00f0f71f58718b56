"""Finds the consumers on the queues of a Classic broker, and empties queues.

A queue's MBean lists its subscriptions, including wildcard subscriptions. Only the subscriptions' MBeans have the names
that clients chose: in an MBean's name some characters are replaced.
"""

import re
from collections.abc import Collection, Mapping
from typing import Any

from topologies.classic.management import broker_mbean
from topologies.management.jolokia import OK, Jolokia, execute, read, value_of
from topologies.model.management import BrokerConsumer, ManagementFailed, QueueUsers


def consumers(agent: Jolokia, queues: Collection[str], brokers: Collection[str]) -> list[BrokerConsumer]:
    """Return the consumers on ``queues``, by at most three requests.

    A consumer that disconnects in between is left out.
    """
    mbean = broker_mbean(agent.calls_itself)
    (answer,) = agent.bulk([read(f"{mbean},destinationType=Queue,destinationName=*", "Name", "Subscriptions")])
    listed = [
        (str(queue["Name"]), str(subscription["objectName"]))
        for queue in value_of(agent.broker, answer).values()
        if queue["Name"] in queues
        for subscription in queue["Subscriptions"]
    ]
    names = sorted({name for _, name in listed})
    if not names:
        return []
    answers = agent.bulk([read(name, "ClientId") for name in names])
    client_ids = {
        name: str(answer.value["ClientId"])
        for name, answer in zip(names, answers, strict=True)
        if answer.status == OK and not _of_link(str(answer.value["ClientId"]), agent.calls_itself, brokers)
    }
    addresses = _addresses(agent, mbean) if client_ids else {}
    found = {
        BrokerConsumer(queue, client_ids[name], addresses.get(client_ids[name], ""))
        for queue, name in listed
        if name in client_ids
    }
    return sorted(found)


def _of_link(client_id: str, broker: str, brokers: Collection[str]) -> bool:
    """Return whether the id belongs to a bridge to another broker: ``<link>_<other broker>_inbound_<this broker>``."""
    others = "|".join(map(re.escape, brokers))
    return bool(re.fullmatch(rf".+?(.+)(?:{others})\1inbound\1{re.escape(broker)}", client_id))


def _addresses(agent: Jolokia, mbean: str) -> Mapping[str, str]:
    """Return remote addresses by client id."""
    views = f"{mbean},connector=clientConnectors,connectorName=*,connectionViewType=clientId,connectionName=*"
    (answer,) = agent.bulk([read(views, "ClientId", "RemoteAddress")])
    connections: Mapping[str, Any] = value_of(agent.broker, answer)
    return {str(view["ClientId"]): str(view["RemoteAddress"] or "") for view in connections.values()}


def empty(agent: Jolokia, queue: str) -> None:
    (answer,) = agent.bulk(
        [read(f"{broker_mbean(agent.calls_itself)},destinationType=Queue,destinationName=*", "Name")]
    )
    for mbean, attributes in value_of(agent.broker, answer).items():
        if attributes["Name"] == queue:
            (purged,) = agent.bulk([execute(mbean, "purge()")])
            if purged.status != OK:
                raise ManagementFailed(f"broker {agent.broker!r}, MBean {mbean}: {purged.error or 'not purged'}")


CLASSIC_QUEUE_USERS = QueueUsers(consumers, empty)
