"""What is a link told to do otherwise than it comes? Its settings that are not at their defaults, for a line of text.

message_ttl=1 consumer_ttl=1, dynamically_included_destinations=queue://>, delay=40ms
"""

from collections.abc import Iterator
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any

from topologies.artemis.links import AddressMatch, BrokerConnection, ClusterLink
from topologies.brokers import AnyBroker
from topologies.links import Link


def settings(link: Link) -> str:
    """How far it carries, all that was set, and what it is like."""
    return ", ".join([*_limits(link), *_set(link, {field.name for field in fields(Link)}), *_impairment(link)])


def _limits(link: Link) -> Iterator[str]:
    """Of AMQP connections nothing counts hops."""
    if isinstance(link, ClusterLink):
        yield f"max_hops={link.cluster.max_hops}"
    elif not isinstance(link, BrokerConnection):
        yield f"message_ttl={link.message_ttl} consumer_ttl={link.consumer_ttl}"


def _impairment(link: Link) -> list[str]:
    return [str(link.impairment)] if link.impairment else []


def _set(part: Any, known: set[str]) -> Iterator[str]:
    """``prefetch_size=5``, ``mirror(sync=True)``, … for the fields of a value that are not in ``known``."""
    for field in fields(part):
        value = getattr(part, field.name)
        if field.name not in known and value != _default(field):
            told = _told(value)
            yield field.name + (told if told[:1] in ("", "(") else f"={told}")


def _default(field: "Field[Any]") -> Any:
    return field.default_factory() if field.default_factory is not MISSING else field.default


def _told(value: Any) -> str:
    """'' for what is only there, and has nothing set in it."""
    if isinstance(value, AnyBroker):
        return value.name
    if isinstance(value, AddressMatch):
        return value.address_match or f"queue {value.queue_name}"
    if isinstance(value, tuple):
        return " ".join(map(_told, value))
    if is_dataclass(value):
        inner = ", ".join(_set(value, {"max_hops"}))
        return getattr(value, "kind", "") + (f"({inner})" if inner else "")
    return str(value)
