"""Runs brokers as processes on this machine, on loopback ports, without Docker.

Each broker runs below a separate guard (processes.guard) in a separate session: neither the terminal's Ctrl-C nor the
death of the harness leaves it in an unintended state.
"""

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from records.store.rundir import RunDirectory
from topologies.model import site as names
from topologies.model.broker import AnyBroker
from topologies.model.endpoints import Credentials
from topologies.model.launch import BrokerCommand, BrokerFolders, BrokerPlace, Release, properties
from topologies.model.site import Site
from topologies.model.topology import Topology
from topologies.runtimes.contract import Progress, RuntimeFailed
from topologies.runtimes.managed import KILL_TIMEOUT_S, STOP_TIMEOUT_S, ManagedRuntime
from topologies.runtimes.ports import choose_ports
from topologies.runtimes.prepared import (
    CLIENT,
    SECRETS_FILE,
    Prepared,
    Render,
    RuntimeSettings,
    listening,
    management_endpoints,
    secrets_of,
    store_of,
    wanted_ports,
    write_files,
)
from topologies.runtimes.private import Authority, PrivateFolder, new_password
from topologies.runtimes.processes import cpu_groups
from topologies.runtimes.processes.broker import BrokerProcess
from topologies.runtimes.processes.cpu_groups import CpuQuota
from topologies.runtimes.processes.disks import Disks, shared_stores
from topologies.runtimes.proxies.link_proxies import LinkProxies, Place, find_for
from topologies.runtimes.proxies.listening import listening_ports
from topologies.runtimes.proxies.proxy_plan import API, ProxyEndpoint, hosts_file, proxy_endpoints, proxy_plan
from topologies.runtimes.proxies.toxiproxy import LOG_LEVEL
from topologies.runtimes.proxies.toxiproxy import command as toxiproxy_line
from topologies.runtimes.release import release_of

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
    launch, toxiproxy = topology.product.launch, find_for(topology)
    programs = launch.find(topology.name, topology.brokers, release, wishes.bind_host, progress)
    brokers = [broker.name for broker in topology.brokers]
    wanted: list[tuple[str, str] | ProxyEndpoint] = [*wanted_ports(topology), *proxy_endpoints(topology)]
    chosen = choose_ports(wanted, wishes.base_port, wishes.addresses)
    ports = {key: port for key, port in chosen.items() if not isinstance(key, ProxyEndpoint)}
    client, management = Credentials(CLIENT, new_password()), management_endpoints(topology, ports)
    folders = {name: BrokerFolders(directory.broker_folder(name).absolute()) for name in brokers}
    quota = _quota(wishes.cpus)
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
        handles = {}
        for broker in topology.brokers:
            name = broker.name
            place = BrokerPlace(
                broker,
                folders[name],
                secrets=private.path / launch.secrets.format(broker=name),
                management=management.get(name),
                management_file=private.path / f"agent-{name}.properties",
                memory_mb=wishes.memory_mb,
                store=store_of(topology, name, lambda active: folders[active].data),
                stores=stores,
                hosts_file=folders[name].conf / HOSTS if f"{name}/{HOSTS}" in rendered else None,
                record=wishes.jfr,
            )
            handles[name] = _process(programs.command(place), name, folders[name], private, wishes.keep_data, quota)
    except BaseException:
        private.remove()
        raise
    prepared = (private, ports, client, management, folders, handles, rendered, programs.versions)
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


def _quota(cpus: float | None) -> CpuQuota | None:
    """Return the brokers' share of the cores, and remove the groups of dead runs. Raises UserError."""
    if cpus is None:
        return None
    cpu_groups.clear_dead()
    return CpuQuota.find(cpus)


def _process(
    command: BrokerCommand,
    broker: str,
    folders: BrokerFolders,
    private: PrivateFolder,
    keep_data: bool,
    quota: CpuQuota | None,
) -> BrokerProcess:
    """Return the process of a broker, not yet started, with the files and folders that its command needs."""
    for path, text in command.private_files.items():
        private.write(str(path.relative_to(private.path)), text)
    for folder in command.folders:
        folder.mkdir(exist_ok=True)
    return BrokerProcess(
        command.arguments,
        dict(command.environment),
        log=folders.log_file,
        pid_file=private.path / f"{broker}.pid",
        remove=[private.path] if keep_data else [private.path, folders.data],
        quota=quota,
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
    process = BrokerProcess(line, {**os.environ, **LOG_LEVEL}, log=log, pid_file=pid_file, remove=[private.path])
    upstream = {(broker, listener): site.address(broker, listener) for broker, listener in site.ports}
    proxies = proxy_plan(topology, at, upstream)
    doors_at = frozenset(proxy.address for proxy in proxies if proxy.address)  # proxies there use brokers' port numbers
    return LinkProxies(process, at[API], proxies, Place(partial(listening_ports, doors_at)))


class ProcessRuntime(ManagedRuntime[BrokerProcess]):
    """Brokers as processes. ``release``: the default version if None; other options as for `ManagedRuntime`."""

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
        for process in processes:
            process.remove_group()
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
