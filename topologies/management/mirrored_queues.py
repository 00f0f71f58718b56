"""Lists the queues at both ends of each mirror, so that a run shows which queues the mirror created and removed."""

from collections.abc import Collection, Mapping

from records.tables.schemas import CANARY_PREFIX
from topologies.management.contract import ManagedBrokers, agent_at, management_of
from topologies.model.link import Link
from topologies.model.management import ManagementFailed
from topologies.model.topology import Topology

TIMEOUT_S = 3.0
REMOVAL_LIMIT_S = 10.0
CROSSING_S = 0.5
"""Time for a removal to cross a mirror without a backlog."""
MirroredQueues = dict[str, tuple[Mapping[str, int] | None, Mapping[str, int] | None]]
"""By link: the queues at its opener and at its end, with their messages; None for a broker that does not answer."""


def mirrored_queues(runtime: ManagedBrokers, topology: Topology) -> MirroredQueues:
    """List the queues now. Empty if there is no mirror."""
    mirrors = [link for link in topology.links if link.is_mirror]
    names = dict.fromkeys(end.name for link in mirrors for end in (link.opened_by, link.to))
    queues = {name: _queues(runtime, topology, name) for name in names}
    return {link.name: (queues[link.opened_by.name], queues[link.to.name]) for link in mirrors}


def removal_wait_s(topology: Topology) -> float:
    """Return the seconds after which mirrors have repeated the removal of unused queues.

    0 if no broker with a mirror removes them, or if one needs more than `REMOVAL_LIMIT_S`: the run does not wait then.
    """
    waits_s = [link.opened_by.removes_unused_queues_after_s for link in topology.links if link.is_mirror]
    longest_s = max(waits_s, default=0.0)
    return longest_s + CROSSING_S if 0 < longest_s <= REMOVAL_LIMIT_S else 0.0


def queue_names(listed: MirroredQueues, link: Link) -> tuple[object, ...]:
    """The queues at both ends of a link without their messages, to find out whether they changed."""
    return tuple(queues and sorted(queues) for queues in listed.get(link.name, ()))


def sentence(link: Link, ends: tuple[Mapping[str, int] | None, Mapping[str, int] | None], when: str) -> str:
    """Describe the queues at both ends. Pure."""
    here, there = ends
    names = (link.opened_by.name, link.to.name)
    if here is None or there is None:
        parts = [
            f"{name} did not answer" if queues is None else f"{name} had the queues {_listed(queues)}"
            for name, queues in zip(names, ends, strict=True)
        ]
        return f"mirror {link.name} {when}: {'; '.join(parts)}"
    both = [f"{name} ({here[name]} and {there[name]})" for name in sorted({*here} & {*there})]
    return (
        f"mirror {link.name} {when}: queues on both brokers, with their messages: {', '.join(both) or 'none'}; only on "
        f"{names[0]}: {_listed(here, there)}; only on {names[1]}: {_listed(there, here)}"
    )


def _listed(queues: Mapping[str, int], without: Collection[str] = ()) -> str:
    return ", ".join(f"{name} ({queues[name]})" for name in sorted({*queues} - {*without})) or "none"


def _queues(runtime: ManagedBrokers, topology: Topology, broker: str) -> dict[str, int] | None:
    list_queues = management_of(topology).list_queues
    assert list_queues is not None, "a product with mirrors lists queues"
    try:
        with agent_at(topology, runtime.management(broker), TIMEOUT_S) as agent:
            found = list_queues(agent)
    except ManagementFailed:
        return None
    return {name: count for name, count in found.items() if not name.startswith(CANARY_PREFIX)}
