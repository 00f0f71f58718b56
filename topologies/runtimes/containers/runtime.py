"""Runs brokers in containers, with Testcontainers on a local Docker engine and one network per topology.

Each broker has a separate host name on the network. Its files are mounted: configuration, passwords and the product's
own files read-only; data and log from the run folder. The container runs as the owner of these files. It runs the same
program as `processes.runtime`. Its port is published only on this machine's loopback, with the same number as inside. A
guard (topologies.runtimes.containers.guard) removes everything by label, however the run ends.
"""

import logging
import re
import secrets
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from typing import Any

from testcontainers.core.container import DockerContainer
from testcontainers.core.network import Network

from records.store.rundir import RunDirectory
from topologies.management.contract import agent_at, queries_of
from topologies.model import site as names
from topologies.model.broker import AnyBroker
from topologies.model.endpoints import Credentials, ManagementEndpoint
from topologies.model.launch import LOOPBACK, BrokerFolders, BrokerPlace, Stores, properties
from topologies.model.management import ManagementFailed
from topologies.model.site import Site
from topologies.model.topology import Topology
from topologies.runtimes.capabilities import why_no_containers
from topologies.runtimes.containers.broker_container import EVERYWHERE, BrokerContainer, ContainerContext
from topologies.runtimes.containers.cleanup import (
    BROKER_LABEL,
    ContainerWatchdog,
    explain_lost_engine,
    labels,
    left_behind,
    remove_leftovers,
)
from topologies.runtimes.containers.engine import FAILURES, Engine, EngineTrouble, answers, explain_failure, find
from topologies.runtimes.containers.image import enable_reaper_if_available, obtain
from topologies.runtimes.containers.links import LINKS_HOST, links_in_containers
from topologies.runtimes.contract import Progress
from topologies.runtimes.managed import ManagedRuntime
from topologies.runtimes.ports import choose_ports
from topologies.runtimes.prepared import (
    CLIENT,
    SECRETS_FILE,
    Ports,
    Prepared,
    RuntimeSettings,
    listening,
    management_endpoints,
    secrets_of,
    store_of,
    wanted_ports,
    write_files,
)
from topologies.runtimes.private import Authority, PrivateFolder, new_password
from topologies.runtimes.proxies.link_proxies import LinkProxies, find_for
from topologies.runtimes.proxies.proxy_plan import API, Members, ProxyEndpoint, proxy_endpoints, proxy_plan
from topologies.runtimes.startup import ASK_TIMEOUT_S

INSIDE = BrokerFolders(Path("/brokerbench"))
STORE_INSIDE = INSIDE.root / "store"
SECRETS_INSIDE = INSIDE.root / "private" / "secrets"
STORES_INSIDE = Stores.below(INSIDE.root / "private")
MANAGEMENT_FILE_INSIDE = INSIDE.root / "private" / "agent.properties"
NANO = 1_000_000_000


@dataclass(frozen=True)
class ContainersPrepared(Prepared[BrokerContainer]):
    guard: ContainerWatchdog


def prepare(
    topology: Topology,
    directory: RunDirectory,
    wishes: RuntimeSettings,
    authority: Authority | None,
    asked_image: str | None,
    progress: Progress,
) -> ContainersPrepared:
    """Prepare a run. Raises EngineTrouble, ToxiproxyUnavailable, UserError or OSError, and cleans up then."""
    logging.getLogger("testcontainers").setLevel(logging.WARNING)  # we report each step ourselves
    toxiproxy, engine = find_for(topology), find()
    progress(f"looking for the image on Docker engine {engine.version}")
    product = topology.product
    image = obtain(engine, product, asked_image, progress)
    enable_reaper_if_available(engine, progress)
    remove_leftovers(engine, progress)
    programs = product.launch.find_in_image(Path(image.home), INSIDE.root, progress)
    folders = {
        broker.name: BrokerFolders(directory.broker_folder(broker.name).absolute()) for broker in topology.brokers
    }
    progress(f"creating containers from {image.name}: {len(topology.brokers)}")
    token, private = secrets.token_hex(4), PrivateFolder.create()
    try:
        going = [private.path, *([] if wishes.keep_data else [folder.data for folder in folders.values()])]
        guard = ContainerWatchdog(engine, token, stop_first=wishes.keep_data, remove=going)
        try:
            run_labels = labels(token, directory.path.name)
            network = _network(engine, f"brokerbench-{plain(directory.path.name)}-{token}", run_labels)
            hosts = host_names(topology)
            context = ContainerContext(engine, image, product.launch, programs, network, hosts, run_labels)
            log = directory.path.absolute() / "links" / "toxiproxy.log"
            return _prepared(topology, wishes, authority, context, folders, private, guard, toxiproxy, log)
        except BaseException:
            guard.finish()
            raise
    except BaseException:
        private.remove()
        raise


