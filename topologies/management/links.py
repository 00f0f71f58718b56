"""Proves that every link of a topology is up, or reports the missing proofs.

Each product defines the proof of a link (``link_proof.py`` in the product's folder). Only a canary message, sent
afterwards, shows whether messages really cross.
"""

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from topologies.management.contract import ManagedBrokers, agent_at, management_of, pair_members, serving
from topologies.management.link_logs import LINE_LIMIT, give_up_lines, log_of, stay_down
from topologies.model.link import Link
from topologies.model.management import ManagementFailed
from topologies.model.topology import Topology

TIMEOUT_S = 60.0
POLL_S = 0.25
ANSWER_TIMEOUT_S = 3.0
STAYS_DOWN_S = 1.0
LOG_LINES = 5
TELLING = (" WARN ", " ERROR ", "Exception", "stopped", "shutdown", "denied", "invalid")


AnEnd = TypeVar("AnEnd")


class LinksNotProven(Exception):
    """Links that did not come up in time. Names each link, with missing proofs at its ends and lines of their logs."""


@dataclass(frozen=True)
class UnprovenLink:
    """A link that is not proven, with the missing proofs."""

    link: Link
    missing: tuple[str, ...]


def prove_links(
    runtime: ManagedBrokers,
    topology: Topology,
    *,
    timeout_s: float = TIMEOUT_S,
    progress: Callable[[str], None] | None = None,
    links: Sequence[Link] | None = None,
) -> float:
    """Wait until every link is proven; return the seconds it took. Raises LinksNotProven after ``timeout_s``.

    ``links``: only these links of the topology. If a broker at a link's end has no management address, no link is
    proven here. Then only messages can show that the links are up.
    """
    began = time.monotonic()
    wanted = topology.links if links is None else links
    if silent := _without_management(runtime, wanted):
        if progress:
            progress(f"canaries must prove the links: {', '.join(silent)} have no management address")
        return 0.0
    start_links(runtime, topology, wanted)
    while doubts := unproven(runtime, topology, wanted):
        if time.monotonic() - began >= timeout_s:
            raise LinksNotProven(_describe(doubts, timeout_s, runtime, topology))
        time.sleep(POLL_S)
    elapsed_s = time.monotonic() - began
    if progress:
        progress(f"links proven after {elapsed_s:.1f} s: {len(wanted)}")
    return elapsed_s


def hold_back(runtime: ManagedBrokers, topology: Topology, names: Collection[str]) -> None:
    """Stop the links of these names that started automatically, once they are up, and wait until all are down.

    A Classic connector that is stopped while it connects may come up afterwards. A link that has given up is down.
    Raises LinksNotProven, and ManagementFailed, also for a link that does not stay down for `STAYS_DOWN_S`.
    """
    links = [link for link in topology.links if link.name in names]
    automatic = [link for link in links if link.starts_by_itself]
    began = time.monotonic()
    while doubts := still_connecting(runtime, topology, automatic):
        if time.monotonic() - began >= TIMEOUT_S:
            raise LinksNotProven(_describe(doubts, TIMEOUT_S, runtime, topology))
        time.sleep(POLL_S)
    for link in automatic:
        with agent_at(topology, runtime.management(link.opened_by.name), ANSWER_TIMEOUT_S) as agent:
            management_of(topology).stop_link(agent, link.connector)
    began = down_since = time.monotonic()
    while time.monotonic() - down_since < STAYS_DOWN_S:
        if up := {link.name for link in links} - {doubt.link.name for doubt in unproven(runtime, topology, links)}:
            down_since = time.monotonic()
            if down_since - began >= ANSWER_TIMEOUT_S:
                raise ManagementFailed(f"link {min(up)!r} was still up {ANSWER_TIMEOUT_S:g} s after it was stopped")
        time.sleep(POLL_S)


def still_connecting(runtime: ManagedBrokers, topology: Topology, links: Sequence[Link]) -> list[UnprovenLink]:
    """Return the links that are down and have attempts left. Raises ManagementFailed for a broker without an agent."""
    doubts = unproven(runtime, topology, links)
    without_attempts = stay_down(runtime, topology, [doubt.link for doubt in doubts])
    return [doubt for doubt in doubts if doubt.link.name not in without_attempts]


