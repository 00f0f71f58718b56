"""Says what a runtime promises. The runtimes differ in where brokers run, not in the operations on them.

A runtime is made for one run of one topology. `up` starts every broker side by side; the single-broker operations act
on a broker by its name in the topology. All calls block the calling greenlet only. `close` is idempotent, may be called
at any moment (also half-way through `up`), and leaves no process, container, network, port or secret behind.
"""

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Protocol

from topologies.model.endpoints import Credentials, Endpoint, ManagementEndpoint

Progress = Callable[[str], None]
"""Called with one short line whenever something worth telling happens."""


LOG_TAIL_LINES = 20
"""How much of a broker's log is shown where it failed."""


class RuntimeFailed(Exception):
    """A broker could not be started or operated: names the broker, what happened, its last log lines, the next step."""


class NotUpInTime(RuntimeFailed):
    """A broker took longer than it may to come up. On a machine with much else to do, another try may succeed."""


class Runtime(Protocol):
    name: str  # processes | containers | external | memory
    trusted_pem: str  # the authority of brokers that have one of their own, for TLS; '' where others are believed

    def up(self, progress: Progress, absent: Collection[str] = ()) -> None:
        """Render, start all brokers side by side, return when each accepts connections. Raises RuntimeFailed.

        ``absent``: brokers, by name, that are prepared but not started; `start` may do that later.
        """

    def start(self, broker: str) -> None: ...
    def stop(self, broker: str) -> None:
        """Ask the broker to shut down, wait for it, insist after a while."""

    def kill(self, broker: str) -> None:
        """SIGKILL, or the like: no goodbye to anyone."""

    def pause(self, broker: str) -> None:
        """Freeze the broker where it stands (SIGSTOP): sockets stay open, nobody answers."""

    def resume(self, broker: str) -> None: ...
    def alive(self, broker: str) -> bool: ...

    def outage(self) -> str:
        """The cause that ended all brokers at once, with the next step; '' if there is none. Never asks for long."""

    def endpoint(self, broker: str, protocol: str) -> Endpoint:
        """Raises KeyError, which names the broker's protocols, if there is none."""

    def management(self, broker: str) -> ManagementEndpoint:
        """Raises ManagementFailed (topologies.management.jolokia) when it has none that can be reached."""

    def credentials(self) -> Credentials: ...
    def pid(self, broker: str) -> int | None:
        """The broker's process on this machine, if there is one (for CPU and memory)."""

    def log_tail(self, broker: str) -> list[str]: ...
    def log_path(self, broker: str) -> Path | None: ...
    def versions(self) -> dict[str, str]:
        """What ran: broker distribution, Java, agent, …"""

    def rendered(self) -> dict[str, str]:
        """Every configuration file as rendered, by ``broker/file``: no secret in any of them."""

    def close(self) -> None: ...