def host_names(topology: Topology) -> dict[str, str]:
    """Return a host name for each broker: the broker's name, as far as host names allow."""
    host_by_broker: dict[str, str] = {}
    for broker in topology.brokers:
        name = plain(broker.name)[:60]
        host_by_broker[broker.name] = name if name not in host_by_broker.values() else f"{name}-{len(host_by_broker)}"
    return host_by_broker


def plain(name: str) -> str:
    """Reduce a name to lowercase letters, digits and '-', without '-' at either end."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "broker"


def _prepared(
    topology: Topology,
    wishes: RuntimeSettings,
    authority: Authority | None,
    context: ContainerContext,
    folders: Mapping[str, BrokerFolders],
    private: PrivateFolder,
    guard: ContainerWatchdog,
    toxiproxy: Path | None,
    links_log: Path,
) -> ContainersPrepared:
    needed: list[tuple[str, str] | ProxyEndpoint] = [
        *wanted_ports(topology),
        *proxy_endpoints(topology, Members.SHARED),
    ]
    chosen = choose_ports(needed, wishes.base_port, wishes.addresses)
    ports = {key: port for key, port in chosen.items() if not isinstance(key, ProxyEndpoint)}
    client, management = Credentials(CLIENT, new_password()), management_endpoints(topology, ports)
    secrets = secrets_of(client, topology)
    private.write(SECRETS_FILE, properties(secrets))
    if authority:
        hosts = (wishes.bind_host, *context.names.values(), *([LINKS_HOST] if toxiproxy else []))
        authority.write_stores(private, hosts, secrets[names.KEYSTORE_PASSWORD])
    site = Site(listening(ports), bind_host=EVERYWHERE, hosts=context.names)
    handles: dict[str, BrokerContainer] = {}
    links = toxiproxy and _links(toxiproxy, topology, context, chosen, site, handles, links_log)
    if links:
        site = replace(site, link_addresses=links.addresses, announced=links.announced)
    rendered = write_files(
        topology,
        lambda t, b, s: wishes.renderer(t, t.product.in_container(t, b), s),
        site,
        folders,
        private,
        secrets,
    )
    for broker in topology.brokers:
        handles[broker.name] = _container(
            broker, wishes, context, folders[broker.name], private, ports, management[broker.name],
            store_of(topology, broker.name, lambda active: folders[active].data), authority is not None,
        )  # fmt: skip
    versions = {
        "image": context.image.name,
        "image-id": context.image.id,
        "docker-engine": context.engine.version,
        **context.programs.versions,
    }
    return ContainersPrepared(
        private, ports, client, management, folders, handles, rendered, versions, guard, links=links or None
    )


def _links(
    toxiproxy: Path,
    topology: Topology,
    context: ContainerContext,
    chosen: Mapping[tuple[str, str] | ProxyEndpoint, int],
    site: Site,
    brokers: Mapping[str, BrokerContainer],
    log: Path,
) -> LinkProxies:
    log.parent.mkdir(exist_ok=True)
    at = {key: port for key, port in chosen.items() if isinstance(key, ProxyEndpoint)}
    upstream = {listener: site.address(*listener) for listener in site.ports}
    every = proxy_plan(topology, at, upstream, Members.SHARED)
    return links_in_containers(toxiproxy, context, every, at[API], brokers, log)


def _network(engine: Engine, name: str, run_labels: Mapping[str, str]) -> Network:
    network = Network(docker_network_kw={"driver": "bridge", "labels": dict(run_labels)})
    network.name = name
    try:
        return network.create()
    except FAILURES as error:
        raise EngineTrouble(f"network {name} cannot be created: {explain_failure(error, engine.host)}") from error


def place_inside(
    broker: AnyBroker, management: ManagementEndpoint, memory_mb: int, *, tls: bool, shares_store: bool
) -> BrokerPlace:
    """Return a broker's place in its container. ``management``: its address on this machine. Pure."""
    return BrokerPlace(
        broker,
        INSIDE,
        secrets=SECRETS_INSIDE,
        management=replace(management, url=management.url.replace(LOOPBACK, EVERYWHERE)),
        management_file=MANAGEMENT_FILE_INSIDE,
        memory_mb=memory_mb,
        store=STORE_INSIDE if shares_store else None,
        stores=STORES_INSIDE if tls else None,
    )


