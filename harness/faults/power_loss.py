"""Cuts the power of a broker's machine: its disk keeps only flushed data.

Later the machine is switched on again. While it has no power:

    producer ──✗ broker (its process is gone) ──✗ disk (unwritten pages of the kernel are gone)
"""

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from harness.faults.contract import BrokerTakenDown, Fault
from topologies.model.topology import Topology
from topologies.runtimes.capabilities import Capability
from topologies.runtimes.contract import Runtime, RuntimeFailed
from topologies.runtimes.processes.runtime import ProcessRuntime

AND = "+"


@dataclass(frozen=True)
class PowerLoss(BrokerTakenDown):
    """An abrupt end of the broker's file system and SIGKILL, then a mount and a start.

    ``target``: in a scenario or in ``--fault``, it may also name several brokers (``broker-1+broker-2``);
    `split_by_broker` makes one fault per broker. ``again_s``: the broker loses power once more this many seconds after
    it was switched on. ``at_once``: the brokers that lose power at the same moment, including this one.
    """

    kind: ClassVar[str] = "power-loss"
    takes: ClassVar[str] = "BROKER"
    does: ClassVar[str] = (
        "the broker's machine loses power: its disk keeps only flushed data, and the broker is killed; after "
        "`for` seconds, the disk is mounted again and the broker started. For several brokers at the same moment, "
        "write `power-loss(broker-1+broker-2, at=10, for=15)`. With `again=2`, the power fails once more 2 s after the "
        "start began, and returns at once. Every broker of the run then has a separate disk, as with `--disks`. The "
        "shared store of a pair stays up, unless all brokers that use it lose power at the same moment"
    )
    needs: ClassVar[tuple[Capability, ...]] = (Capability.OPERATES_BROKERS, Capability.OWNS_DISKS)
    seconds: ClassVar[Mapping[str, str]] = {"for": "for_s", "again": "again_s"}

    again_s: float | None = None
    at_once: tuple[str, ...] = field(default=(), repr=False)  # from the plan, not from users

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.again_s is not None and not 0 < self.again_s < math.inf:
            raise ValueError(
                f"fault {self.kind} of {self.target}: again={self.again_s:g} must be greater than 0 seconds"
            )
        if self.again_s is not None and self.is_forever:
            raise ValueError(
                f"fault {self.kind} of {self.target}: again={self.again_s:g} needs a broker that is started again; "
                "write for=SECONDS, or leave again out"
            )

    def why_not_in(self, topology: Topology, faults: Sequence[Fault]) -> str:
        if topology.broker(self.target).store is None:
            return (
                "it keeps messages in memory only (persistence: null), so power-loss has the same effect as kill; use "
                "kill, or leave persistence out"
            )
        return ""

    def begin(self, runtime: Runtime) -> None:
        if not isinstance(runtime, ProcessRuntime):
            raise RuntimeFailed(f"broker {self.target!r} has no separate disk, so its power cannot be cut")
        runtime.lose_power(self.target, self.at_once)

    def end(self, runtime: Runtime) -> None:
        if self.again_s is not None and isinstance(runtime, ProcessRuntime):
            runtime.begin_start(self.target)
            time.sleep(self.again_s)
            runtime.lose_power(self.target)
        super().end(runtime)


def split_by_broker(faults: Iterable[Fault]) -> tuple[Fault, ...]:
    """Return the faults, with each power loss of several brokers split into one fault per broker. Pure."""
    return tuple(
        fault.with_target(target)
        for fault in faults
        for target in (fault.target.split(AND) if isinstance(fault, PowerLoss) else (fault.target,))
    )


def mark_simultaneous_losses(faults: Sequence[Fault]) -> tuple[Fault, ...]:
    """Return the faults, with ``at_once`` set in each power loss. Pure."""
    return tuple(
        replace(fault, at_once=tuple(other.target for other in faults if _same_moment(fault, other)))
        if isinstance(fault, PowerLoss)
        else fault
        for fault in faults
    )


def _same_moment(fault: PowerLoss, other: Fault) -> bool:
    return isinstance(other, PowerLoss) and other.at_s == fault.at_s
