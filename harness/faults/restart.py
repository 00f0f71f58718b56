"""Restarts a broker in an orderly way: it is shut down, and started again at once."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from harness.faults.stop import StopBroker


@dataclass(frozen=True)
class RestartBroker(StopBroker):
    """SIGTERM, then a start. The duration depends on the broker alone."""

    kind: ClassVar[str] = "restart"
    does: ClassVar[str] = "the broker is shut down cleanly, and started again at once"
    seconds: ClassVar[Mapping[str, str]] = {}

    for_s: float | None = field(default=0.0, init=False)
