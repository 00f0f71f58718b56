"""Runs brokers as processes on this machine: local JVMs on loopback ports, without Docker.

Each broker runs below a separate guard (processes.guard) in a separate session: neither the terminal's Ctrl-C nor the
death of the harness leaves it in an unintended state.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from records.store.recordings import FOLDER
from records.store.rundir import RunDirectory
from topologies.model import site as names
from topologies.model.broker import AnyBroker
from topologies.model.endpoints import Credentials
from topologies.model.launch import BrokerFolders, Launch, agent_properties, environment, properties
from topologies.model.site import Site
from topologies.model.topology import Topology
from topologies.runtimes.contract import Progress, RuntimeFailed
from topologies.runtimes.distribution import ensure, pinned
from topologies.runtimes.java import Java, find_java
from topologies.runtimes.managed import KILL_TIMEOUT_S, STOP_TIMEOUT_S, ManagedRuntime
from topologies.runtimes.ports import choose_ports
from topologies.runtimes.prepared import (
    CLIENT,
    JOLOKIA_AGENT,
    SECRETS_FILE,
    Prepared,
    Render,
    RuntimeSettings,
    listening,
    management_of,
    secrets_of,
    store_of,
    wanted_ports,
    write_files,
)
from topologies.runtimes.private import Authority, PrivateFolder, new_password
from topologies.runtimes.processes import recordings
from topologies.runtimes.processes.broker import BrokerProcess
from topologies.runtimes.processes.disks import Disks, shared_stores
from topologies.runtimes.proxies.link_proxies import LinkProxies, Place, find_for
from topologies.runtimes.proxies.listening import listening_ports
from topologies.runtimes.proxies.proxy_plan import API, ProxyEndpoint, hosts_file, proxy_endpoints, proxy_plan
from topologies.runtimes.proxies.toxiproxy import LOG_LEVEL
from topologies.runtimes.proxies.toxiproxy import command as toxiproxy_line
from topologies.runtimes.release import OwnBuild, Release, release_of
from topologies.runtimes.startup import MANAGEMENT

HOSTS = "hosts"


def prepare(
    topology: Topology,
    directory: RunDirectory,
    wishes: RuntimeSettings,
    authority: Authority | None,
    release: Release,
    progress: Progress,
) -> Prepared[BrokerProcess]:
    """Prepare a run. Raises UserError or OSError, and then leaves no secret behind."""
    executables = topology.product.executables
    executable_by_broker = executables.find(topology.name, topology.brokers, wishes.bind_host)
    their_versions = executables.versions(executable_by_broker)
    toxiproxy, java, launched = find_for(topology), find_java(), topology.product.launch
    home = release.home if isinstance(release, OwnBuild) else ensure(release, progress=progress)
    agent = ensure(pinned(JOLOKIA_AGENT), progress=progress)
    brokers = [broker.name for broker in topology.brokers]
    wanted: list[tuple[str, str] | ProxyEndpoint] = [*wanted_ports(topology), *proxy_endpoints(topology)]
    chosen = choose_ports(wanted, wishes.base_port, wishes.addresses)
    ports = {key: port for key, port in chosen.items() if not isinstance(key, ProxyEndpoint)}
    client, agent_password = Credentials(CLIENT, new_password()), new_password()
    management = {
        name: management_of(name, ports[name, MANAGEMENT], agent_password)
        for name in brokers
        if name not in executable_by_broker
    }
    folders = {name: BrokerFolders(directory.broker_folder(name).absolute()) for name in brokers}
    private = PrivateFolder.create()
    try:
        secrets = secrets_of(client, topology)
        stores = None
        if authority:
            stores = authority.write_stores(private, wishes.addresses, secrets[names.KEYSTORE_PASSWORD])
        private.write(SECRETS_FILE, properties(secrets))
        site = Site(listening(ports), bind_host=wishes.bind_host, version=release.version)
        links = toxiproxy and _links(toxiproxy, topology, chosen, site, directory, private)
        site = replace(site, link_addresses=links.addresses, announced=links.announced) if links else site
        to = site, folders, private, secrets
        rendered = write_files(topology, _and_hosts(wishes.renderer), *to)
        launch = Launch(java.executable, home, agent, private.path, wishes.memory_mb, stores)
        lines = {
            name: executables.command(executable, folders[name]) for name, executable in executable_by_broker.items()
        }
        for name in management:
            secrets_file = private.path / launched.secrets.format(broker=name)
            jvm = topology.broker(name).java
            jvm = replace(jvm, options=(*jvm.options, *recordings.OPTIONS)) if wishes.jfr else jvm
            of_broker = replace(launch, secrets_file=secrets_file, jvm=jvm)
            if f"{name}/{HOSTS}" in rendered:
                of_broker = replace(of_broker, hosts_file=folders[name].conf / HOSTS)
            store = store_of(topology, name, lambda active: folders[active].data)
            agent_file = private.write(f"agent-{name}.properties", agent_properties(management[name]))
            lines[name] = launched.command(of_broker, folders[name], agent_file, store)
            if wishes.jfr:
                (folders[name].log_file.parent.parent / FOLDER).mkdir(exist_ok=True)
        handles = {name: _process(lines[name], name, folders[name], private, wishes.keep_data) for name in brokers}
    except BaseException:
        private.remove()
        raise
    versions = _versions(java, launched.name, release) | their_versions
    prepared = (private, ports, client, management, folders, handles, rendered, versions)
    return Prepared(
        *prepared,
        links=links or None,
        rewrite=lambda changed, broker: write_files(changed, _and_hosts(wishes.renderer), *to, only=broker),
    )


def _and_hosts(renderer: Render) -> Render:
    """Extend a renderer by a hosts file for brokers whose links need one."""

    def rendered(topology: Topology, broker: AnyBroker, site: Site) -> Mapping[str, str]:
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
    chosen: Mapping[tuple[str, str] | ProxyEndpoint, int],
    site: Site,
    directory: RunDirectory,
    private: PrivateFolder,
) -> LinkProxies:
    """Return Toxiproxy with its proxies, not yet started; its log is written to ``links`` in the run folder."""
    log = directory.path.absolute() / "links" / "toxiproxy.log"
    log.parent.mkdir(exist_ok=True)
    at = {key: port for key, port in chosen.items() if isinstance(key, ProxyEndpoint)}
    line = toxiproxy_line(toxiproxy, at[API])
    pid_file = private.path / "toxiproxy.pid"
    process = BrokerProcess(line, environment() | LOG_LEVEL, log=log, pid_file=pid_file, remove=[private.path])
    upstream = {(broker, listener): site.address(broker, listener) for broker, listener in site.ports}
    proxies = proxy_plan(topology, at, upstream)
    doors_at = frozenset(proxy.address for proxy in proxies if proxy.address)  # proxies there use brokers' port numbers
    return LinkProxies(process, at[API], proxies, Place(partial(listening_ports, doors_at)))


def _versions(java: Java, product: str, release: Release) -> dict[str, str]:
    return {
        product: release.version,
        **(release.recorded(product) if isinstance(release, OwnBuild) else {}),
        "jolokia-agent": pinned(JOLOKIA_AGENT).version,
        "java": java.version,
        "java-source": java.source,
    }


class ProcessRuntime(ManagedRuntime[BrokerProcess]):
    """Brokers as local JVMs. ``release``: the default version if None; other options as for `ManagedRuntime`."""

    name = "processes"

    def __init__(
        self, topology: Topology, directory: RunDirectory, *, release: Release | None = None, **options: Any
    ) -> None:
        super().__init__(topology, directory, **options)
        self._release = release or release_of(topology)
        self._disks: Disks | None = None

    def _prepare(self, progress: Progress) -> Prepared[BrokerProcess]:
        prepared = prepare(self._topology, self._directory, self._wishes, self._authority, self._release, progress)
        if self._wishes.disk_mb:
            stores, wishes = shared_stores(self._topology), self._wishes
            self._disks = Disks(prepared.folders, stores, size_mb=self._wishes.disk_mb, keep=wishes.keep_data)
            try:
                self._disks.make()
            except BaseException:
                self._disks.close()
                prepared.private.remove()
                raise
        return prepared

    def start(self, broker: str) -> None:
        """Start a broker that is not running; if it has a disk, its power is switched on first."""
        if self._disks:
            self._disks.power_on(broker)
        super().start(broker)

    def begin_start(self, broker: str) -> None:
        """Start a broker like `start`, but return at once. Raises RuntimeFailed."""
        if self._disks:
            self._disks.power_on(broker)
        self._spawn(broker)

    def lose_power(self, broker: str, at_once: Sequence[str] = ()) -> None:
        """Simulate a power failure of a broker: end its disk and its process. Raises RuntimeFailed.

        ``at_once``: all brokers whose power fails at the same moment. This is called for each of them; the first call
        cuts the power of all.
        """
        if self._disks is None:
            raise RuntimeFailed(f"broker {broker!r} has no separate disk, so its power cannot be cut; add --disks")
        if not self._disks.is_off(broker):
            failing = sorted({broker, *at_once})
            self._disks.cut_power(failing)
            for name in failing:
                self._handle(name).kill()
        self.kill(broker)
        self._disks.unmount(broker)

    def _end(self, prepared: Prepared[BrokerProcess]) -> None:
        processes = prepared.handles.values()
        if self._wishes.keep_data or self._wishes.jfr:  # a broker that exits completes its recording
            _end_all(processes, BrokerProcess.terminate, STOP_TIMEOUT_S)
        _end_all(processes, BrokerProcess.kill, KILL_TIMEOUT_S)
        if self._disks:
            self._disks.close()


def _end_all(processes: Iterable[BrokerProcess], how: Callable[[BrokerProcess], None], timeout_s: float) -> None:
    """End all at once, then wait for all within one time limit."""
    ending = list(processes)
    for process in ending:
        how(process)
    end = time.monotonic() + timeout_s
    for process in ending:
        process.wait(max(0.0, end - time.monotonic()))
