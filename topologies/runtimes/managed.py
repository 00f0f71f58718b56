"""The common part of the runtimes that start their own brokers: local processes and containers.

These runtimes prepare, start and end brokers differently (a `Handle`). They share the rules for when a broker counts as
up, its addresses, and the operations that it supports.
"""

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from shutil import disk_usage, rmtree
from typing import Generic

from records.errors import UserError, explained
from records.store.rundir import RunDirectory
from topologies.management.contract import RESTARTED, current_files
from topologies.management.operations import ManagedOperations
from topologies.model.endpoints import Credentials, Endpoint, ManagementEndpoint
from topologies.model.launch import LOOPBACK
from topologies.model.management import ManagementFailed
from topologies.model.topology import Topology
from topologies.runtimes import startup
from topologies.runtimes.capabilities import Capability, why_not
from topologies.runtimes.contract import LOG_TAIL_LINES, NotUpInTime, Progress, Runtime, RuntimeFailed
from topologies.runtimes.ports import port_in_use
from topologies.runtimes.prepared import AHandle, Prepared, Render, RuntimeSettings, followers_of, render
from topologies.runtimes.private import Authority
from topologies.runtimes.proxies.link_proxies import LinkProxies

POLL_S = 0.1
START_TIMEOUT_S = 90.0
STOP_TIMEOUT_S = 15.0
KILL_TIMEOUT_S = 20.0
LEAST_MEMORY_MB, DEFAULT_MEMORY_MB = 64, 512
LEAST_FREE_BYTES = 1 << 20


