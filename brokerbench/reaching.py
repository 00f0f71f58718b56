"""Shows how to connect to a running network, on the terminal and in files for programs. It shows no password.

Credentials are in a folder that only its owner can read; it is removed when the brokers stop. The file has the format
that --brokers-file reads. A shell can read it too (``set -a; . FILE``).
"""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from os.path import relpath
from pathlib import Path
from shlex import join
from shutil import which

import yaml

import scenarios
from topologies.model.endpoints import Credentials
from topologies.model.management import ManagementFailed
from topologies.model.topology import Topology
from topologies.runtimes.capabilities import Capability, can
from topologies.runtimes.contract import Runtime
from topologies.runtimes.external.credentials import ExternalCredentials
from topologies.runtimes.external.file import BROKERS, CREDENTIALS_FILE, MANAGEMENT, SCHEMES
from topologies.runtimes.private import PrivateFolder

BROKERS_NAME, CREDENTIALS_NAME, AUTHORITY_NAME = "brokers.yaml", "credentials.env", "authority.pem"
STEADY = Path(scenarios.__path__[0]) / "steady.py"
WIDTH = 12
PROTOCOL = "stomp"  # a run's default protocol


@dataclass(frozen=True)
class LoadOptions:
    """The options of ``up`` that a run on its brokers needs, too. ``failover``: None for the groups' options."""

    name: str
    protocol: str = PROTOCOL
    failover: str | None = None


@dataclass(frozen=True)
class ReachFiles:
    """``brokers``: for ``--brokers-file``; ``credentials``: the file it refers to; ``authority``: for --ca-file."""

    brokers: Path
    credentials: Path
    authority: Path | None = None  # None if no broker uses TLS


def uris_of(runtime: Runtime, broker: str) -> dict[str, str]:
    """Return the broker's URIs for every protocol that it supports."""
    uris = {}
    for protocol in SCHEMES:
        with suppress(KeyError):
            uris[protocol] = runtime.endpoint(broker, protocol).uri
    return uris


def management_of(runtime: Runtime, broker: str) -> str:
    """Return the URL of the broker's Jolokia; empty if it has none."""
    try:
        return runtime.management(broker).url
    except ManagementFailed:
        return ""


@contextmanager
def files_for(runtime: Runtime, topology: Topology) -> Iterator[ReachFiles | None]:
    """Write the files, and remove them at the end. None for external brokers: the user has their files."""
    if not can(runtime.name, Capability.OWNS_BROKERS):
        yield None
        return
    folder = PrivateFolder.create()
    try:
        names = [broker.name for broker in topology.brokers]
        managed = next((name for name in names if management_of(runtime, name)), names[0])
        agent = runtime.management(managed)  # the same for all brokers of a run
        secrets = ExternalCredentials(runtime.credentials(), Credentials(agent.username, agent.password))
        credentials = folder.write(CREDENTIALS_NAME, secrets.as_file())
        authority = folder.write(AUTHORITY_NAME, runtime.trusted_pem) if runtime.trusted_pem else None
        yield ReachFiles(folder.write(BROKERS_NAME, brokers_file(runtime, topology)), credentials, authority)
    finally:
        folder.remove()


def brokers_file(runtime: Runtime, topology: Topology) -> str:
    """Return YAML in the format of ``--brokers-file``."""
    brokers = {}
    for broker in topology.brokers:
        management = management_of(runtime, broker.name)
        uris = _that_a_file_takes(uris_of(runtime, broker.name))
        brokers[broker.name] = uris | {MANAGEMENT: management} if management else uris
    return yaml.safe_dump({BROKERS: brokers, CREDENTIALS_FILE: CREDENTIALS_NAME}, sort_keys=False)


def _that_a_file_takes(uris: Mapping[str, str]) -> dict[str, str]:
    """Return the URIs without OpenWire over http, which no client here supports."""
    return {protocol: uri for protocol, uri in uris.items() if uri.partition("://")[0] in SCHEMES[protocol]}


def describe(
    load_options: LoadOptions,
    topology: Topology,
    runtime: Runtime,
    logs: Path,
    files: ReachFiles | None,
    unproven: int = 0,
) -> str:
    """Describe how to connect. ``unproven``: number of paths that no canary could prove."""
    proven = f"every path except {unproven} is proven" if unproven else "every path is proven"
    parts = [f"{load_options.name} is up ({runtime.name}), and {proven}"]
    for broker in topology.brokers:
        addresses = uris_of(runtime, broker.name) | {MANAGEMENT: management_of(runtime, broker.name) or "none known"}
        parts.append(_section(broker.name, list(addresses.items())))
    parts += [
        _section(f"clients: {group}", [("", uri) for uri in uris])
        for group, uris in failover_uris(runtime, topology, load_options.failover).items()
    ]
    parts.append(_ways(load_options, runtime, logs, files))
    return "\n\n".join(parts)


def failover_uris(runtime: Runtime, topology: Topology, failover: str | None) -> dict[str, list[str]]:
    """Return the URIs of each client group, one for every protocol that all its brokers support."""
    uris = {broker.name: uris_of(runtime, broker.name) for broker in topology.brokers}
    uris_by_group = {}
    for group in topology.groups:
        chosen = group if failover is None else replace(group, failover=failover)
        spoken = [p for p in SCHEMES if all(p in uris[broker.name] for broker in group.enter_at)]
        uris_by_group[group.name] = [
            chosen.failover_uri({broker.name: uris[broker.name][protocol] for broker in group.enter_at})
            for protocol in spoken
        ]
    return uris_by_group


def load_command(load_options: LoadOptions, files: ReachFiles) -> str:
    """Return the command for a run on these brokers, for the folder in which ``up`` was started."""
    words = [
        _locust(),
        "-f",
        relpath(STEADY),
        "--headless",
        "--topology",
        load_options.name,
        "--brokers-file",
        str(files.brokers),
    ]
    words += ["--protocol", load_options.protocol] if load_options.protocol != PROTOCOL else []
    words += ["--failover", load_options.failover] if load_options.failover is not None else []
    words += ["--ca-file", str(files.authority)] if files.authority else []
    return join(words)


def _locust() -> str:
    """Return the path of this installation's locust, or just its name if a shell finds the same one."""
    ours, on_path = Path(sys.executable).with_name("locust"), which("locust")
    return "locust" if on_path and Path(on_path).resolve() == ours.resolve() else relpath(ours)


def _ways(load_options: LoadOptions, runtime: Runtime, logs: Path, files: ReachFiles | None) -> str:
    if files is None:
        user = runtime.credentials().username
        return f"brokerbench did not start these brokers, so it leaves them running. Log in as user {user!r}."
    lines = [
        ("user", runtime.credentials().username),
        ("passwords", f"{files.credentials} (only you can read it; deleted when the brokers stop)"),
        *([("authority", f"{files.authority} (certificate authority to trust for TLS)")] if files.authority else []),
        ("a load", load_command(load_options, files)),
        ("logs", f"{logs}/brokers/"),
    ]
    return "\n".join([*(f"{label:<{WIDTH}}{how}" for label, how in lines), "", "Ctrl-C stops the brokers."])


def _section(title: str, rows: list[tuple[str, str]]) -> str:
    return "\n".join([title, *(f"  {label:<{WIDTH}}{value}" if label else f"  {value}" for label, value in rows)])
