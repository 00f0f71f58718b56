"""The protocols of clients: one table of names, connectors and supported failover options.

Producers and consumers may use two protocols: with ``stomp:amqp`` producers use STOMP and consumers AMQP. User classes
may have their own protocols.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec

from drivers.amqp.addresses import AMQP_OPTIONS
from drivers.client.contract import ClientConnector, SpokenProtocols
from drivers.failover.supported_options import SupportedOptions
from drivers.failover.uri import FailoverUri
from drivers.jvm.java_protocol import CORE, OPENWIRE, JavaProtocol
from drivers.memory.connector import MEMORY_OPTIONS
from drivers.stomp.connector import STOMP_OPTIONS, StompConnector
from topologies.model.trust import Trust

BETWEEN_CLASSES = ", "


@dataclass(frozen=True)
class Spoken:
    """The protocols of a run: written ``stomp``, or ``stomp:amqp`` if producers and consumers differ, or ``stomp,
    Orders=amqp`` if a user class differs from the others of its role.

    ``of_classes``: (user class, its protocol), for classes whose protocol is not the one of their role.
    """

    producers: str
    consumers: str
    of_classes: tuple[tuple[str, str], ...] = ()

    @classmethod
    def parse(cls, text: str) -> "Spoken":
        """Parse the output of `str`. ValueError says what is wrong and what to write instead."""
        roles, *classes = text.split(BETWEEN_CLASSES)
        producers, colon, consumers = roles.partition(":")
        own = tuple((name, protocol) for name, _, protocol in (part.partition("=") for part in classes))
        spoken = cls(producers, consumers if colon else producers, own)
        for protocol in spoken.distinct:
            if protocol not in PROTOCOLS:
                protocols = ", ".join(PROTOCOLS)
                raise ValueError(f"{protocol!r} is not known; write one of {protocols}, or two as PRODUCERS:CONSUMERS")
        if len(spoken.distinct) > 1 and "memory" in spoken.distinct:
            raise ValueError("brokers in memory support only memory; write memory alone")
        return spoken

    def __str__(self) -> str:
        roles = ":".join(dict.fromkeys((self.producers, self.consumers)))
        return BETWEEN_CLASSES.join((roles, *(f"{name}={protocol}" for name, protocol in self.of_classes)))

    @property
    def distinct(self) -> tuple[str, ...]:
        """Each protocol once, the producers' first."""
        return tuple(dict.fromkeys((self.producers, self.consumers, *(protocol for _, protocol in self.of_classes))))

    def of(self, role: str, user_class: str = "") -> str:
        """Return the protocol of a user class, which is a ``producer`` or a ``consumer``."""
        return dict(self.of_classes).get(user_class) or (self.consumers if role == "consumer" else self.producers)


def _amqp(trust: Trust) -> ClientConnector:
    from drivers.amqp.connector import AmqpConnector  # its library is optional: it is not there everywhere

    return AmqpConnector(trust=trust)


def _java(protocol: JavaProtocol, trust: Trust) -> ClientConnector:
    from drivers.jvm.connector import JavaConnector  # other protocols need no Java bridge

    return JavaConnector(protocol, trust)


def _no_proton() -> str:
    if find_spec("proton") is not None:
        return ""
    return (
        "AMQP clients need python-qpid-proton, which is not installed: it is built by a C compiler "
        "(on Debian and Ubuntu: apt-get install gcc libc6-dev python3-dev), then make install"
    )


@dataclass(frozen=True)
class _Driver:
    """One row. ``connector``: None if a runtime holds the brokers; ``missing``: see `missing`."""

    connector: Callable[[Trust], ClientConnector] | None
    options: SupportedOptions
    missing: Callable[[], str] = lambda: ""


_DRIVERS: Mapping[str, _Driver] = {
    "stomp": _Driver(lambda trust: StompConnector(trust=trust), STOMP_OPTIONS),
    "amqp": _Driver(_amqp, AMQP_OPTIONS, _no_proton),
    "openwire": _Driver(partial(_java, OPENWIRE), OPENWIRE.supported_options),
    "core": _Driver(partial(_java, CORE), CORE.supported_options),
    "memory": _Driver(None, MEMORY_OPTIONS),
}
PROTOCOLS: tuple[str, ...] = tuple(_DRIVERS)


def unsupported(uri: FailoverUri, protocol: str) -> tuple[str, ...]:
    """Return a sentence for each option that this protocol cannot fulfill; empty if there are none."""
    return _DRIVERS[protocol].options.problems(uri)


def missing(protocol: str) -> str:
    """Return why a known protocol cannot be used on this machine, with the next step; empty if it can."""
    return _DRIVERS[protocol].missing()


def connector_of(protocol: str, trust: Trust) -> ClientConnector:
    """Return a connector for a protocol that crosses a network. ``memory`` has none: KeyError."""
    connector = _DRIVERS[protocol].connector
    if connector is None:
        raise KeyError(f"protocol {protocol!r} has no connector here: the memory runtime creates it")
    return connector(trust)


def connectors_of(spoken: SpokenProtocols, trust: Trust) -> dict[str, ClientConnector]:
    """Return a connector for each of the protocols; ``trust``: the trusted certificates."""
    return {protocol: connector_of(protocol, trust) for protocol in spoken.distinct}
