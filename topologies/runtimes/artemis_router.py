"""How is a router started beside brokers? By the binary that is on PATH: no Java package brings one."""

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from topologies.artemis_router import Router
from topologies.model import Topology
from topologies.render.artemis_router import QDROUTERD_CONF
from topologies.runtimes.jvm import BrokerFolders

QDROUTERD = "qdrouterd"
VERSION = "1.19.0"
ASK_TIMEOUT_S = 10.0
NEXT_STEP = "build it as docs/topologies.md says, or choose a topology of brokers only"


class RouterUnavailable(Exception):
    """There is no router on this machine: names the topology and its router, what was looked for and the next step."""


def find_routers(topology: Topology) -> dict[str, Path]:
    """What runs each router of a topology, by its name. Raises RouterUnavailable."""
    return {each.name: _find(topology.name, each.name) for each in topology.brokers if isinstance(each, Router)}


def _find(topology: str, router: str) -> Path:
    found = shutil.which(QDROUTERD)
    if found is None:
        raise RouterUnavailable(
            f"topology {topology!r}: router {router!r} needs {QDROUTERD} (Qpid Dispatch {VERSION}) on PATH, and there"
            f" is none (Skupper's skrouterd does not do: it has no waypoints); {NEXT_STEP}"
        )
    return Path(found)


def versions_of(routers: Mapping[str, Path]) -> dict[str, str]:
    """What runs ``routers``, and in which version; nothing where there are none. Raises RouterUnavailable."""
    executable = next(iter(routers.values()), None)
    return {QDROUTERD: version_of(executable)} if executable else {}


def version_of(executable: Path) -> str:
    """What it says of itself. Raises RouterUnavailable for one that does not run, as where a library is missing."""
    try:
        asked = subprocess.run([executable, "--version"], capture_output=True, text=True, timeout=ASK_TIMEOUT_S)
    except (OSError, subprocess.SubprocessError) as error:
        raise RouterUnavailable(f"{executable} --version: {error}; {NEXT_STEP}") from None
    if asked.returncode != 0:
        told = asked.stderr.strip().rpartition("\n")[2] or "no reason given"
        raise RouterUnavailable(f"{executable} --version ends with status {asked.returncode}: {told}; {NEXT_STEP}")
    return asked.stdout.strip()


def command(executable: Path, folders: BrokerFolders) -> list[str]:
    return [str(executable), "--conf", f"{folders.conf}/{QDROUTERD_CONF}"]
