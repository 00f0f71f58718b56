"""Parses a ``failover:`` URI, the Java client's composite syntax, into typed values, and writes it back.

    failover:(uri1,uri2?opt=x)?randomize=false&nested.wireFormat.maxFrameSize=…      also failover://(…)?…
    failover:uri1,uri2?opt=x      without parentheses all belongs to the URIs: no failover option can be given

Values have the same meaning as in the Java client (FailoverTransport and URISupport of ActiveMQ Classic):
``randomize=True`` is true, and an invalid number is rejected. The parser is strict where Java's leniency has no use:
Java reads any word other than *true* as false, and accepts an option without ``=``, a list without URIs, a fragment.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from typing import Any
from urllib.parse import quote_plus, unquote_plus, urlsplit

from drivers.failover.core_options import CORE_OPTIONS
from records.errors import UserError

NO_LIMIT = -1
MOST, MOST_DIGITS = (1 << 63) - 1, 100  # for an option's number
Pairs = tuple[tuple[str, str], ...]


class BadFailoverUriError(UserError):
    """A failover URI that cannot be used: shows the URI, the problem, its position, and the correction.

    ``advice``: the last three alone, for users who wrote only a part of the URI.
    """

    def __init__(self, uri: str, wrong: str, where: int, next_step: str) -> None:
        self.advice = _without_password(f"{wrong}; {next_step}")
        super().__init__(_without_password(f"failover URI {uri!r}: {wrong} (at character {where}); {next_step}"))


@dataclass(frozen=True)
class ServerUri:
    """One broker's URI from the list: ``stomp://127.0.0.1:61613?soTimeout=0``. ``query`` is kept as written."""

    scheme: str
    host: str
    port: int | None = None
    query: str = ""

    @property
    def address(self) -> str:
        """``host:port``, or ``host`` if the protocol has no ports (memory)."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port is None else f"{host}:{self.port}"

    def __str__(self) -> str:
        return f"{self.scheme}://{self.address}" + (f"?{self.query}" if self.query else "")


PYTHON = frozenset({"stomp", "amqp", "memory"})  # clients that reconnect with drivers.failover.reconnector
OPENWIRE = frozenset({"openwire"})
ALL_BUT_CORE = PYTHON | OPENWIRE
ALL = ALL_BUT_CORE | {"core"}


def _option(name: str, default: Any, *, by: frozenset[str] = ALL) -> Any:
    """Declare an option. ``by``: the protocols whose clients honor it; supported_options rejects it for the others."""
    return field(default=default, metadata={"name": name, "by": by})


@dataclass(frozen=True)
class FailoverOptions:
    """Every option of the transport, with its default. Attempts count passes over the whole list; -1 is no limit."""

    initial_reconnect_delay_ms: int = _option("initialReconnectDelay", 10, by=ALL_BUT_CORE)
    """delay from the lost connection to the first pass; without back-off, the delay before each pass."""
    max_reconnect_delay_ms: int = _option("maxReconnectDelay", 30_000)
    """maximum delay"""
    reconnect_delay_ms: int = _option("reconnectDelay", 10)
    """delay after the first failed pass at the start; 10 means `initialReconnectDelay`. Core: after any first pass"""
    use_exponential_back_off: bool = _option("useExponentialBackOff", True)
    """whether each failed pass multiplies the delay"""
    reconnect_delay_exponent: float = _option("reconnectDelayExponent", 2.0)
    """factor of the back-off"""
    max_reconnect_attempts: int = _option("maxReconnectAttempts", NO_LIMIT)
    """passes until the client gives up; -1: no limit; 0: one pass at the start, none after a lost connection (Core:
    one)"""
    startup_max_reconnect_attempts: int = _option("startupMaxReconnectAttempts", NO_LIMIT)
    """the same before the first connection; -1: the value of `maxReconnectAttempts`"""
    timeout_ms: int = _option("timeout", NO_LIMIT)  # of blocked sends only
    """how long a send waits for a connection before it is `failed` and its producer ends; 0 or less: no limit"""
    randomize: bool = _option("randomize", True)
    """`true`: a new random order for each pass; `false`: the order of the list"""
    warn_after_reconnect_attempts: int = _option("warnAfterReconnectAttempts", 10, by=ALL_BUT_CORE)
    """STOMP and AMQP clients warn after the first failed pass, and then each time this number of further passes has
    failed. OpenWire: no effect."""
    priority_backup: bool = _option("priorityBackup", False, by=ALL_BUT_CORE)
    """whether a client returns to the first broker of the list when it can."""
    priority_uris: tuple[ServerUri, ...] = _option(
        "priorityURIs", (), by=ALL_BUT_CORE
    )  # none: the first URI has priority
    """brokers to return to, instead of the first broker of the list."""
    backup: bool = _option("backup", False, by=OPENWIRE)
    backup_pool_size: int = _option("backupPoolSize", 1, by=OPENWIRE)
    track_messages: bool = _option("trackMessages", False, by=OPENWIRE)
    max_cache_size_bytes: int = _option("maxCacheSize", 131_072, by=OPENWIRE)
    track_transaction_producers: bool = _option("trackTransactionProducers", True, by=OPENWIRE)
    update_uris_supported: bool = _option("updateURIsSupported", True, by=OPENWIRE)
    """`false`: ignore the file of `updateURIsURL`, and brokers announced by a broker; only OpenWire accepts `=true`"""
    update_uris_url: str = _option("updateURIsURL", "", by=ALL_BUT_CORE)
    """URL or path of a file with comma-separated URIs, read before each pass; they are tried before the list."""
    rebalance_update_uris: bool = _option("rebalanceUpdateURIs", True, by=OPENWIRE)
    reconnect_supported: bool = _option("reconnectSupported", True, by=OPENWIRE)


OPTION_FIELDS = {f.metadata["name"]: f for f in fields(FailoverOptions)}
OPTION_NAMES: tuple[str, ...] = tuple(OPTION_FIELDS)


@dataclass(frozen=True)
class FailoverUri:
    """A parsed URI. ``explicit`` names the options that the user wrote; ``nested`` is added to every server's query.

    ``core``: options that only Core's own client understands (drivers.failover.core_options), as written; ``updated``:
    servers that were learned later and are tried first (drivers.failover.updated_uris); not written back.
    """

    servers: tuple[ServerUri, ...]
    options: FailoverOptions = FailoverOptions()
    nested: Pairs = ()
    core: Pairs = ()
    explicit: frozenset[str] = frozenset()
    updated: tuple[ServerUri, ...] = ()

    @classmethod
    def parse(cls, text: str) -> "FailoverUri":
        """Parse a URI; raises `BadFailoverUriError`."""
        return _parse(text)

    @classmethod
    def compose(cls, servers: Iterable[str], options: str = "") -> "FailoverUri":
        """Return the URI of these servers, with options such as ``randomize=true&timeout=3000``; raises
        `BadFailoverUriError`."""
        return _parse(f"failover:({','.join(servers)})" + (f"?{options}" if options else ""))

    def entering_at(self, place: int) -> "FailoverUri":
        """Return the same brokers in the listed order, starting at ``place`` and wrapping around."""
        place %= len(self.servers)
        options = replace(self.options, randomize=False)
        servers = (*self.servers[place:], *self.servers[:place])
        return replace(self, servers=servers, options=options, explicit=self.explicit | {"randomize"})

    def with_only(self, place: int) -> "FailoverUri":
        """Return the same URI with only that broker, as for a client that knows no other."""
        return replace(self, servers=(self.servers[place % len(self.servers)],))

    def effective(self, server: ServerUri) -> ServerUri:
        """Return the server's URI for connecting, with the ``nested.`` options in its query."""
        extra = "&".join(f"{quote_plus(name)}={quote_plus(value)}" for name, value in self.nested)
        query = "&".join(part for part in (server.query, extra) if part)
        return ServerUri(server.scheme, server.host, server.port, query)

    def __str__(self) -> str:
        ours = [(name, f.name) for name, f in OPTION_FIELDS.items() if self._written(name)]
        pairs = [(name, written(getattr(self.options, own))) for name, own in ours]
        pairs += [*self.core, *((f"nested.{name}", value) for name, value in self.nested)]
        query = "&".join(f"{quote_plus(name)}={quote_plus(value)}" for name, value in pairs)
        return f"failover:({','.join(map(str, self.servers))})" + (f"?{query}" if query else "")

    def _written(self, name: str) -> bool:
        own = OPTION_FIELDS[name]
        return name in self.explicit or bool(getattr(self.options, own.name) != own.default)


