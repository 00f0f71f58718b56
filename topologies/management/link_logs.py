"""Reports what the openers of links logged: when they tried to connect, and links that they no longer try."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path

from records.units import NS_PER_S
from topologies.management.contract import ManagedBrokers, management_of
from topologies.model.link import Link
from topologies.model.management import LinkAttempt
from topologies.model.topology import Topology

LINE_LIMIT = 600  # the reason is at the end, after long thread names
MOST_ATTEMPTS = 12


def log_of(path: Path | None) -> list[str]:
    """The lines of a broker's log; [] if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines() if path else []
    except OSError:
        return []


def give_up_lines(runtime: ManagedBrokers, topology: Topology, links: Iterable[Link]) -> dict[str, str]:
    """Return the last log entry in which the opener of a link stops its attempts, by the link's name."""
    if (of_product := management_of(topology).link_log) is None:
        return {}
    text_of = cache(lambda opener: "\n".join(log_of(runtime.log_path(opener))))
    found = {
        link.name: of_product.give_up_pattern(link.name, _addresses(runtime, topology, link)).findall(
            text_of(link.opened_by.name)
        )
        for link in links
    }
    return {name: texts[-1][:LINE_LIMIT] for name, texts in found.items() if texts}


def give_up_sentences(runtime: ManagedBrokers, topology: Topology) -> Iterator[str]:
    """Yield a sentence per link whose opener gave up; links that the log does not tell apart share one."""
    given_up = give_up_lines(runtime, topology, topology.links)
    links = {link.name: link for link in topology.links}
    names_by_line: dict[tuple[str, str], list[str]] = {}
    for name, line in given_up.items():
        names_by_line.setdefault((links[name].opened_by.name, line), []).append(name)
    for (opener, line), names in names_by_line.items():
        shared = f" (the log does not name which of these {len(names)}: they call one address)" if names[1:] else ""
        yield (
            f"link {' or '.join(names)} gave up{shared}: {opener} logged {line!r}; it stays down until the broker "
            f"restarts, or until --fault 'start-link({names[0]}, at=S)' starts it"
        )


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
    return [(attempt, later) for attempt, later in pairwise(made) if not attempt.connected]


def _addresses(runtime: ManagedBrokers, topology: Topology, link: Link) -> tuple[str, ...]:
    of_product = management_of(topology).link_log
    if of_product is None or of_product.addresses is None:
        return ()
    return of_product.addresses(runtime.rendered(), link.opened_by.name, link.name)
