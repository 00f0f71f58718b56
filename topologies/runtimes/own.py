"""What do runtimes have in common whose brokers are all our own: local processes and containers?

They differ in what prepares a broker and in what starts and ends it (a `Handle`), not in when a broker is up, in where
it is reached, or in what can be done to it.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from shutil import disk_usage, rmtree
from typing import ClassVar, Generic

from records.errors import RunUnwritable, explained
from records.rundir import RunDirectory
from topologies.brokers import Broker
from topologies.endpoints import Credentials, Endpoint, ManagementEndpoint
from topologies.management.jolokia import ManagementFailed
from topologies.model import Topology
from topologies.render.classic_tls import anyone_needs_tls
from topologies.render.files import render
from topologies.runtimes import readiness
from topologies.runtimes.artemis_router import RouterUnavailable
from topologies.runtimes.certificates import Authority
from topologies.runtimes.contract import Progress, Runtime, RuntimeFailed
from topologies.runtimes.distribution import DistributionUnavailable
from topologies.runtimes.java import NoJava
from topologies.runtimes.kinds import followers_of
from topologies.runtimes.links.proxies import LinkProxies
from topologies.runtimes.ports import LOOPBACK, PortUnavailable, taken
from topologies.runtimes.prepared import AHandle, Prepared, Render, Wishes
from topologies.runtimes.startup import agent_failure, explain

POLL_S = 0.1
START_TIMEOUT_S = 90.0
STOP_TIMEOUT_S = 15.0
KILL_TIMEOUT_S = 20.0
LEAST_MEMORY_MB = 64
LEAST_FREE_BYTES = 1 << 20


class OwnBrokers(Generic[AHandle]):
    """See topologies.runtimes.contract for what each call promises.

    ``directory`` gets ``brokers/<name>/{conf,data,log}``; the data goes with the run unless ``keep_data``.
    ``base_port`` fixes the ports to a row from there on; else they are free ones. ``bind_host``: the address of this
    machine at which clients reach the brokers; that of management is 127.0.0.1 in any case.
    """

    name: str
    told: ClassVar[tuple[type[Exception], ...]] = (
        NoJava,
        DistributionUnavailable,
        RouterUnavailable,
        PortUnavailable,
        RunUnwritable,
    )
    """Errors whose messages are for the user as they are."""

    def __init__(
        self,
        topology: Topology,
        directory: RunDirectory,
        *,
        broker_memory_mb: int = 512,
        base_port: int | None = None,
        keep_data: bool = False,
        start_timeout_s: float = START_TIMEOUT_S,
        renderer: Render = render,
        bind_host: str = LOOPBACK,
    ) -> None:
        if broker_memory_mb < LEAST_MEMORY_MB:
            raise ValueError(f"broker memory of {broker_memory_mb} MB: a broker needs at least {LEAST_MEMORY_MB} MB")
        self._topology, self._directory = topology, directory
        self._wishes = Wishes(broker_memory_mb, base_port, keep_data, renderer, bind_host)
        self._authority = Authority() if anyone_needs_tls(topology) else None
        self.trusted_pem = self._authority.pem if self._authority else ""
        self._start_timeout_s = start_timeout_s
        self._prepared: Prepared[AHandle] | None = None
        self._closed = False

    def __repr__(self) -> str:
        handles = self._prepared.handles if self._prepared else {}
        running = ", ".join(name for name, handle in handles.items() if handle.alive)
        return f"<{type(self).__name__} of {self._topology.name}: {running or 'nothing'} running>"

    def _prepare(self, progress: Progress) -> Prepared[AHandle]:
        """Raises one of ``told`` or OSError, and leaves nothing behind then."""
        raise NotImplementedError

    def _end(self, prepared: Prepared[AHandle]) -> None:
        """End all brokers at once; may be called more than once, from any place."""
        raise NotImplementedError

    def up(self, progress: Progress) -> None:
        try:
            self._leave_if_closed()
            if self._wishes.bind_host != LOOPBACK:
                progress(f"brokers listen on {self._wishes.bind_host}, so they can be reached from its network")
            self._prepared = self._prepare(progress)
            self._start_links(progress)
            self._start_all(self._prepared.handles, progress)
        except self.told as error:
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
        """Start a broker that does not run; returns when it accepts connections. Raises RuntimeFailed."""
        if self._handle(broker).alive:
            raise RuntimeFailed(f"broker {broker!r} cannot be started: it is running already; stop or kill it first")
        self._spawn(broker)
        self._wait_until_up([broker], {}, lambda _line: None)

    def stop(self, broker: str) -> None:
        handle = self._handle(broker)
        handle.terminate()
        if not handle.wait(STOP_TIMEOUT_S):
            self.kill(broker)

    def kill(self, broker: str) -> None:
        handle = self._handle(broker)
        handle.kill()
        if not handle.wait(KILL_TIMEOUT_S):
            raise RuntimeFailed(f"broker {broker!r} (pid {handle.pid}) does not die of SIGKILL: does its disk hang?")

    def pause(self, broker: str) -> None:
        self._require_running(broker, self._handle(broker).freeze())

    def resume(self, broker: str) -> None:
        self._require_running(broker, self._handle(broker).thaw())

    def restart(self, broker: str) -> None:
        self.stop(broker)
        self.start(broker)

    def alive(self, broker: str) -> bool:
        """True for a paused broker too: it is there."""
        return self._handle(broker).alive

    def outage(self) -> str:
        return ""

    def endpoint(self, broker: str, protocol: str) -> Endpoint:
        made = self._topology.broker(broker)
        listener = made.listener(protocol)  # KeyError, naming what it speaks
        scheme = "tcp" if protocol in ("openwire", "core") else protocol
        if isinstance(made, Broker):
            scheme = made.connector(protocol).called_by_clients
        port = self._ready.ports[broker, listener]
        return Endpoint(broker, protocol, f"{scheme}://{self._wishes.bind_host}:{port}")

    def management(self, broker: str) -> ManagementEndpoint:
        self._topology.broker(broker)  # KeyError, naming those there are
        if broker not in self._ready.management:
            raise ManagementFailed(f"router {broker!r} has no agent that could be asked")
        return self._ready.management[broker]

    @property
    def link_proxies(self) -> LinkProxies | None:
        """What links go through; None where they go straight, and before `up`."""
        return self._prepared.links if self._prepared else None

    def credentials(self) -> Credentials:
        return self._ready.client

    def pid(self, broker: str) -> int | None:
        return self._handle(broker).pid

    def log_tail(self, broker: str, lines: int = 20) -> list[str]:
        return self._handle(broker).log_lines()[-lines:]

    def log_path(self, broker: str) -> Path | None:
        return self._handle(broker).log

    def versions(self) -> dict[str, str]:
        return dict(self._ready.versions)

    def rendered(self) -> dict[str, str]:
        return dict(self._ready.rendered)

    def close(self) -> None:
        """Data that is thrown away needs no orderly shutdown, so brokers are killed unless their data is kept."""
        self._closed = True  # `up` and `start` look between any two of their steps
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
        """Before the brokers, whose links would else have to try again."""
        if links := self.link_proxies:
            links.start()
            self._leave_if_closed()
            progress("links go through Toxiproxy")

    def _start_all(self, names: Iterable[str], progress: Progress) -> None:
        """Side by side, but for standbys that would be the active if they came first."""
        followers = followers_of(self._topology)
        later = {standby for standbys in followers.values() for standby in standbys}
        first = [name for name in names if name not in later]
        for name in first:
            self._spawn(name)
        self._wait_until_up(first, followers, progress)

    def _spawn(self, name: str) -> None:
        self._leave_if_closed()
        handle = self._handle(name)
        handle.start()
        if self._closed:  # meanwhile, by a signal handler or another greenlet, which may have missed this broker
            handle.discard()
            self._leave_if_closed()

    def _wait_until_up(self, names: Iterable[str], followers: Mapping[str, Sequence[str]], progress: Progress) -> None:
        """``followers``: those to be started once a broker is up, and then waited for as well."""
        began, waiting = time.monotonic(), list(names)
        while waiting:
            for name in [name for name in waiting if self._is_up(name)]:
                waiting.remove(name)
                progress(f"broker {name} is up after {time.monotonic() - began:.1f} s")
                for follower in followers.get(name, ()):
                    self._spawn(follower)
                    waiting.append(follower)
            if waiting and time.monotonic() - began > self._start_timeout_s:
                raise self._failed(waiting[0], f"did not accept connections within {self._start_timeout_s:g} s")
            if waiting:
                time.sleep(POLL_S)

    def _is_up(self, name: str) -> bool:
        self._leave_if_closed()
        handle = self._handle(name)
        if not handle.alive:
            raise self._failed(name, f"died while starting (exit status {handle.exit_status})")
        log = handle.log_lines(of_this_start=True)
        if why := agent_failure(log):
            handle.kill()
            raise self._failed(name, f"started without its Jolokia agent ({why}) and was ended")
        state = readiness.state(self, self._topology, name, log)
        return state == readiness.STANDS_BY or (state == readiness.SERVES and self._listens(name))

    def _listens(self, name: str) -> bool:
        ports = self._ready.ports_of(name)
        return all(readiness.accepts(self._wishes.address_of(protocol), port) for protocol, port in ports.items())

    def _failed(self, name: str, happened: str) -> RuntimeFailed:
        lines = self._handle(name).log_lines(of_this_start=True)
        ports = self._ready.ports_of(name)
        address = {port: self._wishes.address_of(protocol) for protocol, port in ports.items()}
        return RuntimeFailed(
            explain(name, happened + self._no_room(), lines, ports, lambda port: taken(port, address[port]))
        )

    def _no_room(self) -> str:
        """A broker without room for its log cannot say so itself."""
        free = disk_usage(self._directory.path).free
        if free >= LEAST_FREE_BYTES:
            return ""
        return f"; the disk of {self._directory.path} is full: free space there, or choose another by --runs"

    def _leave_if_closed(self) -> None:
        if self._closed:
            raise RuntimeFailed(f"topology {self._topology.name!r} is closed: its brokers are not started any more")

    @property
    def _ready(self) -> Prepared[AHandle]:
        if self._prepared is None:
            raise RuntimeFailed(f"topology {self._topology.name!r} has not been started: call up() first")
        return self._prepared

    def _handle(self, broker: str) -> AHandle:
        self._topology.broker(broker)  # KeyError, naming those there are
        return self._ready.handles[broker]

    def _require_running(self, broker: str, done: bool) -> None:
        if not done:
            raise RuntimeFailed(f"broker {broker!r} does not run, so it cannot be paused or resumed: start it first")


def proxies_of(runtime: Runtime) -> LinkProxies | None:
    """What a runtime's links go through; None where they go straight, as those of brokers that are not ours do."""
    return runtime.link_proxies if isinstance(runtime, OwnBrokers) else None