def written(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


# Parsing. `_bad` is the one place that words an error: the URI, the fault, its position, the next step.


def _parse(text: str) -> FailoverUri:
    scheme, colon, body = text.strip().partition(":")
    if not colon or scheme != "failover":
        raise _bad(
            text, f"it begins with {scheme!r}, not with 'failover:'", "write failover:(URI,URI…)?option=value", 0
        )
    if "#" in body:
        raise _bad(text, "a fragment means nothing here", "remove everything from '#' on", text.index("#"))
    listed, query = _split(text, body.strip().removeprefix("//").strip())
    servers = tuple(_server(text, part.strip()) for part in _components(text, listed))
    return _with_options(text, servers, _pairs(text, query))


def _split(text: str, body: str) -> tuple[str, str]:
    """Split off the list of URIs, and the text after the question mark that follows its closing parenthesis."""
    if body.count("(") != body.count(")"):
        raise _bad(
            text, f"{body.count('(')} '(' against {body.count(')')} ')'", "close every parenthesis", text.find("(")
        )
    if not body.startswith("("):
        return body, ""
    end = _closing(text, body)
    path, _, query = body[end + 1 :].strip().partition("?")
    if path:
        where = text.rindex(body) + end + 1
        raise _bad(text, f"{path!r} follows the list of URIs", "write options as ?option=value after the ')'", where)
    return body[1:end], query


def _closing(text: str, body: str) -> int:
    depth = 0
    for index, character in enumerate(body):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return index
    raise _bad(text, "the first '(' is never closed", "close every parenthesis", text.find("("))


def _components(text: str, listed: str) -> list[str]:
    """Split at the commas. Parentheses inside belong to nested composites, which no protocol here supports."""
    if "(" in listed or ")" in listed:
        raise _bad(
            text,
            "a list inside the list",
            "give every broker's own URI in one list",
            text.find("(", text.find("(") + 1),
        )
    parts = listed.split(",")
    if not listed.strip():
        raise _bad(text, "the list of URIs is empty", "write at least one URI between the parentheses", len(text))
    return parts


def _server(text: str, part: str) -> ServerUri:
    where = text.find(part) if part else text.find(",")
    if not part:
        raise _bad(text, "an empty URI in the list", "remove the extra comma", where)
    if not re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", part):
        raise _bad(text, f"{part!r} is not a URI", "write scheme://host:port", where)
    try:
        parts = urlsplit(part)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise _bad(
            text, f"{part!r} is not a URI ({error})", "write scheme://host:port with a port of 1 to 65535", where
        ) from None
    if not host or parts.username is not None or parts.path not in ("", "/") or re.search(r"\s", part):
        raise _bad(text, f"{part!r} is not scheme://host:port?options", "leave out user, path and spaces", where)
    if port is None and parts.scheme != "memory":
        raise _bad(text, f"{part!r} names no port", "write scheme://host:port", where)
    name = parts.netloc.partition(":")[0] if parts.scheme == "memory" else host  # a broker's name keeps its case
    return ServerUri(parts.scheme, name, port, parts.query)


def _pairs(text: str, query: str) -> list[tuple[str, str]]:
    pairs = []
    for part in query.split("&") if query else []:
        name, equals, value = part.partition("=")
        if not equals or not name:
            raise _bad(text, f"the option {part!r} has no value", "write option=value", text.rfind(part))
        pairs.append((unquote_plus(name), unquote_plus(value)))
    return pairs


def _with_options(text: str, servers: tuple[ServerUri, ...], pairs: list[tuple[str, str]]) -> FailoverUri:
    values: dict[str, Any] = {}
    nested: dict[str, str] = {}
    core: dict[str, str] = {}
    times_written = Counter(name[:1].lower() + name[1:] for name, _ in pairs)
    if twice := next((name for name, times in times_written.items() if times > 1), ""):
        raise _bad(text, f"the option {twice!r} is given twice", "keep one of them", text.rfind(twice[1:]) - 1)
    for name, value in pairs:
        if name in CORE_OPTIONS:
            core[name] = value
            continue
        if name.startswith("nested."):
            nested[name.removeprefix("nested.")] = value
            continue
        option = _option_called(text, name)
        values[option] = _read(text, option, value)
    options = FailoverOptions(**{OPTION_FIELDS[name].name: value for name, value in values.items()})
    return FailoverUri(servers, options, tuple(nested.items()), tuple(core.items()), frozenset(values))


def _option_called(text: str, name: str) -> str:
    """Return the option of that name; Java finds the setter regardless of the case of the first letter."""
    option = name[:1].lower() + name[1:]
    if option in OPTION_FIELDS:
        return option
    near = get_close_matches(name, [*OPTION_NAMES, *sorted(CORE_OPTIONS)], n=1, cutoff=0.5)
    near = ["reconnectDelayExponent"] if name == "backOffMultiplier" else near  # its name in older documents
    owner = ", an option of Core's own" if near and near[0] in CORE_OPTIONS else ""
    hint = f"did you mean {near[0]}{owner}? " if near else ""
    raise _bad(
        text,
        f"unknown option {name!r}",
        f"{hint}the options are {', '.join(OPTION_NAMES)} and nested.*",
        text.rfind(name),
    )


def _read(text: str, name: str, value: str) -> Any:
    kind: Any = type(OPTION_FIELDS[name].default)
    if kind is bool:
        if value.lower() not in ("true", "false"):
            raise _bad(text, f"{name}={value!r} is neither true nor false", "write one of the two", text.rfind(name))
        return value.lower() == "true"
    if kind is tuple:
        return tuple(_server(text, part.strip()) for part in value.split(",") if part.strip())
    if kind is str:
        return value
    return _number(text, name, value, kind)


def _number(text: str, name: str, value: str, kind: Callable[[str], float]) -> float:
    pattern = r"[+-]?\d+" if kind is int else r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?"
    if not re.fullmatch(pattern, value, re.ASCII):
        rule = "a whole number" if kind is int else "a number"
        raise _bad(
            text,
            f"{name}={value!r} is not {rule}",
            f"write {rule}, such as {OPTION_FIELDS[name].default}",
            text.rfind(name),
        )
    if len(value) > MOST_DIGITS or abs(kind(value)) > MOST:  # also for infinity
        rule = f"at most {MOST}, as the Java client uses 64 bits for it"
        raise _bad(text, f"{name}={value!r} is too large", f"write {rule}", text.rfind(name))
    return kind(value)


def _bad(text: str, wrong: str, next_step: str, where: int) -> BadFailoverUriError:
    return BadFailoverUriError(text, wrong, max(where, 0) + 1, next_step)


def _without_password(text: str) -> str:
    return re.sub(r"//[^/@,()]*@", "//…@", text)
