"""What must be there before a broker starts? Distribution, ports, passwords, files and a command line.

`prepare` does it for local processes; the parts that containers need too have names without underscore.
"""

import zipfile
from collections.abc import Mapping
from pathlib import Path

from records.rundir import RunDirectory
from topologies.endpoints import Credentials, ManagementEndpoint
from topologies.model import Topology
from topologies.render import site as names
from topologies.runtimes.brokerprocess import BrokerProcess
from topologies.runtimes.contract import Progress
from topologies.runtimes.distribution import Distribution, cached, ensure, pinned
from topologies.runtimes.java import Java, find_java
from topologies.runtimes.jvm import BrokerFolders, Launch, agent_properties, command, environment
from topologies.runtimes.ports import LOOPBACK, choose_ports
from topologies.runtimes.prepared import Ports, Prepared, Render, Wishes
from topologies.runtimes.private import PrivateFolder, new_password, properties
from topologies.runtimes.startup import MANAGEMENT

CLIENT, BRIDGE, AGENT = "brokerbench", "brokerbench-bridge", "brokerbench-agent"
DISTRIBUTION, JOLOKIA_AGENT = "activemq-classic", "jolokia-agent"
MANIFEST = "META-INF/MANIFEST.MF"


def prepare(topology: Topology, directory: RunDirectory, wishes: Wishes, progress: Progress) -> Prepared[BrokerProcess]:
    """Raises NoJava, DistributionUnavailable, PortUnavailable or OSError; leaves no secret behind then."""
    java = find_java()
    home, agent = (ensured(pinned(name), progress) for name in (DISTRIBUTION, JOLOKIA_AGENT))
    brokers = [broker.name for broker in topology.brokers]
    ports = choose_ports(wanted_ports(topology), wishes.base_port, wishes.addresses)
    client, agent_password = Credentials(CLIENT, new_password()), new_password()
    management = {name: management_of(name, ports[name, MANAGEMENT], agent_password) for name in brokers}
    folders = {name: BrokerFolders(directory.broker_folder(name).absolute()) for name in brokers}
    private = PrivateFolder.create()
    try:
        secrets = private.write("brokers.properties", properties(secrets_of(client)))
        launch = Launch(java.executable, home, agent, secrets, wishes.memory_mb)
        site = names.Site(listening(ports), bind_host=wishes.bind_host)
        rendered = write_files(topology, wishes.renderer, site, folders)
        handles = {
            name: _process(launch, folders[name], private, management[name], wishes.keep_data) for name in brokers
        }
    except BaseException:
        private.remove()
        raise
    return Prepared(private, ports, client, management, folders, handles, rendered, _versions(java, home))


def ensured(distribution: Distribution, progress: Progress) -> Path:
    if not cached(distribution):
        progress(f"fetching {distribution.coordinate} (once; later runs take it from the cache)")
    return ensure(distribution)


def wanted_ports(topology: Topology) -> list[tuple[str, str]]:
    listening = [(broker.name, protocol) for broker in topology.brokers for protocol in broker.protocols]
    return listening + [(broker.name, MANAGEMENT) for broker in topology.brokers]


def listening(ports: Ports) -> dict[tuple[str, str], int]:
    """The brokers' own ports, without their agents'."""
    return {key: port for key, port in ports.items() if key[1] != MANAGEMENT}


def management_of(broker: str, port: int, password: str) -> ManagementEndpoint:
    return ManagementEndpoint(broker, f"http://{LOOPBACK}:{port}/jolokia/", AGENT, password)


def secrets_of(client: Credentials) -> dict[str, str]:
    return {
        names.CLIENT_USERNAME: client.username,
        names.CLIENT_PASSWORD: client.password,
        names.BRIDGE_USERNAME: BRIDGE,
        names.BRIDGE_PASSWORD: new_password(),
    }


def write_files(
    topology: Topology, renderer: Render, site: names.Site, folders: Mapping[str, BrokerFolders]
) -> dict[str, str]:
    """Every broker's rendered files, written to its ``conf``; returned by ``broker/file``."""
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
