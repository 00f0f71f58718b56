"""Holds the requests to brokers of every product, and their answers: figures, bridges and the ends of links."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from topologies.management.jolokia import Answer, ManagementFailed

NOT_FOUND, OK = 404, 200
HEAP = "java.lang:type=Memory"
"""The MBean of a JVM's memory."""


@dataclass(frozen=True)
class Bridge:
    """One end of a link, from its broker's data. The far end of a duplex link does not know the link's own name."""

    connector: str  # the link's name; '#0', '#1', … at the far end of a duplex link
    remote_broker: str
    created_by_duplex: bool
    counters: Mapping[str, int]  # by metric name: totals since the bridge came up, and backlogs


@dataclass(frozen=True)
class Figures:
    """One broker's sampled figures. Counters are totals since it started; everything is an integer."""

    broker: Mapping[str, int]  # by metric name
    queues: Mapping[str, Mapping[str, int]]  # by queue and metric
    bridges: tuple[Bridge, ...]
    clients: Mapping[str, int]  # connections by transport connector, bridges left out


@dataclass(frozen=True)
class NetworkSubscription:
    """A subscription that a broker holds, by the client id that made it."""

    client_id: str
    destination: str


@dataclass(frozen=True)
class LinkEnd:
    """One broker's data on all links that begin or end there."""

    broker: str
    bridges: tuple[Bridge, ...] = ()
    client_ids: frozenset[str] = frozenset()
    subscriptions: tuple[NetworkSubscription, ...] = ()
    failure: str = ""  # why it shows nothing


def named_figures(figures: Mapping[str, str], attributes: Mapping[str, Any]) -> dict[str, int]:
    """``figures``: each metric with the attribute of the MBean that has it. Pure."""
    return {metric: int(attributes[attribute]) for metric, attribute in figures.items()}


def heap_figures(memory: Mapping[str, Any]) -> dict[str, int]:
    """``memory``: the attributes of HEAP."""
    usage = memory["HeapMemoryUsage"]
    return {"heap_used_bytes": int(usage["used"]), "heap_max_bytes": int(usage["max"])}


def value_of(broker: str, answer: Answer) -> Any:
    """The value; nothing where a pattern matches nothing."""
    if answer.status == NOT_FOUND and "*" in answer.mbean:
        return {}
    if answer.status != OK:
        raise ManagementFailed(f"broker {broker!r}, MBean {answer.mbean}: {answer.error or 'no value'}")
    return answer.value
