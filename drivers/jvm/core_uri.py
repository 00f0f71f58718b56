"""Translates a failover URI for Core's own client: into its own URI, with the options that mean the same to it.

    failover:(tcp://a:1,tcp://b:2)?randomize=false&timeout=3000
        becomes (tcp://a:1,tcp://b:2)?reconnectAttempts=0&failoverAttempts=-1&callFailoverTimeout=3000&…

`reconnectAttempts` counts tries of the lost broker, `failoverAttempts` counts passes over the list. A failover URI
means no tries of the lost broker, and as many passes as the URI says. If a user writes Core's own options, only these
are used.
"""

from collections.abc import Iterator
from urllib.parse import quote_plus

from drivers.failover.core_options import REFUSED, misread
from drivers.failover.uri import NO_LIMIT, FailoverOptions, FailoverUri, ServerUri

IN_ORDER, SHUFFLED = "brokerbench.InOrderPolicy", "brokerbench.ShuffledPolicy"  # drivers/java/core/
WITHOUT_MEANING = (
    "initialReconnectDelay",
    "priorityBackup",
    "priorityURIs",
    "updateURIsURL",
    "warnAfterReconnectAttempts",
)
TLS = "sslEnabled=true&useDefaultSslContext=true&verifyHost=true"


def load_uri(uri: FailoverUri) -> str:
    """The URI that keeps a client connected."""
    servers = ",".join(_server(uri.effective(server)) for server in uri.servers)
    pairs = uri.core or tuple(_translated(uri.options))
    return f"({servers})?" + "&".join(f"{quote_plus(name)}={quote_plus(value)}" for name, value in pairs)


def connection_uri(uri: str) -> str:
    """The URI of one connection to one broker."""
    scheme, _, rest = uri.partition("://")
    where, _, query = rest.partition("?")
    return _written(scheme, where, query)


def _server(server: ServerUri) -> str:
    return _written(server.scheme, server.address, server.query)


def _written(scheme: str, where: str, query: str) -> str:
    options = "&".join(part for part in (TLS if scheme == "ssl" else "", query) if part)
    return f"tcp://{where}" + (f"?{options}" if options else "")


def _translated(options: FailoverOptions) -> Iterator[tuple[str, str]]:
    passes = options.max_reconnect_attempts
    at_start = passes if options.startup_max_reconnect_attempts == NO_LIMIT else options.startup_max_reconnect_attempts
    growth = options.reconnect_delay_exponent if options.use_exponential_back_off else 1.0
    yield "reconnectAttempts", "0"
    yield "failoverAttempts", str(_tries(passes))
    yield "initialConnectAttempts", str(_tries(at_start))
    yield "retryInterval", str(options.reconnect_delay_ms)
    yield "retryIntervalMultiplier", str(growth)
    yield "maxRetryInterval", str(options.max_reconnect_delay_ms)
    yield "callFailoverTimeout", str(options.timeout_ms)
    yield "useTopologyForLoadBalancing", "false"
    yield "connectionLoadBalancingPolicyClassName", SHUFFLED if options.randomize else IN_ORDER


def _tries(passes: int) -> int:
    """In a failover URI 0 is one try; in Core it is none."""
    return passes if passes == NO_LIMIT else max(1, passes)


def refusals(uri: FailoverUri) -> Iterator[str]:
    """A sentence for each option of such a URI that a Core client cannot fulfil."""
    for name, value in uri.core:
        if name in REFUSED:
            yield f"option {name} is not honoured by CORE clients: {REFUSED[name]}; remove it"
        elif rule := misread(name, value):
            yield f"option {name}={value} of Core's is not understood; write {rule}"
    if uri.core and uri.explicit:
        of_failover, of_core = sorted(uri.explicit)[0], uri.core[0][0]
        yield (
            f"failover option {of_failover} beside Core's own {of_core}: a client follows one of the two; "
            "write failover options, or Core's, alone"
        )
    for name in WITHOUT_MEANING:
        if name in uri.explicit:
            yield f"failover option {name} is not supported by CORE: its client knows nothing like it; remove it"
