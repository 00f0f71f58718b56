"""Starts brokers and proves their links and paths, for a run and for ``brokerbench up``. Does not need Locust.

start every broker ──► prove every link ──► measure round trips ──► one canary over every path
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise

from drivers import canary
from topologies.management.link_traffic import report_round_trips
from topologies.management.link_users import await_uncertain, uncertain_links
from topologies.management.links import hold_back, prove_links, start_links
from topologies.management.sampling import Row
from topologies.model.link import Link
from topologies.model.paths import Path
from topologies.model.topology import Topology, present_links
from topologies.runtimes.capabilities import Capability, can
from topologies.runtimes.contract import Progress, Runtime
from topologies.runtimes.managed import proxies_of

PROOF_TIMEOUT_S = 30.0
"""Time limit for the links to show that they are up, and then for the canaries to arrive."""


Crossing = tuple[Sequence[Path], tuple[canary.Side, canary.Side]]
"""Paths, and how clients connect at both ends of these paths."""


@dataclass(frozen=True)
class Proof:
    """``unproven``: number of paths that no canary can take; ``round_trips``: rows of the samples table, by link."""

    unproven: int
    round_trips: tuple[Row, ...]


def bring_up(
    runtime: Runtime,
    topology: Topology,
    crossings: Sequence[Crossing],
    progress: Progress,
    started: Callable[[], None] = lambda: None,
    absent: Collection[str] = frozenset(),
    waiting: Collection[str] = frozenset(),
) -> Proof:
    """Start every broker, and prove every link and path.

    ``crossings``: the paths that clients will use, grouped by how their producers and consumers connect. ``started``:
    called once all brokers run, before the proof. ``absent``: names of brokers that join later. They are not started,
    and neither their links nor the paths over them are proven. ``waiting``: names of links that are started during the
    run. The same applies to them.

    Raises RuntimeFailed, ManagementFailed, LinksNotProven or PathsUnproven. The caller then takes down the started
    brokers.
    """
    runtime.up(progress, absent)
    if absent:
        progress(f"absent until they join, their links and paths not proven: {', '.join(sorted(absent))}")
    if waiting:
        progress(f"not started until start-link, and their paths not proven: {', '.join(sorted(waiting))}")
        hold_back(runtime, topology, waiting)
    started()
    uncertain = links_that_brokers_may_reject(runtime, topology)
    present = [link for link in present_links(topology, absent) if link.name not in waiting]
    certain = [link for link in present if link.name not in uncertain]
    round_trips = _prove_links(runtime, topology, progress, certain)
    if uncertain:
        listed = ", ".join(f"{name} ({why})" for name, why in sorted(uncertain.items()))
        progress(f"brokers may reject the users of links, so their paths are not proven: {listed}")
        start_links(runtime, topology, [link for link in present if link.name in uncertain])
        await_uncertain(runtime, topology, [link.name for link in present if link.name in uncertain])
    unproven, skipped = 0, {*waiting, *uncertain}
    down = {hop for link in topology.links if link.name in skipped for hop in link.directions}
    for paths, ends in crossings:
        there = [path for path in paths if not {*path.route} & {*absent} and not _hops(path) & down]
        askable_paths = canary.provable_paths(topology, there)
        canary.prove(askable_paths, *ends, runtime.credentials(), timeout_s=PROOF_TIMEOUT_S)
        protocols = " → ".join(end.connector.protocol for end in ends)
        progress(canary.describe(there, askable_paths, f", {protocols}" if len(crossings) > 1 else ""))
        unproven += len(there) - len(askable_paths)
    return Proof(unproven, round_trips)


def links_that_brokers_may_reject(runtime: Runtime, topology: Topology) -> dict[str, str]:
    """Return `uncertain_links` of this runtime: none if the brokers run already, with users of their own."""
    configured = can(runtime.name, Capability.CONFIGURES_BROKERS) and can(runtime.name, Capability.LINKS_BROKERS)
    return uncertain_links(topology) if configured else {}


def _hops(path: Path) -> set[tuple[str, str]]:
    return set(pairwise(path.route))


def _prove_links(runtime: Runtime, topology: Topology, progress: Progress, links: Sequence[Link]) -> tuple[Row, ...]:
    """Prove that both ends of each link show it as up, and return the round trips of the links through proxies."""
    if not can(runtime.name, Capability.LINKS_BROKERS):
        progress("brokers in memory: no links to prove")
        return ()
    prove_links(runtime, topology, timeout_s=PROOF_TIMEOUT_S, progress=progress, links=links)
    proxies = proxies_of(runtime)
    return tuple(report_round_trips(proxies, links, progress)) if proxies else ()