def _container(
    broker: AnyBroker,
    wishes: RuntimeSettings,
    context: ContainerContext,
    folders: BrokerFolders,
    private: PrivateFolder,
    ports: Ports,
    management: ManagementEndpoint,
    store: Path | None,
    tls: bool,
) -> BrokerContainer:
    """Return the container, not yet created.

    Inside, the broker's host name resolves to the address at which it is published. The broker announces that address
    to clients. The ports are the same inside and outside.
    """
    host, prefix = context.names[broker.name], f"{plain(broker.name)}-{len(broker.name)}"
    place = place_inside(broker, management, wishes.memory_mb, tls=tls, shares_store=store is not None)
    command = context.programs.command(place)
    private_files = {private.write(f"{prefix}-{path.name}", text): path for path, text in command.private_files.items()}
    line = command.arguments
    container = DockerContainer(context.image.name, network=context.network, network_aliases=[host])
    container.with_name(f"{context.network.name}-{host}").with_command(line)
    for (name, protocol), port in ports.items():
        if name == broker.name:
            container.ports[f"{port}/tcp"] = (wishes.address_of(protocol), port)  # type: ignore[assignment]
    for outside, place, mode in (
        (folders.conf, INSIDE.conf, "ro"),
        (folders.data, INSIDE.data, "rw"),
        (folders.log, INSIDE.log, "rw"),
        (private.path / context.launch.secrets.format(broker=broker.name), SECRETS_INSIDE, "ro"),
        *((outside, inside, "ro") for outside, inside in {**private_files, **context.programs.mounts}.items()),
        *([(private.path / path.name, path, "ro") for path in astuple(STORES_INSIDE)] if tls else []),
        *([(store, STORE_INSIDE, "rw")] if store else []),  # one kernel, so its lock works across containers
    ):
        container.with_volume_mapping(outside, str(place), mode)
    container.with_kwargs(
        hostname=host,
        extra_hosts={host: wishes.bind_host},
        working_dir=str(INSIDE.data),
        **({"nano_cpus": round(wishes.cpus * NANO)} if wishes.cpus else {}),
        **context.options(INSIDE.log_file, (BROKER_LABEL, broker.name)),
    )
    return BrokerContainer(f"broker {broker.name!r}", container, line, log=folders.log_file, host=context.engine.host)


log = logging.getLogger("brokerbench")


class ContainerRuntime(ManagedRuntime[BrokerContainer]):
    """Brokers in containers. ``image``: upstream's if None; other options as for `ManagedRuntime`."""

    name = "containers"

    def __init__(
        self, topology: Topology, directory: RunDirectory, *, image: str | None = None, **options: Any
    ) -> None:
        super().__init__(topology, directory, **options)
        if why := why_no_containers(topology):
            raise ValueError(why)
        self._image = image
        self._reported_versions: dict[str, str] = {}
        self._told_what_is_left = False

    def up(self, progress: Progress, absent: Collection[str] = ()) -> None:
        super().up(progress, absent)
        self._reported_versions = self._read_versions(
            next(broker.name for broker in self._topology.brokers if broker.name not in absent)
        )

    def versions(self) -> dict[str, str]:
        return {**super().versions(), **self._reported_versions}

    def outage(self) -> str:
        """Report a dead engine, because containers are unreachable without it. Checked now: handles check rarely."""
        if self._prepared is None:
            return ""
        assert isinstance(self._prepared, ContainersPrepared)
        host = self._prepared.guard.engine.host
        return "" if answers(host) else explain_lost_engine(host)

    def _prepare(self, progress: Progress) -> ContainersPrepared:
        return prepare(self._topology, self._directory, self._wishes, self._authority, self._image, progress)

    def _end(self, prepared: Prepared[BrokerContainer]) -> None:
        """End the containers through their guard, from outside, so that this also works in a signal handler."""
        assert isinstance(prepared, ContainersPrepared)
        if not prepared.guard.finish():
            for handle in prepared.handles.values():
                handle.kill_process()
            if not self._told_what_is_left:
                log.warning("%s", left_behind(prepared.guard.engine.host, prepared.guard.token))
            self._told_what_is_left = True

    def _read_versions(self, broker: str) -> dict[str, str]:
        """Return the versions in the image, as the broker reports them."""
        with agent_at(self._topology, self.management(broker), ASK_TIMEOUT_S) as agent, suppress(ManagementFailed):
            launch, version = self._topology.product.launch, queries_of(self._topology, broker).version(agent)
            return {launch.name: version, **launch.versions_in_image(agent)}
        return {}
