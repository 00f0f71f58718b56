"""The protocols of Java clients, OpenWire and Core: names, failover options, and URIs. Needs no JVM.

OpenWire's failover transport accepts a failover URI as it is. For Core's own client the URI is translated into Core's
own form, with the options that have the same meaning.

    failover:(tcp://a:1,tcp://b:2)?randomize=false&timeout=3000
        becomes (tcp://a:1,tcp://b:2)?reconnectAttempts=0&failoverAttempts=-1&callFailoverTimeout=3000&…

`reconnectAttempts` counts tries of the lost broker, `failoverAttempts` counts passes over the list. A failover URI
means no tries of the lost broker, and as many passes as the URI says. With one broker in the list, tries of the lost
broker are passes over the list, so `reconnectAttempts` has their number: after a pass whose last broker accepted the
connection, the library (2.44.0) waits for the back-off delay before the client can send; after a successful try it
does not. If a user writes Core's own options, only these are used.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from urllib.parse import quote_plus

from drivers.failover.core_options import REFUSED, accepted_form
from drivers.failover.supported_options import SupportedOptions
from drivers.failover.uri import NO_LIMIT, FailoverOptions, FailoverUri


@dataclass(frozen=True)
class JavaProtocol:
    """``display_name``: the protocol's name for people; ``supported_options`` has its name for options and rows.

    ``load_uri``: translates a failover URI for the library's own failover; ``connection_uri``: the URI of one broker
    for a single connection of the library.
    """

    display_name: str
    supported_options: SupportedOptions
    load_uri: Callable[[FailoverUri], str]
    connection_uri: Callable[[str], str]

    @property
    def name(self) -> str:
        return self.supported_options.protocol


IN_ORDER, SHUFFLED = "brokerbench.InOrderPolicy", "brokerbench.ShuffledPolicy"  # drivers/java/core/
TLS = "sslEnabled=true&useDefaultSslContext=true&verifyHost=true"


def load_uri(uri: FailoverUri) -> str:
    """Return a failover URI in the form of Core's own client."""
    own_uris = map(uri.effective, uri.servers)
    servers = ",".join(_written(server.scheme, server.address, server.query) for server in own_uris)
    pairs = uri.core or tuple(_translated(uri.options, only_one=len(uri.servers) == 1))
    return f"({servers})?" + "&".join(f"{quote_plus(name)}={quote_plus(value)}" for name, value in pairs)


def connection_uri(uri: str) -> str:
    """Return the URI of one broker in the form of Core's own client."""
    scheme, _, address_and_query = uri.partition("://")
    where, _, query = address_and_query.partition("?")
    return _written(scheme, where, query)


def _written(scheme: str, where: str, query: str) -> str:
    options = "&".join(part for part in (TLS if scheme == "ssl" else "", query) if part)
    return f"tcp://{where}" + (f"?{options}" if options else "")


def _translated(options: FailoverOptions, *, only_one: bool) -> Iterator[tuple[str, str]]:
    passes = options.max_reconnect_attempts
    at_start = passes if options.startup_max_reconnect_attempts == NO_LIMIT else options.startup_max_reconnect_attempts
    growth = options.reconnect_delay_exponent if options.use_exponential_back_off else 1.0
    yield "reconnectAttempts", str(_tries(passes) if only_one else 0)
    yield "failoverAttempts", str(0 if only_one else _tries(passes))
    yield "initialConnectAttempts", str(_tries(at_start))
    yield "retryInterval", str(options.reconnect_delay_ms)
    yield "retryIntervalMultiplier", str(growth)
    yield "maxRetryInterval", str(options.max_reconnect_delay_ms)
    yield "callFailoverTimeout", str(options.timeout_ms)
    yield "useTopologyForLoadBalancing", "false"
    yield "connectionLoadBalancingPolicyClassName", SHUFFLED if options.randomize else IN_ORDER


def _tries(passes: int) -> int:
    """Convert passes to tries: in a failover URI 0 is one try; in Core it is none."""
    return passes if passes == NO_LIMIT else max(1, passes)


def refusals(uri: FailoverUri) -> Iterator[str]:
    """Yield a sentence for each of Core's own options that a client cannot fulfill, and for both kinds together."""
    for name, value in uri.core:
        if name in REFUSED:
            yield f"option {name} is not honored by CORE clients: {REFUSED[name]}; remove it"
        elif rule := accepted_form(name, value):
            yield f"option {name}={value} of Core's is not valid; write {rule}"
    if uri.core and uri.explicit:
        failover_option, core_option = sorted(uri.explicit)[0], uri.core[0][0]
        yield (
            f"failover option {failover_option} next to Core's own {core_option}: a client follows only one of "
            "the two; write only failover options, or only Core's"
        )


OPENWIRE = JavaProtocol("OpenWire", SupportedOptions("openwire"), load_uri=str, connection_uri=str)
CORE = JavaProtocol(
    "Core", SupportedOptions("core", core_problems=refusals), load_uri=load_uri, connection_uri=connection_uri
)
