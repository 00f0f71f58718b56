"""What is a fault? A frozen value that knows when it begins, when it ends and what it does to a runtime."""

from typing import Protocol

from topologies.runtimes.contract import Runtime


class Fault(Protocol):
    """``at_s`` and ``for_s`` lie on the load's clock: 0 is its start."""

    @property
    def kind(self) -> str: ...
    @property
    def target(self) -> str: ...
    @property
    def at_s(self) -> float: ...
    @property
    def for_s(self) -> float: ...

    def begin(self, runtime: Runtime) -> None:
        """Make it happen. Raises RuntimeFailed when it cannot be done: the run is then invalid."""

    def end(self, runtime: Runtime) -> None:
        """Mend it. Raises RuntimeFailed."""
