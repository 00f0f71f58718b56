"""The interface of a runtime. Runtimes differ in where brokers run, not in the operations on them.

A runtime is created for one run of one topology. `up` starts all brokers in parallel; the single-broker operations take
a broker's name in the topology. All calls block only the calling greenlet. `close` is idempotent, may be called at any
time (also during `up`), and leaves no process, container, network, port or secret behind.
"""

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Protocol

from topologies.model.endpoints import Credentials, Endpoint, ManagementEndpoint

Progress = Callable[[str], None]
"""Called with one short line for each event that users should see."""


LOG_TAIL_LINES = 20
"""How many lines of a broker's log are shown if it failed."""


class RuntimeFailed(Exception):
    """A broker could not be started or operated: names the broker, the event, its last log lines and the next step."""


class NotUpInTime(RuntimeFailed):
    """A broker took too long to come up. On a busy machine, another try may succeed."""


class Runtime(Protocol):
    name: str  # processes | containers | external | memory
    trusted_pem: str  # for TLS, the authority of brokers that have their own; '' if others are trusted

    def up(self, progress: Progress, absent: Collection[str] = ()) -> None:
        """Render, start all brokers in parallel, and return when each accepts connections. Raises RuntimeFailed.

        ``absent``: names of brokers that are prepared but not started; `start` may do that later.
        """

    def start(self, broker: str) -> None: ...
    def stop(self, broker: str) -> None:
        """Shut the broker down and wait for it; kill it after a timeout."""

    def kill(self, broker: str) -> None:
        """Kill the broker without warning (SIGKILL or equivalent)."""

    def pause(self, broker: str) -> None:
        """Freeze the broker (SIGSTOP): its sockets stay open, but it does not answer."""

    def resume(self, broker: str) -> None: ...
    def alive(self, broker: str) -> bool: ...

    def outage(self) -> str:
        """Return what ended all brokers at once, with the next step; '' if nothing did. Never blocks for long."""

    def endpoint(self, broker: str, protocol: str) -> Endpoint:
        """Return the broker's address for clients. Raises KeyError, which lists the broker's protocols."""

    def management(self, broker: str) -> ManagementEndpoint:
        """Return the agent's address and login.

        Raises ManagementFailed if the broker has no reachable agent.
        """

    def credentials(self) -> Credentials: ...
    def pid(self, broker: str) -> int | None:
        """Return the broker's process on this machine, if there is one (for CPU and memory)."""

    def log_tail(self, broker: str) -> list[str]: ...
    def log_path(self, broker: str) -> Path | None: ...
    def versions(self) -> dict[str, str]:
        """Return the versions that ran: of the brokers, and of the programs that they need."""

    def rendered(self) -> dict[str, str]:
        """Return every configuration file as rendered, by ``broker/file``; none contains a secret."""

    def close(self) -> None: ...