class ManagedRuntime(Generic[AHandle]):
    """Base class of these runtimes. See topologies.runtimes.contract for the behavior of each call.

    ``directory`` gets ``brokers/<name>/{conf,data,log}``; the data is removed after the run unless ``keep_data``.
    ``base_port``: the first of consecutive ports; without it any free ports. ``bind_host``: the address of this machine
    at which clients reach the brokers. Management is always at 127.0.0.1. ``disk_mb``: size of each broker's disk, for
    processes only. ``jfr``: record Java Flight Recorder in each broker, for processes only. ``broker_cpus``: the cores
    that each broker may use.
    """

    name: str

    def __init__(
        self,
        topology: Topology,
        directory: RunDirectory,
        *,
        broker_memory_mb: int = DEFAULT_MEMORY_MB,
        base_port: int | None = None,
        keep_data: bool = False,
        start_timeout_s: float = START_TIMEOUT_S,
        renderer: Render = render,
        bind_host: str = LOOPBACK,
        disk_mb: int | None = None,
        jfr: bool = False,
        broker_cpus: float | None = None,
    ) -> None:
        if broker_memory_mb < LEAST_MEMORY_MB:
            raise ValueError(f"broker memory of {broker_memory_mb} MB: a broker needs at least {LEAST_MEMORY_MB} MB")
        self._topology, self._directory = topology, directory
        self._wishes = RuntimeSettings(
            broker_memory_mb, base_port, keep_data, renderer, bind_host, disk_mb, jfr, broker_cpus
        )
        self._authority = (
            Authority() if any(topology.product.needs_tls(topology, broker) for broker in topology.brokers) else None
        )
        self.trusted_pem = self._authority.pem if self._authority else ""
        self._start_timeout_s = start_timeout_s
        self._prepared: Prepared[AHandle] | None = None
        self.operations = ManagedOperations(self, topology)
        self._followers: list[Callable[[Topology], None]] = [self.operations.follow]
        self._closed = False

    def __repr__(self) -> str:
        handles = self._prepared.handles if self._prepared else {}
        running = ", ".join(name for name, handle in handles.items() if handle.alive)
        return f"<{type(self).__name__} of {self._topology.name}: {running or 'nothing'} running>"

    def _prepare(self, progress: Progress) -> Prepared[AHandle]:
        """Prepare everything without starting a broker. Raises UserError or OSError, and then leaves nothing behind."""
        raise NotImplementedError

    def _end(self, prepared: Prepared[AHandle]) -> None:
        """End all brokers at once; may be called repeatedly and from any place."""
        raise NotImplementedError

    def up(self, progress: Progress, absent: Collection[str] = ()) -> None:
        try:
            self._leave_if_closed()
            if self._wishes.bind_host != LOOPBACK:
                progress(f"brokers listen on {self._wishes.bind_host}, so they can be reached from its network")
            self._prepared = self._prepare(progress)
            self._start_links(progress)
            self._start_all([name for name in self._prepared.handles if name not in absent], progress)
        except UserError as error:
            self.close()
            raise RuntimeFailed(str(error)) from error
        except OSError as error:
            self.close()
            why, step = explained(error)
            raise RuntimeFailed(f"topology {self._topology.name!r} cannot be started: {why}; {step}") from error
        except BaseException:
            self.close()
            raise

    def start(self, broker: str) -> None:
        """Start a broker that is not running; return when it accepts connections. Raises RuntimeFailed."""
        if self._handle(broker).alive:
            raise RuntimeFailed(f"broker {broker!r} cannot be started: it is already running; stop or kill it first")
        self._spawn(broker)
        self._wait_until_up([broker], {}, lambda _line: None)

    def on_reconfigured(self, follow: Callable[[Topology], None]) -> None:
        """Call ``follow`` with the topology whenever `reconfigure` has changed it."""
        self._followers.append(follow)

    def reconfigure(self, broker: str, changed: Topology) -> None:
        """Write a broker's files again, for its next start. Raises RuntimeFailed.

        ``changed``: the topology from now on. It has the same brokers, ports and users, and the same ends of links.
        """
        if self._ready.rewrite is None:
            raise RuntimeFailed(f"broker {broker!r}: {why_not(self.name, Capability.RECONFIGURES)}")
        try:
            files = self._ready.rewrite(changed, broker)
        except OSError as error:
            raise RuntimeFailed(f"broker {broker!r} cannot be configured again: {error}") from error
        self._topology = changed
        current = current_files(self._ready.rendered)
        self._ready.rendered.update(
            {f"{name}{RESTARTED}": text for name, text in files.items() if text != current.get(name)}
        )
        for follow in self._followers:
            follow(changed)

    def stop(self, broker: str) -> None:
        handle = self._handle(broker)
        handle.terminate()
        if not handle.wait(STOP_TIMEOUT_S):
            self.kill(broker)

    def kill(self, broker: str) -> None:
        handle = self._handle(broker)
        handle.kill()
        if not handle.wait(KILL_TIMEOUT_S):
            raise RuntimeFailed(f"broker {broker!r} (pid {handle.pid}) survives SIGKILL: does its disk hang?")

    def pause(self, broker: str) -> None:
        self._require_running(broker, self._handle(broker).freeze())

    def resume(self, broker: str) -> None:
        self._require_running(broker, self._handle(broker).thaw())

    def alive(self, broker: str) -> bool:
        """Return whether the broker is running; True also for a paused broker."""
        return self._handle(broker).alive

    def outage(self) -> str:
        return ""

    def endpoint(self, broker: str, protocol: str) -> Endpoint:
        listed = self._topology.broker(broker)
        listener = listed.listener(protocol)  # raises KeyError, which lists the protocols
        port = self._ready.ports[broker, listener]
        return Endpoint(broker, protocol, f"{listed.client_scheme(protocol)}://{self._wishes.bind_host}:{port}")

    def management(self, broker: str) -> ManagementEndpoint:
        own_name = self._topology.broker(broker).own_name  # raises KeyError, which lists the brokers
        if broker not in self._ready.management:
            raise ManagementFailed(f"broker {broker!r} has no management agent")
        return replace(self._ready.management[broker], calls_itself=own_name)  # a restart may change it

    @property
    def link_proxies(self) -> LinkProxies | None:
        """The proxies of the links; None for direct links, and before `up`."""
        return self._prepared.links if self._prepared else None

    def credentials(self) -> Credentials:
        return self._ready.client

    def pid(self, broker: str) -> int | None:
        return self._handle(broker).pid

    def log_tail(self, broker: str) -> list[str]:
        return self._handle(broker).log_lines()[-LOG_TAIL_LINES:]

    def log_path(self, broker: str) -> Path | None:
        return self._handle(broker).log

    def versions(self) -> dict[str, str]:
        return dict(self._ready.versions)

    def rendered(self) -> dict[str, str]:
        return dict(self._ready.rendered)

    def close(self) -> None:
        """Kill the brokers, unless their data is kept: discarded data needs no orderly shutdown."""
        self._closed = True  # `up` and `start` check it between their steps
        if self._prepared is None:
            return
        if self._prepared.links:
            self._prepared.links.leave()
        self._end(self._prepared)
        if self._prepared.links:
            self._prepared.links.close()
        self._prepared.private.remove()
        if not self._wishes.keep_data:
            for folders in self._prepared.folders.values():
                rmtree(folders.data, ignore_errors=True)

    def _start_links(self, progress: Progress) -> None:
        """Start the proxies before the brokers; otherwise the brokers' links would have to retry."""
        if links := self.link_proxies:
            links.start()
            self._leave_if_closed()
            progress("links go through Toxiproxy")

    def _start_all(self, names: Iterable[str], progress: Progress) -> None:
        """Start in parallel, except standbys that would become active if they started first."""
        followers = followers_of(self._topology)
        later = {standby for standbys in followers.values() for standby in standbys}
        leaders = [name for name in names if name not in later]
        for name in leaders:
            self._spawn(name)
        self._wait_until_up(leaders, followers, progress)

    def _spawn(self, name: str) -> None:
        self._leave_if_closed()
        handle = self._handle(name)
        handle.start()
        if self._closed:  # in between, by a signal handler or another greenlet, which may have missed this broker
            handle.discard()
            self._leave_if_closed()

    def _wait_until_up(self, names: Iterable[str], followers: Mapping[str, Sequence[str]], progress: Progress) -> None:
        """Wait until brokers are up. ``followers``: brokers to start once another is up, and to wait for as well."""
        began, waiting = time.monotonic(), list(names)
        while waiting:
            for name in [name for name in waiting if self._is_up(name)]:
                waiting.remove(name)
                progress(f"broker {name} is up after {time.monotonic() - began:.1f} s")
                for follower in followers.get(name, ()):
                    self._spawn(follower)
                    waiting.append(follower)
            if waiting and time.monotonic() - began > self._start_timeout_s:
                late = f"did not accept connections within {self._start_timeout_s:g} s"
                raise NotUpInTime(self._what_failed(waiting[0], late))
            if waiting:
                time.sleep(POLL_S)

    def _is_up(self, name: str) -> bool:
        self._leave_if_closed()
        handle = self._handle(name)
        if not handle.alive:
            raise self._failed(name, f"died while starting (exit status {handle.exit_status})")
        log = handle.log_lines(of_this_start=True)
        if why := self._topology.product.launch.failed_start(log):
            handle.kill()
            raise self._failed(name, f"{why} and was ended")
        state = startup.state(self, self._topology, name, log)
        return state == startup.STANDS_BY or (state == startup.SERVES and self._listens(name))

    def _listens(self, name: str) -> bool:
        ports = self._ready.ports_of(name)
        return all(startup.accepts(self._wishes.address_of(protocol), port) for protocol, port in ports.items())

    def _failed(self, name: str, happened: str) -> RuntimeFailed:
        return RuntimeFailed(self._what_failed(name, happened))

    def _what_failed(self, name: str, happened: str) -> str:
        lines = self._handle(name).log_lines(of_this_start=True)
        ports = self._ready.ports_of(name)
        address = {port: self._wishes.address_of(protocol) for protocol, port in ports.items()}
        return startup.explain(
            self._topology.product.launch, name, happened + self._no_room(), lines, ports,
            lambda port: port_in_use(port, address[port]),
        )  # fmt: skip

    def _no_room(self) -> str:
        """Return a sentence if the disk is full: a broker without disk space for its log cannot report it there."""
        free = disk_usage(self._directory.path).free
        if free >= LEAST_FREE_BYTES:
            return ""
        return f"; the disk of {self._directory.path} is full: free some space there, or choose another by --runs"

    def _leave_if_closed(self) -> None:
        if self._closed:
            raise RuntimeFailed(f"topology {self._topology.name!r} is closed: its brokers are no longer started")

    @property
    def _ready(self) -> Prepared[AHandle]:
        if self._prepared is None:
            raise RuntimeFailed(f"topology {self._topology.name!r} has not been started: call up() first")
        return self._prepared

    def _handle(self, broker: str) -> AHandle:
        self._topology.broker(broker)  # raises KeyError, which lists the brokers
        return self._ready.handles[broker]

    def _require_running(self, broker: str, has_run: bool) -> None:
        if not has_run:
            raise RuntimeFailed(f"broker {broker!r} is not running, so it cannot be paused or resumed: start it first")


def proxies_of(runtime: Runtime) -> LinkProxies | None:
    """Return the proxies of a runtime's links; None for direct links, and for brokers that we did not start."""
    return runtime.link_proxies if isinstance(runtime, ManagedRuntime) else None


def reconfigure(runtime: Runtime, broker: str, changed: Topology) -> None:
    """Write a stopped broker's files again. Raises RuntimeFailed. See `ManagedRuntime.reconfigure`."""
    if not isinstance(runtime, ManagedRuntime):
        raise RuntimeFailed(f"broker {broker!r}: {why_not(runtime.name, Capability.RECONFIGURES)}")
    runtime.reconfigure(broker, changed)


def operations_of(runtime: Runtime) -> ManagedOperations:
    """Return the management operations on a runtime's brokers. Raises RuntimeFailed if it supports none."""
    if isinstance(runtime, ManagedRuntime):
        return runtime.operations
    whys = (why_not(runtime.name, needed) for needed in (Capability.OPERATES_BROKERS, Capability.MANAGES_BROKERS))
    raise RuntimeFailed(f"brokers of --runtime {runtime.name} cannot be operated: {next(filter(None, whys), '')}")
