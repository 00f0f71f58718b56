"""How is a router started beside brokers? By the binary that is on PATH: no Java package brings one."""

import shutil
from pathlib import Path

from topologies.artemis_router import Router
from topologies.render.artemis_router import QDROUTERD_CONF
from topologies.runtimes.jvm import BrokerFolders

QDROUTERD = "qdrouterd"


class RouterUnavailable(Exception):
    """There is no router on this machine: names the topology's, what was looked for, and what to install."""


def find_router(router: Router) -> Path:
    """Raises RouterUnavailable."""
    found = shutil.which(QDROUTERD)
    if found is None:
        raise RouterUnavailable(
            f"router {router.name!r} needs {QDROUTERD} (Qpid Dispatch 1.19) on PATH, and there is none: install it"
            f" (Debian: apt-get install {QDROUTERD}), or choose a topology of brokers only"
        )
    return Path(found)


def command(executable: Path, folders: BrokerFolders) -> list[str]:
    return [str(executable), "--conf", f"{folders.conf}/{QDROUTERD_CONF}"]
