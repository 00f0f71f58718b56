"""Gathers the facts about this machine for `doctor`. It starts and downloads nothing."""

import http.client
import json
import os
import resource
import shutil
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from urllib.parse import urlsplit

import psutil

from brokerbench.doctor import OPTIONAL_LIBRARIES, REQUIRED_LIBRARIES, WANTED_PORTS, Facts
from drivers.realtime import why_refused
from harness.machine import why_no_names, why_no_temporary_files, why_too_few_files
from topologies.jvm.distribution import DistributionUnavailable, PinnedArtifact, cache_folder, ensure
from topologies.jvm.java import NoJava, find_java
from topologies.model.launch import LOOPBACK
from topologies.pinned import PINNED, pinned
from topologies.runtimes.choice import cores_here
from topologies.runtimes.containers.guard import connection_to
from topologies.runtimes.processes.cpu_groups import dead_groups, why_no_quota_here
from topologies.runtimes.processes.disks import dead_loops, why_no_disks_here
from topologies.runtimes.processes.guard import __file__ as guard_file
from topologies.runtimes.proxies.toxiproxy import ToxiproxyUnavailable, find_toxiproxy

DOCKER_SOCKET = "unix:///var/run/docker.sock"
DOCKER_TIMEOUT_S = 3.0
GUARD = Path(guard_file).parts[-3:]  # the watchdog's path in any clone


def gather(runs: Path) -> Facts:
    """Gather all facts for `doctor`. ``runs``: the folder with the runs; it does not have to exist."""
    java, java_problem = _java()
    engine, engine_problem = docker_engine(os.environ.get("DOCKER_HOST") or DOCKER_SOCKET)
    return Facts(
        python=sys.version_info[:3],
        java=java,
        java_problem=java_problem,
        # the versions of a run without --broker-version
        distributions={
            f"{distribution.name} {distribution.version}": cached(distribution)
            for distribution in PINNED
            if distribution == pinned(distribution.name)
        },
        docker=engine,
        docker_problem=engine_problem,
        toxiproxy=_toxiproxy(),
        libraries={name: _version(name) for name in (*REQUIRED_LIBRARIES, *OPTIONAL_LIBRARIES)},
        free_ports=free_ports(WANTED_PORTS),
        disk_free_bytes={"runs": free_bytes(runs), "cache": free_bytes(cache_folder())},
        open_files_hard=_open_files_hard(),
        too_few_files=why_too_few_files(),
        names_problem=why_no_names(),
        temporary_files_problem=why_no_temporary_files(),
        memory_available_bytes=psutil.virtual_memory().available,
        cores=cores_here(),
        load_1_min=os.getloadavg()[0],
        priority_refused=why_refused(),
        disks_refused=why_no_disks_here(),
        quota_refused=why_no_quota_here(),
        leftovers=(*guarded(), *disks_left(), *groups_left()),
    )


def _java() -> tuple[str | None, str]:
    try:
        java = find_java()
    except NoJava as error:
        return None, str(error)
    return f"{java.version} at {java.home}, from {java.source}", ""


def _toxiproxy() -> str | None:
    try:
        return str(find_toxiproxy("any"))
    except ToxiproxyUnavailable:
        return None


def cached(distribution: PinnedArtifact) -> str | None:
    """Return the distribution's path in the cache; None if a run would have to download it."""

    def refuse(_distribution: PinnedArtifact, _folder: Path) -> Path:
        raise LookupError("brokerbench doctor downloads nothing")

    if not cache_folder().exists():
        return None
    try:
        return str(ensure(distribution, fetch=refuse))
    except DistributionUnavailable:
        return None


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def free_ports(wanted: int) -> int:
    """Return the number of loopback ports that can be bound at the same time, up to ``wanted``."""
    with ExitStack() as held:
        for count in range(wanted):
            holder = held.enter_context(socket.socket(socket.AF_INET, socket.SOCK_STREAM))
            try:
                holder.bind((LOOPBACK, 0))
            except OSError:
                return count
    return wanted


def free_bytes(folder: Path) -> int:
    """Return the free space on the disk where ``folder`` is, or would be."""
    existing = next(place for place in (folder.absolute(), *folder.absolute().parents) if place.exists())
    return shutil.disk_usage(existing).free


def _open_files_hard() -> int | None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    return None if hard == resource.RLIM_INFINITY else hard


def docker_engine(host: str) -> tuple[str | None, str]:
    """Return (version, "") of the engine that answers at ``host``, else (None, reason)."""
    if urlsplit(host).scheme not in ("unix", "tcp", "http"):
        return None, f"{host}: only unix:// and tcp:// are supported here"
    connection = connection_to(host, DOCKER_TIMEOUT_S)
    try:
        connection.request("GET", "/version")
        return str(json.load(connection.getresponse())["Version"]), ""
    except (OSError, http.client.HTTPException, ValueError, LookupError, TypeError) as error:
        return None, f"{host} does not answer: {getattr(error, 'strerror', None) or type(error).__name__}"
    finally:
        connection.close()


def guarded(clone: Path | None = None) -> Iterator[str]:
    """Yield a line for each process under the watchdog of a run: ``pid 12 (java), since 14:02``.

    Covers all runs on this machine, or only the runs that ``clone`` (the root of a working copy) started.
    """
    for guard in psutil.process_iter():
        with suppress(psutil.Error):
            if any(_is_guard(Path(argument), clone) for argument in guard.cmdline()):
                for child in guard.children():
                    since = time.strftime("%H:%M", time.localtime(child.create_time()))
                    yield f"pid {child.pid} ({child.name()}), since {since}"


def disks_left() -> Iterator[str]:
    """Yield a line for each disk of a run that was killed together with its guard."""
    for loop in dead_loops():
        yield f"{loop.device} ({loop.image}), of a run that is gone; the next run with disks removes it"


def groups_left() -> Iterator[str]:
    """Yield a line for each control group of a run that was killed together with its guards."""
    for group in dead_groups():
        yield f"control group {group}, of a run that is gone; the next run with --broker-cpus removes it"


def _is_guard(argument: Path, clone: Path | None) -> bool:
    return argument.parts[-3:] == GUARD and (clone is None or argument.is_relative_to(clone))
