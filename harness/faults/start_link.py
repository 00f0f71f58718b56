"""Starts a network connector or a broker connection by hand, as an operator does in the console.

Before and after:

    broker ──  (not started: nothing crosses)  ── broker   ──►   broker ──► broker
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import ClassVar

from harness.faults.contract import Fault, LinkFault, Probe
from harness.faults.disconnect import DisconnectClients
from harness.faults.full_store import FullStore
from topologies.model.topology import Topology
from topologies.runtimes.capabilities import Capability
from topologies.runtimes.contract import Runtime
from topologies.runtimes.managed import operations_of

START_TIMEOUT_S = 60.0  # Classic may wait for 30 s before it retries
HARMLESS = (DisconnectClients, FullStore)  # they leave links up


@dataclass(frozen=True)
class StartLink(LinkFault):
    """A start through the management interface of the broker that opens the link. The link stays up."""

    kind: ClassVar[str] = "start-link"
    seconds: ClassVar[dict[str, str]] = {}
    does: ClassVar[str] = (
        "the link is not started until `at`, and the run does not prove it; then its network connector or AMQP "
        "connection is started through the management interface of the broker that opens it; a link that an earlier "
        "fault may have ended is stopped first"
    )
    needs: ClassVar[tuple[Capability, ...]] = (Capability.OPERATES_BROKERS, Capability.MANAGES_BROKERS)
    through_proxy: ClassVar[bool] = False
    may_stay: ClassVar[bool] = False
    changes_state: ClassVar[bool] = True
    effect_timeout_s: ClassVar[float] = START_TIMEOUT_S

    @property
    def lasts_s(self) -> float:
        return 0.0

    @property
    def has_end(self) -> bool:
        return False

    def why_not_in(self, topology: Topology, faults: Sequence[Fault]) -> str:
        return self.why_down(topology) or self.why_not_in_cluster(
            topology, "start", "use an AMQP connection, such as in --topology senders"
        )

    def begin(self, runtime: Runtime) -> None:
        """Stop it first: an Artemis connection that has used all its attempts counts as started."""
        operations_of(runtime).stop_link(self.target)
        operations_of(runtime).start_link(self.target)

    def end(self, runtime: Runtime) -> None:
        """Leave the link up."""

    def in_effect(self, probe: Probe) -> bool:
        return probe.link_is_up(self.target)


def waiting_at_start(faults: Sequence[Fault], topology: Topology) -> frozenset[str]:
    """Return the links that are down until their first `StartLink`. Pure.

    A link that an earlier fault may end is up at the start: the fault starts it again. If it has ``auto_start`` off,
    only an earlier fault of the link itself means that.
    """
    return frozenset(
        fault.target for fault in faults if isinstance(fault, StartLink) and _waits_for(fault, faults, topology)
    )


def _waits_for(start: StartLink, faults: Sequence[Fault], topology: Topology) -> bool:
    link = next(link for link in topology.links if link.name == start.target)
    ends: Collection[str] = {link.opened_by.name, link.to.name} if link.starts_by_itself else ()
    return not any(
        fault.at_s < start.at_s and (fault.target == start.target or fault.target in ends)
        for fault in faults
        if not isinstance(fault, HARMLESS)
    )
