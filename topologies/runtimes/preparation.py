"""What must be there before a broker process starts? Java, distribution, ports, passwords, files and a command line."""

import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from records.rundir import RunDirectory
from topologies.endpoints import Credentials, ManagementEndpoint
from topologies.model import Broker, Topology
from topologies.render import site as names
from topologies.render.classic import render
from topologies.runtimes.brokerprocess import BrokerProcess
from topologies.runtimes.contract import Progress
from topologies.runtimes.distribution import Distribution, cached, ensure, pinned
from topologies.runtimes.java import Java, find_java
from topologies.runtimes.jvm import BrokerFolders, Launch, agent_properties, command, environment
from topologies.runtimes.ports import LOOPBACK, choose_ports
from topologies.runtimes.private import PrivateFolder, new_password, properties
from topologies.runtimes.startup import MANAGEMENT

CLIENT, BRIDGE, AGENT = "brokerbench", "brokerbench-bridge", "brokerbench-agent"
DISTRIBUTION, JOLOKIA_AGENT = "activemq-classic", "jolokia-agent"
MANIFEST = "META-INF/MANIFEST.MF"

Ports = Mapping[tuple[str, str], int]
Render = Callable[[Topology, Broker, names.Site], Mapping[str, str]]


@dataclass(frozen=True)
class Wishes:
    """What the user of a runtime chose. ``renderer`` makes the files of one broker."""

    memory_mb: int = 512
    base_port: int | None = None
    keep_data: bool = False
    renderer: Render = render


@dataclass(frozen=True)
class Prepared:
    """Everything that one run's brokers are started with, by broker name; nothing runs yet."""

    private: PrivateFolder
    ports: Ports  # by (broker, protocol); the agent's under MANAGEMENT
    client: Credentials
    management: Mapping[str, ManagementEndpoint]
    folders: Mapping[str, BrokerFolders]
    processes: Mapping[str, BrokerProcess]
    rendered: Mapping[str, str] = field(repr=False)  # by "broker/file"
    versions: Mapping[str, str]

    def ports_of(self, broker: str) -> dict[str, int]:
        """By protocol, and the agent's under MANAGEMENT."""
        return {protocol: port for (name, protocol), port in self.ports.items() if name == broker}


def prepare(topology: Topology, directory: RunDirectory, wishes: Wishes, progress: Progress) -> Prepared:
    """Raises NoJava, DistributionUnavailable, PortUnavailable or OSError; leaves no secret behind then."""
    java = find_java()
    home, agent = (_ensured(pinned(name), progress) for name in (DISTRIBUTION, JOLOKIA_AGENT))
    brokers = [broker.name for broker in topology.brokers]
    ports = choose_ports(_wanted_ports(topology), wishes.base_port)
    client, agent_password = Credentials(CLIENT, new_password()), new_password()
    management = {name: _management(name, ports[name, MANAGEMENT], agent_password) for name in brokers}
    folders = {name: BrokerFolders(directory.broker_folder(name).absolute()) for name in brokers}
    private = PrivateFolder.create()
    try:
        secrets = private.write("brokers.properties", properties(_secrets(client)))
        launch = Launch(java.executable, home, agent, secrets, wishes.memory_mb)
        rendered = _write_files(topology, wishes.renderer, ports, folders)
        processes = {
            name: _process(launch, folders[name], private, management[name], wishes.keep_data) for name in brokers
        }
    except BaseException:
        private.remove()
        raise
    return Prepared(private, ports, client, management, folders, processes, rendered, _versions(java, home))


def _ensured(distribution: Distribution, progress: Progress) -> Path:
    if not cached(distribution):
        progress(f"fetching {distribution.coordinate} (once; later runs take it from the cache)")
    return ensure(distribution)


def _wanted_ports(topology: Topology) -> list[tuple[str, str]]:
    listening = [(broker.name, protocol) for broker in topology.brokers for protocol in broker.protocols]
    return listening + [(broker.name, MANAGEMENT) for broker in topology.brokers]


def _management(broker: str, port: int, password: str) -> ManagementEndpoint:
    return ManagementEndpoint(broker, f"http://{LOOPBACK}:{port}/jolokia/", AGENT, password)


def _secrets(client: Credentials) -> dict[str, str]:
    return {
        names.CLIENT_USERNAME: client.username,
        names.CLIENT_PASSWORD: client.password,
        names.BRIDGE_USERNAME: BRIDGE,
        names.BRIDGE_PASSWORD: new_password(),
    }


def _write_files(
    topology: Topology, renderer: Render, ports: Ports, folders: Mapping[str, BrokerFolders]
) -> dict[str, str]:
    """Every broker's rendered files, written to its ``conf``; returned by ``broker/file``."""
    site = names.Site({key: port for key, port in ports.items() if key[1] != MANAGEMENT})
    rendered = {}
    for broker in topology.brokers:
        folders[broker.name].make()
        for filename, text in renderer(topology, broker, site).items():
            rendered[f"{broker.name}/{filename}"] = text
            (folders[broker.name].conf / filename).write_text(text, encoding="utf-8")
    return rendered


def _process(
    launch: Launch, folders: BrokerFolders, private: PrivateFolder, management: ManagementEndpoint, keep_data: bool
) -> BrokerProcess:
    agent_file = private.write(f"agent-{management.broker}.properties", agent_properties(management))
    return BrokerProcess(
        command(launch, folders, agent_file),
        environment(),
        log=folders.log_file,
        pid_file=private.path / f"{management.broker}.pid",
        remove=[private.path] if keep_data else [private.path, folders.data],
    )


def _versions(java: Java, home: Path) -> dict[str, str]:
    return {
        "activemq": _manifest_version(home / "bin" / "activemq.jar") or pinned(DISTRIBUTION).version,
        "jolokia-agent": pinned(JOLOKIA_AGENT).version,
        "java": java.version,
        "java-source": java.source,
    }


def _manifest_version(jar: Path) -> str:
    """Implementation-Version of a jar, '' where it has none."""
    with zipfile.ZipFile(jar) as archive:
        lines = archive.read(MANIFEST).decode("utf-8").splitlines()
    entries = dict(line.partition(": ")[::2] for line in lines)
    return entries.get("Implementation-Version", "").strip()
