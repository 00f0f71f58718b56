"""Which protocols can clients speak? One table: the name on the command line, and what opens its connections.

Producers and consumers may speak two of them: ``stomp:amqp`` is producers by STOMP and consumers by AMQP.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec

from drivers.contract import Connector
from drivers.stomp.connector import StompConnector
from topologies.trust import Trust

PROTOCOLS: tuple[str, ...] = ("stomp", "amqp", "openwire", "core", "memory")


@dataclass(frozen=True)
class Spoken:
    """What the clients of a run speak, by what they are; written ``stomp``, or ``stomp:amqp`` where they differ."""

    producers: str
    consumers: str

    @classmethod
    def parse(cls, text: str) -> "Spoken":
        """Read ``PROTOCOL`` or ``PRODUCERS:CONSUMERS``; ValueError says what is wrong and what to write instead."""
        producers, both, consumers = text.partition(":")
        spoken = cls(producers, consumers if both else producers)
        for protocol in spoken.distinct:
            if protocol not in PROTOCOLS:
                known = ", ".join(PROTOCOLS)
                raise ValueError(f"{protocol!r} is not known; write one of {known}, or two as PRODUCERS:CONSUMERS")
        if len(spoken.distinct) > 1 and "memory" in spoken.distinct:
            raise ValueError("brokers in memory speak only memory; write memory alone")
        return spoken

    def __str__(self) -> str:
        return ":".join(self.distinct)

    @property
    def distinct(self) -> tuple[str, ...]:
        """Each protocol once, the producers' first."""
        return tuple(dict.fromkeys((self.producers, self.consumers)))

    def of(self, role: str) -> str:
        """The protocol of a ``producer`` or a ``consumer``."""
        return self.consumers if role == "consumer" else self.producers


def _amqp(trust: Trust) -> Connector:
    from drivers.amqp.connector import AmqpConnector  # its library is optional: it is not there everywhere

    return AmqpConnector(trust=trust)


def _openwire(trust: Trust) -> Connector:
    from drivers.jvm.openwire import OpenWireConnector  # what other protocols need no Java bridge for

    return OpenWireConnector(trust)


def _core(trust: Trust) -> Connector:
    from drivers.jvm.core import CoreConnector

    return CoreConnector(trust)


_CONNECTORS: Mapping[str, Callable[[Trust], Connector]] = {
    "stomp": lambda trust: StompConnector(trust=trust),
    "amqp": _amqp,
    "openwire": _openwire,
    "core": _core,
}


def missing(protocol: str) -> str:
    """Why a known protocol cannot be spoken from this machine, with the next step; '' where it can."""
    if protocol == "amqp" and find_spec("proton") is None:
        return (
            "AMQP clients need python-qpid-proton, which is not installed: it is built by a C compiler "
            "(on Debian and Ubuntu: apt-get install gcc libc6-dev python3-dev), then make setup"
        )
    return ""


def connector_of(protocol: str, trust: Trust) -> Connector:
    """A connector for a protocol that crosses a network. ``memory`` has none: its runtime holds the brokers."""
    return _CONNECTORS[protocol](trust)


def connectors_of(spoken: Spoken, trust: Trust) -> dict[str, Connector]:
    """A connector for each of the protocols; ``trust``: whose certificates they believe."""
    return {protocol: connector_of(protocol, trust) for protocol in spoken.distinct}
