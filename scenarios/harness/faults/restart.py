"""Restarts a broker in order: it is stopped, and started again at once."""

from dataclasses import dataclass, field
from typing import ClassVar

from scenarios.harness.faults.stop import StopBroker


@dataclass(frozen=True)
class RestartBroker(StopBroker):
    """SIGTERM and a start. Implements `scenarios.harness.faults.contract.Fault`. Only the broker decides how long."""

    kind: ClassVar[str] = "restart"

    for_s: float | None = field(default=0.0, init=False)
