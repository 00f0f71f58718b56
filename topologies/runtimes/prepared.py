"""Prepares a run's brokers before the first one starts: ports, passwords and rendered files."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Generic, TypeVar

from topologies.model import site as names
from topologies.model.broker import AnyBroker
from topologies.model.endpoints import Credentials, ManagementEndpoint
from topologies.model.launch import LOOPBACK, BrokerFolders
from topologies.model.site import SECRETS_FOLDER, Site, fill_placeholders
from topologies.model.topology import Topology
from topologies.model.users import password_key
from topologies.runtimes.handle import Handle
from topologies.runtimes.private import PrivateFolder, new_password
from topologies.runtimes.proxies.link_proxies import LinkProxies
from topologies.runtimes.startup import MANAGEMENT

Render = Callable[[Topology, AnyBroker, Site], Mapping[str, str]]
"""(topology, broker, site) -> file name to text."""


def render(topology: Topology, broker: AnyBroker, site: Site) -> Mapping[str, str]:
    """Map file names to texts. Raises KeyError if the site lacks a needed port."""
    return topology.product.render(topology, broker, site)


def render_for_topics(topology: Topology, broker: AnyBroker, site: Site) -> Mapping[str, str]:
    """Render for subscribers of topics, without settings that break messages with several subscribers."""
    return render(topology, topology.product.for_topics(broker), site)


def without_defaults(renderer: Render) -> Render:
    """Return the same renderer, but it leaves fields that were not set explicitly to the broker."""
    return lambda topology, broker, site: renderer(topology, broker, replace(site, unset_defaults=True))


Ports = Mapping[tuple[str, str], int]
Rewrite = Callable[[Topology, str], Mapping[str, str]]
"""(changed topology, broker) -> the files of this broker, rendered and written again, by ``broker/file``."""


AHandle = TypeVar("AHandle", bound=Handle)


@dataclass(frozen=True)
class RuntimeSettings:
    """The settings of a runtime. ``renderer`` makes the files of a broker."""

    memory_mb: int = 512
    base_port: int | None = None
    keep_data: bool = False
    renderer: Render = render
    bind_host: str = LOOPBACK
    disk_mb: int | None = None  # size of each broker's disk; None: no disks
    jfr: bool = False  # record each broker, for processes only
    cpus: float | None = None  # cores for each broker; None: no limit

    @property
    def addresses(self) -> tuple[str, ...]:
        """Every address at which ports are needed."""
        return tuple(dict.fromkeys((LOOPBACK, self.bind_host)))

    def address_of(self, protocol: str) -> str:
        """Return the listening address. Management stays on loopback, even if clients use another address."""
        return LOOPBACK if protocol == MANAGEMENT else self.bind_host


@dataclass(frozen=True)
class Prepared(Generic[AHandle]):
    """Everything that a run's brokers need to start, by broker name; nothing is running yet."""

    private: PrivateFolder
    ports: Ports  # by (broker, protocol); that of management is under MANAGEMENT
    client: Credentials
    management: Mapping[str, ManagementEndpoint]
    folders: Mapping[str, BrokerFolders]
    handles: Mapping[str, AHandle]
    rendered: dict[str, str] = field(repr=False)  # by "broker/file"
    versions: Mapping[str, str]
    rewrite: Rewrite | None = field(default=None, kw_only=True)  # None: brokers keep their configuration
    links: LinkProxies | None = field(default=None, kw_only=True)  # the proxies of the links, if any

    def ports_of(self, broker: str) -> dict[str, int]:
        """Return the ports by protocol; the management port is under MANAGEMENT."""
        return {protocol: port for (name, protocol), port in self.ports.items() if name == broker}


def store_of(topology: Topology, broker: str, data: Callable[[str], Path]) -> Path | None:
    """Return the active broker's data folder for a standby; None for other brokers."""
    active = topology.broker(broker).standby_of
    return data(active) if active else None


def followers_of(topology: Topology) -> dict[str, tuple[str, ...]]:
    """Return each broker with the standbys that must start after it, because the first to start is active. Pure."""
    if not topology.product.launch.first_serves:
        return {}
    pairs = [(broker.standby_of, broker.name) for broker in topology.brokers if broker.standby_of]
    return {active: tuple(standby for leader, standby in pairs if leader == active) for active, _ in pairs}


CLIENT, AGENT = "brokerbench", "brokerbench-agent"
SECRETS_FILE = "brokers.properties"


def wanted_ports(topology: Topology) -> list[tuple[str, str]]:
    listening = [(broker.name, protocol) for broker in topology.brokers for protocol in broker.protocols]
    return listening + [(broker.name, MANAGEMENT) for broker in topology.brokers if broker.has_agent]


def listening(ports: Ports) -> dict[tuple[str, str], int]:
    """Return the brokers' ports without those of management."""
    return {key: port for key, port in ports.items() if key[1] != MANAGEMENT}


def management_endpoints(topology: Topology, ports: Ports) -> dict[str, ManagementEndpoint]:
    """Return the management address of each broker that has one, with a new password for all."""
    path, password = topology.product.management.path, new_password()
    return {
        broker.name: ManagementEndpoint(
            broker.name, f"http://{LOOPBACK}:{ports[broker.name, MANAGEMENT]}{path}", AGENT, password
        )
        for broker in topology.brokers
        if broker.has_agent
    }


def secrets_of(client: Credentials, topology: Topology) -> dict[str, str]:
    of_stores = new_password()
    users = dict.fromkeys(user.name for broker in topology.brokers for user in broker.link_users)
    return {
        names.CLIENT_USERNAME: client.username,
        names.CLIENT_PASSWORD: client.password,
        names.BRIDGE_USERNAME: names.BRIDGE_USER,
        names.BRIDGE_PASSWORD: new_password(),
        names.KEYSTORE_PASSWORD: of_stores,
        names.TRUSTSTORE_PASSWORD: of_stores,
        **{password_key(name, other=other): new_password() for name in users for other in (False, True)},
    }


def write_files(
    topology: Topology,
    renderer: Render,
    site: Site,
    folders: Mapping[str, BrokerFolders],
    private: PrivateFolder,
    secrets: Mapping[str, str],
    only: str = "",
) -> dict[str, str]:
    """Write every broker's rendered files to its ``conf``. Returns the rendered texts by ``broker/file``.

    Templates with secrets are filled and written only to the private folder, in a folder with the broker's name.
    ``only``: the name of the only broker whose files are written.
    """
    rendered = {}
    for broker in topology.brokers:
        if only and broker.name != only:
            continue
        folders[broker.name].make()
        for filename, text in renderer(topology, broker, site).items():
            rendered[f"{broker.name}/{filename}"] = text
            if filename.startswith(f"{SECRETS_FOLDER}/"):
                private.write(f"broker-{broker.name}/{Path(filename).name}", fill_placeholders(text, secrets))
            else:
                path = folders[broker.name].conf / filename
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
    return rendered
