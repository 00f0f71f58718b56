"""Models a router between Artemis brokers and their clients, renders its configuration, and starts its program.

It stores nothing: brokers are its waypoints, and clients connect only to it. Its program is the Qpid Dispatch router on
PATH, because no Java package contains one.
"""

import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from records.errors import UserError
from topologies.model.broker import AnyBroker
from topologies.model.launch import LOOPBACK, BrokerFolders
from topologies.model.site import Site
from topologies.model.validity import TopologyInvalid, require_plain


@dataclass(frozen=True)
class Router(AnyBroker):
    """A Qpid Dispatch router. Addresses that begin with one of ``waypoints`` pass through a broker's queue."""

    has_agent: ClassVar[bool] = False
    keeps_messages: ClassVar[bool] = False

    waypoints: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.waypoints:
            raise TopologyInvalid(f"router {self.name!r} has no waypoints: add the prefix of an address, e.g. queue")
        for prefix in self.waypoints:
            require_plain(f"router {self.name!r}", waypoints=prefix)

    def is_waypoint(self, address: str) -> bool:
        return any(address == prefix or address.startswith((f"{prefix}.", f"{prefix}/")) for prefix in self.waypoints)

    @property
    def protocols(self) -> tuple[str, ...]:
        return ("amqp",)


QDROUTERD_CONF = "qdrouterd.conf"


def render(router: Router, site: Site) -> dict[str, str]:
    """Render qdrouterd.conf. One listener serves clients and brokers: a broker's peer declares itself.

    The router requires no password from clients, so it may listen on loopback only.
    """
    waypoints = "".join(f"\naddress {{\n    prefix: {prefix}\n    waypoint: yes\n}}\n" for prefix in router.waypoints)
    return {
        QDROUTERD_CONF: f"""\
router {{
    mode: standalone
    id: {router.name}
}}

listener {{
    host: {site.bind_host}
    port: {site.port(router.name, "amqp")}
    role: normal
    authenticatePeer: no
    saslMechanisms: ANONYMOUS
}}
{waypoints}"""
    }


QDROUTERD = "qdrouterd"
VERSION = "1.19.0"
ASK_TIMEOUT_S = 10.0
NEXT_STEP = "build it by bash .ci/build-router.sh SOURCES, as docs/topologies.md says, or choose another topology"


def _find(topology: str, router: str) -> Path:
    """Find the program on PATH, or next to this Python."""
    beside = str(Path(sys.executable).parent)
    executable = shutil.which(QDROUTERD) or shutil.which(QDROUTERD, path=beside)
    if executable is None:
        raise UserError(
            f"topology {topology!r}: router {router!r} needs {QDROUTERD} (Qpid Dispatch {VERSION}), which is not on"
            f" PATH or in {beside} (Skupper's skrouterd cannot be used: it has no waypoints); {NEXT_STEP}"
        )
    return Path(executable)


def version_of(executable: Path) -> str:
    """Return the version that the program prints.

    Raises UserError if it does not run, for example because of a missing library.
    """
    try:
        answer = subprocess.run([executable, "--version"], capture_output=True, text=True, timeout=ASK_TIMEOUT_S)
    except (OSError, subprocess.SubprocessError) as error:
        raise UserError(f"{executable} --version: {error}; {NEXT_STEP}") from None
    if answer.returncode != 0:
        reason = answer.stderr.strip().rpartition("\n")[2] or "no reason given"
        raise UserError(f"{executable} --version ends with status {answer.returncode}: {reason}; {NEXT_STEP}")
    return answer.stdout.strip()


def listens(lines: Iterable[str]) -> bool:
    """Return whether the router's log shows that it listens: an open port may belong to another process. Pure."""
    return any(" (notice) Listening on " in line for line in lines)


BIND_FAILED = r"Listener error on \S*?:(\d+): "
"""Pattern of the text that a router logs about a port that it cannot bind."""


def find(topology: str, brokers: Iterable[AnyBroker], bind_host: str) -> Path | None:
    """Return the program that runs the routers of a topology; None without routers. Raises UserError."""
    routers = [broker.name for broker in brokers if isinstance(broker, Router)]
    if not routers:
        return None
    if bind_host != LOOPBACK:
        raise UserError(
            f"topology {topology!r}: router {routers[0]!r} requires no password, so it listens on {LOOPBACK}"
            f" and not on {bind_host}; leave --bind-host out"
        )
    return _find(topology, routers[0])


def command(program: Path, folders: BrokerFolders) -> list[str]:
    return [str(program), "--conf", f"{folders.conf}/{QDROUTERD_CONF}"]
