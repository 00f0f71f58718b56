"""Finds the consumers on the queues of an Artemis broker, and empties queues."""

import json
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from topologies.artemis.management import MOST_LISTED, broker_mbean, is_of_link, queue_mbean
from topologies.management.jolokia import Jolokia
from topologies.model.management import BrokerConsumer, QueueUsers


def consumers(agent: Jolokia, queues: Collection[str], brokers: Collection[str]) -> list[BrokerConsumer]:
    """Return the consumers on ``queues``, by one request."""
    listing = "listConsumers(java.lang.String,int,int)"
    shown = agent.execute(broker_mbean(agent.calls_itself), listing, "", 1, MOST_LISTED)
    return sorted(set(_on_queues(json.loads(shown)["data"], queues)))


def _on_queues(listed: Collection[Mapping[str, Any]], queues: Collection[str]) -> Iterator[BrokerConsumer]:
    """Skip the consumers of links, which have no user or a user of links. Pure."""
    for consumer in listed:
        if consumer["queue"] in queues and not is_of_link(str(consumer["user"])):
            client_id, address = (str(consumer.get(name) or "") for name in ("clientID", "remoteAddress"))
            yield BrokerConsumer(str(consumer["queue"]), client_id, address)


def empty(agent: Jolokia, queue: str) -> None:
    for mbean in agent.search(queue_mbean(agent.calls_itself, "*", queue, "*")):
        agent.execute(mbean, "removeAllMessages()")


ARTEMIS_QUEUE_USERS = QueueUsers(consumers, empty)
