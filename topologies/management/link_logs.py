"""Reports what the openers of links logged: when they tried to connect, and links that they no longer try."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

from records.units import NS_PER_S
from topologies.management.contract import ManagedBrokers, current_files, management_of
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
class LoggedLink:
    """A link as the log of its opener shows it.

    ``name``: at the start of the run. ``names``: since then, one for each topology of the run. ``addresses``: each
    ``host:port`` that it calls; empty if the log names links, or if the addresses are not known.
    """

    name: str
    opener: str
    names: tuple[str, ...]
    addresses: tuple[str, ...]
    declares_retries: bool

    @property
    def is_renamed(self) -> bool:
        return len({*self.names}) > 1

    def is_like(self, other: "LoggedLink") -> bool:
        """Return whether log entries of one of the links may belong to the other one."""
        if self.addresses or other.addresses:
            return self.opener == other.opener and not {*self.addresses}.isdisjoint(other.addresses)
        return self.opener == other.opener and not {*self.names}.isdisjoint(other.names)


def logged_links(runtime: ManagedBrokers, topologies: Sequence[Topology]) -> list[LoggedLink]:
    """Return the links of a run. ``topologies``: at the start, then after each restart that changed settings."""
    return [
        LoggedLink(
            versions[0].name,
            versions[0].opened_by.name,
            tuple(dict.fromkeys(link.name for link in versions)),
            _addresses(runtime, topologies[-1], versions),
            any(link.declares_retries for link in versions),
        )
        for versions in zip(*(topology.links for topology in topologies), strict=True)
    ]


@dataclass(frozen=True)
class GaveUp:
    """The last log entry in which a link's opener stops its attempts, and whether a later entry ends this state.

    ``times``: the number of such entries since the opener's last start. ``link_connected``: the link, or another one
    that the log does not tell from it, connected after the last entry.
    """

    line: str
    times: int
    link_connected: bool = False

    @property
    def broker_started(self) -> bool:
        return self.times == 0


def gave_up(runtime: ManagedBrokers, topologies: Sequence[Topology], links: Iterable[LoggedLink]) -> dict[str, GaveUp]:
    """Return the links that gave up, by their names at the start, also those that were started again later."""
    if (of_product := management_of(topologies[-1]).link_log) is None:
        return {}
    text_of = cache(lambda opener: "\n".join(log_of(runtime.log_path(opener))))
    found = {}
    for link in links:
        text = text_of(link.opener)
        if entries := [*of_product.give_up_pattern(link.names, link.addresses).finditer(text)]:
            started_at = max((start.end() for start in of_product.broker_starts.finditer(text)), default=0)
            connected = of_product.connected_pattern(link.names, link.addresses).search(text, entries[-1].end())
            times = sum(entry.start() >= started_at for entry in entries)
            found[link.name] = GaveUp(entries[-1][0][:LINE_LIMIT], times, connected is not None)
    return found


def give_up_lines(runtime: ManagedBrokers, topology: Topology, links: Iterable[Link]) -> dict[str, str]:
    """Return the log entries of links that gave up and were not started again, by the links' names.

    If one of several links to the same address connected later, none of them counts as started again.
    """
    return {name: end.line for name, (end, _) in _not_started_again(runtime, topology, links).items()}


def stay_down(runtime: ManagedBrokers, topology: Topology, down: Iterable[Link]) -> set[str]:
    """Return which of the links that are down have no attempts left.

    If the log does not tell links apart, none of them is returned until there is an entry for each that is down.
    """
    down = list(down)
    names = {link.name for link in down}
    return {
        name
        for name, (end, alike) in _not_started_again(runtime, topology, down).items()
        if end.times >= len(names & alike)
    }


def _not_started_again(
    runtime: ManagedBrokers, topology: Topology, links: Iterable[Link]
) -> dict[str, tuple[GaveUp, set[str]]]:
    """Return the links that gave up, each with the names of the links that the log does not tell apart."""
    every = logged_links(runtime, [topology])
    alike = {link.name: {other.name for other in every if link.is_like(other)} for link in every}
    names = {link.name for link in links}
    ends = gave_up(runtime, [topology], [link for link in every if link.name in names])
    return {
        name: (end, alike[name])
        for name, end in ends.items()
        if not end.broker_started and not (end.link_connected and len(alike[name]) == 1)
    }


def give_up_sentences(runtime: ManagedBrokers, topologies: Sequence[Topology]) -> Iterator[str]:
    """Yield a sentence per link whose opener gave up; links that the log does not tell apart share one.

    ``topologies``: as in `logged_links`.
    """
    links = logged_links(runtime, topologies)
    ends = gave_up(runtime, topologies, links)
    links_by_end: dict[tuple[str, GaveUp], list[LoggedLink]] = {}
    for link in links:
        if link.name in ends:
            links_by_end.setdefault((link.opener, ends[link.name]), []).append(link)
    for (opener, end), alike in links_by_end.items():
        shared = f" (the log does not tell these {len(alike)} apart)" if alike[1:] else ""
        names = " or ".join(link.name for link in alike)
        yield f"link {names} gave up{shared}: {opener} logged {end.line!r}; {_since(end, opener, alike)}"


def _since(end: GaveUp, opener: str, links: Sequence[LoggedLink]) -> str:
    """Return what the log shows after the link gave up, or how to start it: a renamed link has no faults."""
    if end.broker_started:
        return f"{opener} was started again later"
    if end.link_connected:
        return "one of these links connected later" if links[1:] else "it connected again later"
    faults = " or ".join(f"'start-link({link.name}, at=S)'" for link in links if not link.is_renamed)
    return "it stays down until the broker restarts" + (f", or until --fault {faults} starts it" if faults else "")


def attempt_sentences(runtime: ManagedBrokers, topologies: Sequence[Topology], load_began_ns: int) -> Iterator[str]:
    """Yield a sentence with the attempts of each link that declares when to retry, or that gave up.

    ``topologies``: as in `logged_links`. ``load_began_ns``: Unix time. Links that call the same address from one broker
    share a sentence.
    """
    of_product = management_of(topologies[-1]).link_log
    if of_product is None or of_product.attempts is None:
        return
    links = logged_links(runtime, topologies)
    given_up = gave_up(runtime, topologies, links)
    names_by_call: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for link in links:
        if link.addresses and (link.declares_retries or link.name in given_up):
            names_by_call.setdefault((link.opener, link.addresses), []).append(link.name)
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


def _addresses(runtime: ManagedBrokers, topology: Topology, versions: Sequence[Link]) -> tuple[str, ...]:
    """Return the addresses by the files from the start of the run and by the current ones. A restart keeps the ports.

    ``versions``: the link in each topology of the run.
    """
    of_product = management_of(topology).link_log
    if of_product is None or of_product.addresses is None:
        return ()
    rendered = runtime.rendered()
    first_and_last = [(rendered, versions[0]), (current_files(rendered), versions[-1])][-len(versions) :]
    called = (of_product.addresses(files, link.opened_by.name, link.name) for files, link in first_and_last)
    return tuple(dict.fromkeys(address for addresses in called for address in addresses))
