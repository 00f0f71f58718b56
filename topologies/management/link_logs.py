"""Reports what the openers of links logged: when they tried to connect, and links that they no longer try."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

from records.units import NS_PER_S
from topologies.management.contract import ManagedBrokers, management_of
from topologies.model.link import Link
from topologies.model.management import LinkAttempt, Outcome
from topologies.model.topology import Topology

LINE_LIMIT = 600  # the reason is at the end, after long thread names
MOST_ATTEMPTS = 12


def log_of(path: Path | None) -> list[str]:
    """The lines of a broker's log; [] if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines() if path else []
    except OSError:
        return []


@dataclass(frozen=True)
class GaveUp:
    """The last log entry in which a link's opener stops its attempts, and whether a later entry ends this state.

    ``times``: the number of such entries since the opener's last start. ``link_connected``: a link to the same address
    connected after the last entry; the log may not tell which.
    """

    line: str
    times: int
    link_connected: bool = False

    @property
    def broker_started(self) -> bool:
        return self.times == 0


def gave_up(runtime: ManagedBrokers, topology: Topology, links: Iterable[Link]) -> dict[str, GaveUp]:
    """Return the links that gave up, by name, also those that were started again later."""
    if (of_product := management_of(topology).link_log) is None:
        return {}
    text_of = cache(lambda opener: "\n".join(log_of(runtime.log_path(opener))))
    found = {}
    for link in links:
        addresses, text = _addresses(runtime, topology, link), text_of(link.opened_by.name)
        if entries := [*of_product.give_up_pattern(link.name, addresses).finditer(text)]:
            started_at = max((start.end() for start in of_product.broker_starts.finditer(text)), default=0)
            connected = of_product.connected_pattern(link.name, addresses).search(text, entries[-1].end())
            times = sum(entry.start() >= started_at for entry in entries)
            found[link.name] = GaveUp(entries[-1][0][:LINE_LIMIT], times, connected is not None)
    return found


def give_up_lines(runtime: ManagedBrokers, topology: Topology, links: Iterable[Link]) -> dict[str, str]:
    """Return the log entries of links that gave up and were not started again, by the links' names.

    If one of several links to the same address connected later, none of them counts as started again.
    """
    return {name: end.line for name, end in _not_started_again(runtime, topology, list(links)).items()}


def stay_down(runtime: ManagedBrokers, topology: Topology, down: Iterable[Link]) -> set[str]:
    """Return which of the links that are down have no attempts left.

    If the log does not tell links apart, none of them is returned until there is an entry for each that is down.
    """
    down = list(down)
    group_of = {link.name: (link.opened_by.name, _addresses(runtime, topology, link) or link.name) for link in down}
    sizes = Counter(group_of.values())
    ends = _not_started_again(runtime, topology, down)
    return {name for name, end in ends.items() if end.times >= sizes[group_of[name]]}


def _not_started_again(runtime: ManagedBrokers, topology: Topology, links: Sequence[Link]) -> dict[str, GaveUp]:
    by_name = {link.name: link for link in links}
    return {
        name: end
        for name, end in gave_up(runtime, topology, links).items()
        if not end.broker_started and not (end.link_connected and _is_alone(runtime, topology, by_name[name]))
    }


def give_up_sentences(runtime: ManagedBrokers, topology: Topology) -> Iterator[str]:
    """Yield a sentence per link whose opener gave up; links that the log does not tell apart share one."""
    links = {link.name: link for link in topology.links}
    names_by_end: dict[tuple[str, GaveUp], list[str]] = {}
    for name, end in gave_up(runtime, topology, topology.links).items():
        names_by_end.setdefault((links[name].opened_by.name, end), []).append(name)
    for (opener, end), names in names_by_end.items():
        shared = f" (the log does not name which of these {len(names)}: they call one address)" if names[1:] else ""
        yield f"link {' or '.join(names)} gave up{shared}: {opener} logged {end.line!r}; {_since(end, opener, names)}"


def _since(end: GaveUp, opener: str, names: Sequence[str]) -> str:
    """Return what the log shows after the link gave up, or how to start it."""
    if end.broker_started:
        return f"{opener} was started again later"
    if end.link_connected:
        return "one of these links connected later" if names[1:] else "it connected again later"
    faults = " or ".join(f"'start-link({name}, at=S)'" for name in names)
    return f"it stays down until the broker restarts, or until --fault {faults} starts it"


def attempt_sentences(
    runtime: ManagedBrokers, topology: Topology, load_began_ns: int, given_up: Iterable[str] = ()
) -> Iterator[str]:
    """Yield a sentence with the attempts of each link that declares when to retry, or that is one of ``given_up``.

    ``load_began_ns``: Unix time. Links that call the same address from one broker share a sentence.
    """
    of_product, named = management_of(topology).link_log, {*given_up}
    if of_product is None or of_product.attempts is None:
        return
    names_by_call: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for link in topology.links:
        addresses = _addresses(runtime, topology, link)
        if addresses and (link.declares_retries or link.name in named):
            names_by_call.setdefault((link.opened_by.name, addresses), []).append(link.name)
    for (opener, addresses), names in names_by_call.items():
        made = of_product.attempts(log_of(runtime.log_path(opener)), addresses)
        if made:
            yield f"link {', '.join(names)}: {opener} {_described(made, load_began_ns)}"


def _described(made: Sequence[LinkAttempt], load_began_ns: int) -> str:
    """Return ``tried to connect 2 times, at (in seconds of the load) 3.46: Connection refused, 5.46: connected``."""
    shown = [
        f"{(attempt.at_ns - load_began_ns) / NS_PER_S:.2f}: {attempt.result or 'no result'}"
        for attempt in made[-MOST_ATTEMPTS:]
    ]
    waits_s = [f"{(later.at_ns - attempt.at_ns) / NS_PER_S:.2f}" for attempt, later in _failed(made[-MOST_ATTEMPTS:])]
    waits = f"; seconds from each failed attempt to the next: {', '.join(waits_s)}" if waits_s else ""
    excerpt = f" (the last {MOST_ATTEMPTS})" if len(made) > MOST_ATTEMPTS else ""
    times = "once" if len(made) == 1 else f"{len(made)} times"
    return f"tried to connect {times}{excerpt}, at (in seconds of the load) {', '.join(shown)}{waits}"


def _failed(made: Sequence[LinkAttempt]) -> list[tuple[LinkAttempt, LinkAttempt]]:
    """Return each failed attempt with the attempt after it."""
    return [(attempt, later) for attempt, later in pairwise(made) if attempt.outcome is Outcome.FAILED]


def _is_alone(runtime: ManagedBrokers, topology: Topology, link: Link) -> bool:
    """Return whether the log tells the link from the other links of its opener."""
    addresses = {*_addresses(runtime, topology, link)}
    others = (other for other in topology.links if other.opened_by.name == link.opened_by.name and other != link)
    return all(addresses.isdisjoint(_addresses(runtime, topology, other)) for other in others)


def _addresses(runtime: ManagedBrokers, topology: Topology, link: Link) -> tuple[str, ...]:
    of_product = management_of(topology).link_log
    if of_product is None or of_product.addresses is None:
        return ()
    return of_product.addresses(runtime.rendered(), link.opened_by.name, link.name)
