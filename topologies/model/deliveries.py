"""Finds which consumers should receive a message, from the names of destinations. Pure.

    routes(dialect, [producers' addresses], [consumers' addresses])  ->  one `Route` per destination of producers

A product's ``deliveries.py`` has its `Dialect`: how its brokers interpret the text of a destination. Text that is not
understood is rejected, because losses could not be determined for it. `tests/topologies/test_deliveries.py` compares
these rules with real brokers.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from records.loads.routes import QUEUE, TOPIC, Copy, Route
from records.tables.schemas import CANARY_PREFIX

KINDS = (QUEUE, TOPIC)


@dataclass(frozen=True)
class ClientDestination:
    """A destination as written in a user class, and the protocol of this class."""

    destination: str
    protocol: str


@dataclass(frozen=True)
class Dialect:
    """How a product's brokers interpret a destination.

    ``rest``: the wildcard for any number of levels, by protocol; ``*`` is one level. ``no_wildcards``: why destinations
    of a kind (`QUEUE`, `TOPIC`) cannot have wildcards. ``lists_by``: protocols that use commas to separate
    destinations. ``options``: the options that consumers may write after ``?``, by protocol. ``reserved``: name
    prefixes that the brokers use themselves. ``dead_letters``: their dead-letter queues. ``feeds``: whether a message
    to a topic (a name) also goes to a queue (a name), once that queue exists.
    """

    brokers: str
    rest: Mapping[str, str]
    no_wildcards: Mapping[str, str] = field(default_factory=dict)
    lists_by: tuple[str, ...] = ()
    options: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    reserved: tuple[str, ...] = ()
    dead_letters: tuple[str, ...] = ()
    feeds: Callable[[str, str], bool] = lambda topic, queue: False

    def rest_of(self, protocol: str) -> str:
        """Return the wildcard for any number of levels. Brokers reject clients of protocols that they do not know."""
        return self.rest.get(protocol, next(iter(self.rest.values())))


def routes(
    dialect: Dialect, sent: Iterable[ClientDestination], consumed: Iterable[ClientDestination]
) -> tuple[Route, ...]:
    """Return one route per destination in ``sent``. Raises ValueError for text, or a pair, that is not understood."""
    taking = {address.destination: places(dialect, address, consumes=True) for address in dict.fromkeys(consumed)}
    exact: dict[str, list[str]] = {}
    patterns: list[tuple[str, str, str]] = []
    for destination, read in taking.items():
        for place in read:
            if is_pattern(place):
                patterns.append((*_split(place), destination))
            else:
                exact.setdefault(place, []).append(destination)

    def copy(place: str, *, once_subscribed: bool = False) -> Copy:
        kind, name = _split(place)
        by_pattern = (to for of_kind, pattern, to in patterns if of_kind == kind and matches(pattern, name))
        return Copy(place, tuple(dict.fromkeys((*exact.get(place, ()), *by_pattern))), once_subscribed)

    queues = [place for place in exact if place.startswith(QUEUE)]
    found = {}
    for address in dict.fromkeys(sent):
        copies = []
        for place in places(dialect, address, consumes=False):
            copies.append(copy(place))
            kind, name = _split(place)
            fed = (queue for queue in queues if kind == TOPIC and dialect.feeds(name, queue.removeprefix(QUEUE)))
            copies += [copy(queue, once_subscribed=True) for queue in fed]
        _require_distinct(address.destination, copies)
        found[address.destination] = Route(address.destination, tuple(copies))
    return tuple(found.values())


def _require_distinct(destination: str, copies: Sequence[Copy]) -> None:
    """Raise ValueError if a queue or consumer receives a message twice: the copies could not be distinguished."""
    seen: dict[str, str] = {}
    for copy in copies:
        for taker in (copy.place, *(consumer for consumer in copy.consumers if consumer != copy.place)):
            if taker in seen:
                ways = f"by {seen[taker]} and by {copy.place}" if seen[taker] != copy.place else f"to {copy.place}"
                raise ValueError(
                    f"destination {destination!r}: a message to it reaches {taker} twice, {ways}, and the two copies"
                    " look like a duplicate; send to fewer destinations, or consume narrower ones"
                )
            seen[taker] = copy.place


def places(dialect: Dialect, address: ClientDestination, *, consumes: bool) -> tuple[str, ...]:
    """Return the ``queue://NAME`` and ``topic://NAME`` of a destination; for a consumer these may be patterns.

    Raises ValueError for text that is not understood.
    """
    subject = f"destination {address.destination!r}"
    text, mark, options = address.destination.partition("?")
    if mark:
        _require_options(subject, dialect, address, options, consumes=consumes)
    first_kind = _split(text)[0]
    parts = text.split(",")
    if parts[1:] and address.protocol not in dialect.lists_by:
        able = " and ".join(dialect.lists_by)
        only = f"only {able} clients of {dialect.brokers} support lists" if able else ""
        rule = f"{address.protocol} clients of {dialect.brokers} would treat the comma as part of the name"
        raise ValueError(f"{subject}: {rule}{only and f', {only}'}; write one destination")
    read = tuple(part if part.startswith(KINDS) else f"{first_kind}{part}" for part in parts)
    for place in read:
        _require_name(subject, dialect, address.protocol, place, consumes=consumes)
    if consumes and len({_split(place)[0] for place in read}) > 1:
        rule = "a consumer of both queues and topics misses messages from some of them"
        raise ValueError(f"{subject}: {rule}; write a class for each kind")
    if len({*read}) < len(read):
        raise ValueError(f"{subject}: it names {next(p for p in read if read.count(p) > 1)} twice; write it once")
    rest = dialect.rest_of(address.protocol)
    return tuple(place.replace(rest, ">") if consumes else place for place in read)


def _require_options(
    subject: str, dialect: Dialect, address: ClientDestination, options: str, *, consumes: bool
) -> None:
    allowed = dialect.options.get(address.protocol, ()) if consumes else ()
    if not allowed:
        who = f"{address.protocol} consumers" if consumes else "producers"
        raise ValueError(f"{subject}: ? begins options, but {who} of {dialect.brokers} have none; leave them out")
    for option in options.split("&"):
        name, equals, value = option.partition("=")
        if name not in allowed or not (equals and value) or "," in value:
            rule = f"the supported destination options are {', '.join(allowed)}"
            raise ValueError(f"{subject}: {option!r}: {rule}; write {allowed[0]}=VALUE, or leave it out")


def _require_name(subject: str, dialect: Dialect, protocol: str, place: str, *, consumes: bool) -> None:
    """Raise ValueError for a name that a broker would change, or interpret differently."""
    kind, name = _split(place)
    if not consumes and (wild := next((letter for letter in name if letter in {"*", *dialect.rest.values()}), "")):
        rule = f"{wild} is a wildcard for several destinations, and a message has one destination; write the full name"
        raise ValueError(f"{subject}: {rule}")
    if any(letter.isspace() for letter in name):
        rule = "a name has no spaces, because brokers strip or reject them; write - or . instead"
        raise ValueError(f"{subject}: {rule}")
    if mark := next((mark for mark in ("://", "::") if mark in name), ""):
        raise ValueError(f"{subject}: a name cannot contain {mark}; write queue://NAME or topic://NAME")
    if "" in name.split("."):
        raise ValueError(f"{subject}: a level of the name is empty; write a name before and after each dot")
    if own := next((own for own in (*dialect.reserved, CANARY_PREFIX) if name.startswith(own)), ""):
        raise ValueError(f"{subject}: the prefix {own} is reserved; choose another name")
    if consumes:
        _require_pattern(subject, dialect, protocol, place)
    pattern = name.replace(dialect.rest_of(protocol), ">") if consumes else name
    if kind == QUEUE and (dead := next((dead for dead in dialect.dead_letters if matches(pattern, dead)), "")):
        rule = f"{dead} is a dead-letter queue, and dead letters would be mixed with other messages"
        raise ValueError(f"{subject}: {rule}; choose another name")


def _require_pattern(subject: str, dialect: Dialect, protocol: str, place: str) -> None:
    """Raise ValueError for wildcards that a consumer cannot use."""
    rest = dialect.rest_of(protocol)
    kind, name = _split(place)
    levels = name.split(".")
    if foreign := next((letter for letter in name if letter in {*dialect.rest.values()} - {rest}), ""):
        raise ValueError(
            f"{subject}: {foreign} is not a wildcard for {protocol} clients of {dialect.brokers}; write {rest}"
        )
    wild = [level for level in levels if "*" in level or rest in level]
    if not wild:
        return
    if partial := next((level for level in wild if len(level) > 1), ""):
        raise ValueError(f"{subject}: a wildcard replaces a whole level, but {partial!r} is longer; write * alone")
    if rest in levels[:-1]:
        raise ValueError(f"{subject}: {rest} matches all following levels, so it can only be the last one")
    if levels[0] in wild:
        rule = "a wildcard in the first level would also match the brokers' internal destinations"
        raise ValueError(f"{subject}: {rule}; begin it with a name")
    if why := dialect.no_wildcards.get(kind, ""):
        raise ValueError(f"{subject}: {why}")


def is_pattern(place: str) -> bool:
    """Return whether a consumer's place has wildcards: ``*`` for one level, ``>`` for all following levels."""
    return any(level in ("*", ">") for level in _split(place)[1].split("."))


def matches(pattern: str, name: str) -> bool:
    """Compare dot-separated levels: ``orders.>`` matches ``orders`` and all below it, ``orders.*`` one level below."""
    wanted, levels = pattern.split("."), name.split(".")
    for at, part in enumerate(wanted):
        if part == ">" and at == len(wanted) - 1:
            return len(levels) >= at
        if at >= len(levels) or part not in ("*", levels[at]):
            return False
    return len(wanted) == len(levels)


def _split(place: str) -> tuple[str, str]:
    """Return the kind, including ``://``, and the name."""
    kind, separator, name = place.partition("://")
    return f"{kind}{separator}", name