def unproven(runtime: ManagedBrokers, topology: Topology, links: Sequence[Link]) -> list[UnprovenLink]:
    """Return the ``links`` that are not proven now. Raises ManagementFailed for a broker without an agent."""
    management = management_of(topology)
    ends = _ends(runtime, topology, links, management.link_end)
    return doubtful(links, ends, management.missing)


def doubtful(
    links: Sequence[Link], ends: Mapping[str, AnEnd], missing: Callable[[Link, Mapping[str, AnEnd]], tuple[str, ...]]
) -> list[UnprovenLink]:
    """Return the links that their ends, by broker, do not prove. Pure."""
    return [UnprovenLink(link, why) for link in links if (why := missing(link, ends))]


def start_links(runtime: ManagedBrokers, topology: Topology, links: Iterable[Link]) -> None:
    """Start the links that do not start automatically. Raises ManagementFailed."""
    start = management_of(topology).start_link
    for link in links:
        if not link.starts_by_itself:
            with agent_at(topology, runtime.management(link.opened_by.name), ANSWER_TIMEOUT_S) as agent:
                start(agent, link.connector)


def _at_ends(links: Iterable[Link]) -> dict[str, None]:
    """Return the brokers at the ends of links, in the order of the links. Brokers without an agent are left out."""
    ends = (end for link in links for end in (link.opened_by, link.to))
    return dict.fromkeys(end.name for end in ends if end.has_agent)


def _without_management(runtime: ManagedBrokers, links: Iterable[Link]) -> list[str]:
    silent = []
    for broker in _at_ends(links):
        try:
            runtime.management(broker)
        except ManagementFailed:
            silent.append(broker)
    return silent


def _ends(
    runtime: ManagedBrokers, topology: Topology, links: Iterable[Link], end: Callable[[Any], AnEnd]
) -> dict[str, AnEnd]:
    """Return the current data of each broker at an end of a link.

    For a pair: the broker that serves, or the active broker if none does.
    """
    ends = {}
    for broker in _at_ends(links):
        alone = len(pair_members(topology, broker)) == 1
        member = broker if alone else serving(runtime, topology, broker, ANSWER_TIMEOUT_S) or broker
        with agent_at(topology, runtime.management(member), ANSWER_TIMEOUT_S) as agent:
            ends[broker] = end(agent)
    return ends


def _describe(doubts: Sequence[UnprovenLink], timeout_s: float, runtime: ManagedBrokers, topology: Topology) -> str:
    lines = [
        f"{len(doubts)} of the links did not come up within {timeout_s:g} s; see the brokers' logs, or allow more time"
    ]
    for doubt in doubts:
        link = doubt.link
        lines.append(f"link {link.name!r} from {link.opened_by.name} to {link.to.name}: {'; '.join(doubt.missing)}")
        if text := give_up_lines(runtime, topology, [link]).get(link.name):
            of_product = management_of(topology).link_log
            lines.append(f"    {link.opened_by.name} gave up: {text}. {of_product.advice if of_product else ''}")
        for broker in (link.opened_by.name, link.to.name):
            logged = relevant(log_of(runtime.log_path(broker)), link)
            lines += [f"    {broker} logs: {line}" for line in logged]
    return "\n".join([*lines, *_unread(doubts, runtime)])


def _unread(doubts: Sequence[UnprovenLink], runtime: ManagedBrokers) -> list[str]:
    """Return which logs to check by hand: logs of brokers that we did not start cannot be read here."""
    ends = dict.fromkeys(name for doubt in doubts for name in (doubt.link.opened_by.name, doubt.link.to.name))
    if unread := [broker for broker in ends if runtime.log_path(broker) is None]:
        return [
            f"the logs of {', '.join(unread)} cannot be read from here: check the user and password of each link and,"
            " for TLS, the certificates that its opener trusts"
        ]
    return []


def relevant(log: Sequence[str], link: Link) -> list[str]:
    """Return the last log lines that name the link or report a problem of a bridge, without duplicates. Pure."""
    about = (link.name, "bridge", "Network connection", "Security")
    lines = [line for line in log if any(word in line for word in about) and any(sign in line for sign in TELLING)]
    named = [line for line in lines if link.name in line]
    return [line[:LINE_LIMIT] for line in dict.fromkeys((named or lines)[-LOG_LINES:])]
