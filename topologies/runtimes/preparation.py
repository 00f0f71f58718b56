"""What must be there before a broker starts? Distribution, ports, passwords, files and a command line.

`prepare` does it for local processes; the parts that containers need too have names without underscore.
"""

import zipfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from records.rundir import RunDirectory
from topologies.artemis.router import Router
from topologies.endpoints import Credentials, ManagementEndpoint
from topologies.model import AnyBroker, Topology
from topologies.render import site as names
from topologies.render.artemis_files import SECRETS_FOLDER, filled
from topologies.runtimes import artemis_router
from topologies.runtimes.artemis_router import find_routers, versions_of
from topologies.runtimes.certificates import Authority
from topologies.runtimes.contract import Progress
from topologies.runtimes.distribution import Distribution, cached, ensure, pinned
from topologies.runtimes.java import Java, find_java
from topologies.runtimes.jvm import BrokerFolders, Launch, agent_properties, environment
from topologies.runtimes.kinds import Kind, kind_of, store_of
from topologies.runtimes.links.proxies import LinkProxies, Place, find_for
from topologies.runtimes.links.toxiproxy import command as toxiproxy_line
from topologies.runtimes.links.ways import API, Door, doors, hosts_file, ways
from topologies.runtimes.ports import LOOPBACK, choose_ports
from topologies.runtimes.prepared import Ports, Prepared, Render, Wishes
from topologies.runtimes.private import PrivateFolder, new_password, properties
from topologies.runtimes.processes.broker import BrokerProcess
from topologies.runtimes.socketbytes import SocketsHere
from topologies.runtimes.startup import MANAGEMENT

CLIENT, AGENT = "brokerbench", "brokerbench-agent"
JOLOKIA_AGENT = "jolokia-agent"
SECRETS_FILE = "brokers.properties"
MANIFEST = "META-INF/MANIFEST.MF"
HOSTS = "hosts"


def prepare(
    topology: Topology, directory: RunDirectory, wishes: Wishes, authority: Authority | None, progress: Progress
) -> Prepared[BrokerProcess]:
    """Raises one of `OwnBrokers.told` or OSError; leaves no secret then."""
    routers = find_routers(topology, wishes.bind_host)
    of_routers = versions_of(routers)
    toxiproxy, java, kind = find_for(topology), find_java(), kind_of(topology)
    home, agent = (ensured(pinned(name), progress) for name in (kind.distribution, JOLOKIA_AGENT))
    brokers = [broker.name for broker in topology.brokers]
    wanted: list[tuple[str, str] | Door] = [*wanted_ports(topology), *doors(topology)]
    chosen = choose_ports(wanted, wishes.base_port, wishes.addresses)
    ports = {key: port for key, port in chosen.items() if not isinstance(key, Door)}
    client, agent_password = Credentials(CLIENT, new_password()), new_password()
    management = {
        name: management_of(name, ports[name, MANAGEMENT], agent_password) for name in brokers if name not in routers
    }
    folders = {name: BrokerFolders(directory.broker_folder(name).absolute()) for name in brokers}
    private = PrivateFolder.create()
    try:
        secrets = secrets_of(client)
        stores = None
        if authority:
            stores = authority.write_stores(private, wishes.addresses, secrets[names.KEYSTORE_PASSWORD])
        private.write(SECRETS_FILE, properties(secrets))
        site = names.Site(listening(ports), bind_host=wishes.bind_host)
        links = toxiproxy and _links(toxiproxy, topology, chosen, site, directory, private)
        site = replace(site, link_addresses=links.addresses, announced=links.announced) if links else site
        rendered = write_files(topology, _and_hosts(wishes.renderer), site, folders, private, secrets)
        launch = Launch(java.executable, home, agent, private.path, wishes.memory_mb, stores)
        lines = {name: artemis_router.command(router, folders[name]) for name, router in routers.items()}
        for name in management:
            of_broker = replace(launch, secrets_file=private.path / kind.secrets.format(broker=name))
            if f"{name}/{HOSTS}" in rendered:
                of_broker = replace(of_broker, hosts_file=folders[name].conf / HOSTS)
            store = store_of(topology, name, lambda active: folders[active].data)
            agent_file = private.write(f"agent-{name}.properties", agent_properties(management[name]))
            lines[name] = kind.command(of_broker, folders[name], agent_file, store)
        handles = {name: _process(lines[name], name, folders[name], private, wishes.keep_data) for name in brokers}
    except BaseException:
        private.remove()
        raise
    versions = _versions(java, kind, home) | of_routers
    return Prepared(private, ports, client, management, folders, handles, rendered, versions, links=links or None)


def ensured(distribution: Distribution, progress: Progress) -> Path:
    if not cached(distribution):
        progress(f"fetching {distribution.coordinate} (once; later runs take it from the cache)")
    return ensure(distribution)


def wanted_ports(topology: Topology) -> list[tuple[str, str]]:
    listening = [(broker.name, protocol) for broker in topology.brokers for protocol in broker.protocols]
    return listening + [(broker.name, MANAGEMENT) for broker in topology.brokers if not isinstance(broker, Router)]


def listening(ports: Ports) -> dict[tuple[str, str], int]:
    """The brokers' own ports, without their agents'."""
    return {key: port for key, port in ports.items() if key[1] != MANAGEMENT}


def management_of(broker: str, port: int, password: str) -> ManagementEndpoint:
    return ManagementEndpoint(broker, f"http://{LOOPBACK}:{port}/jolokia/", AGENT, password)


def secrets_of(client: Credentials) -> dict[str, str]:
    of_stores = new_password()
    return {
        names.CLIENT_USERNAME: client.username,
        names.CLIENT_PASSWORD: client.password,
        names.BRIDGE_USERNAME: names.BRIDGE_USER,
        names.BRIDGE_PASSWORD: new_password(),
        names.KEYSTORE_PASSWORD: of_stores,
        names.TRUSTSTORE_PASSWORD: of_stores,
    }


def write_files(
    topology: Topology,
    renderer: Render,
    site: names.Site,
    folders: Mapping[str, BrokerFolders],
    private: PrivateFolder,
    secrets: Mapping[str, str],
) -> dict[str, str]:
    """Every broker's rendered files, written to its ``conf``; returned by ``broker/file``, as they were rendered.

    Templates with secrets are filled and written to the private folder only, below the broker's name.
    """
    rendered = {}
    for broker in topology.brokers:
        folders[broker.name].make()
        for filename, text in renderer(topology, broker, site).items():
            rendered[f"{broker.name}/{filename}"] = text
            if filename.startswith(f"{SECRETS_FOLDER}/"):
                private.write(f"broker-{broker.name}/{Path(filename).name}", filled(text, secrets))
            else:
                path = folders[broker.name].conf / filename
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
    return rendered


def _and_hosts(renderer: Render) -> Render:
    """The same, with the names that a broker takes for others where links need it."""

    def rendered(topology: Topology, broker: AnyBroker, site: names.Site) -> Mapping[str, str]:
        hosts = hosts_file(topology, broker.name)
        return {**renderer(topology, broker, site), **({HOSTS: hosts} if hosts else {})}

    return rendered


def _process(
    line: list[str], broker: str, folders: BrokerFolders, private: PrivateFolder, keep_data: bool
) -> BrokerProcess:
    return BrokerProcess(
        line,
        environment(),
        log=folders.log_file,
        pid_file=private.path / f"{broker}.pid",
        remove=[private.path] if keep_data else [private.path, folders.data],
    )


def _links(
    toxiproxy: Path,
    topology: Topology,
    chosen: Mapping[tuple[str, str] | Door, int],
    site: names.Site,
    directory: RunDirectory,
    private: PrivateFolder,
) -> LinkProxies:
    """Toxiproxy with its doors, not yet started; it writes into the run's folder ``links``."""
    log = directory.path.absolute() / "links" / "toxiproxy.log"
    log.parent.mkdir(exist_ok=True)
    at = {key: port for key, port in chosen.items() if isinstance(key, Door)}
    line = toxiproxy_line(toxiproxy, at[API])
    pid_file = private.path / "toxiproxy.pid"
    process = BrokerProcess(line, environment(), log=log, pid_file=pid_file, remove=[private.path])
    upstream = {(broker, listener): site.address(broker, listener) for broker, listener in site.ports}
    every = ways(topology, at, upstream)
    sockets = SocketsHere(frozenset(way.address for way in every if way.address))
    return LinkProxies(process, at[API], every, Place(sockets))


def _versions(java: Java, kind: Kind, home: Path) -> dict[str, str]:
    return {
        kind.name: _manifest_version(home / kind.jar) or pinned(kind.distribution).version,
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
