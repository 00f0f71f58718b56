"""How do brokers run as plain processes on this machine? The embedded default: local JVMs on loopback ports, no Docker.

Each broker runs below a guard of its own (topologies.runtimes.guard) in a session of its own: neither the terminal's
Ctrl-C nor the death of the harness leaves it in a state that nobody chose.
"""

import socket
import time
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from shutil import rmtree
from signal import SIGCONT, SIGSTOP

from records.errors import RunUnwritable, explained
from records.rundir import RunDirectory
from topologies.endpoints import Credentials, Endpoint, ManagementEndpoint
from topologies.management.classic import started_connectors
from topologies.management.jolokia import Jolokia, ManagementFailed
from topologies.model import Topology
from topologies.render.classic import render
from topologies.runtimes.brokerprocess import BrokerProcess
from topologies.runtimes.contract import Progress, RuntimeFailed
from topologies.runtimes.distribution import DistributionUnavailable
from topologies.runtimes.java import NoJava
from topologies.runtimes.ports import LOOPBACK, PortUnavailable, taken
from topologies.runtimes.preparation import Prepared, Render, Wishes, prepare
from topologies.runtimes.startup import agent_failure, explain

POLL_S = 0.1
ASK_TIMEOUT_S = 2.0
CONNECT_TIMEOUT_S = 1.0
START_TIMEOUT_S = 90.0
STOP_TIMEOUT_S = 15.0
KILL_TIMEOUT_S = 5.0
LEAST_MEMORY_MB = 64
TOLD = (NoJava, DistributionUnavailable, PortUnavailable, RunUnwritable)  # their messages are for the user as they are


class ProcessRuntime:
    """Brokers as local JVMs; see topologies.runtimes.contract for what each call promises.

    ``directory`` gets ``brokers/<name>/{conf,data,log}``; the data goes with the run unless ``keep_data``.
    ``base_port`` fixes the ports to a row from there on; else they are free ones.
    """

    name = "processes"

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
    ) -> None:
        if broker_memory_mb < LEAST_MEMORY_MB:
            raise ValueError(f"broker memory of {broker_memory_mb} MB: a broker needs at least {LEAST_MEMORY_MB} MB")
        if topology.flavour != "classic":
            raise ValueError(f"topology {topology.name!r}: this runtime starts classic brokers, not {topology.flavour}")
        self._topology, self._directory = topology, directory
        self._wishes = Wishes(broker_memory_mb, base_port, keep_data, renderer)
        self._start_timeout_s = start_timeout_s
        self._prepared: Prepared | None = None
        self._closed = False

    def __repr__(self) -> str:
        processes = self._prepared.processes if self._prepared else {}
        running = ", ".join(name for name, process in processes.items() if process.alive)
        return f"<ProcessRuntime of {self._topology.name}: {running or 'nothing'} running>"

    def up(self, progress: Progress) -> None:
        try:
            self._prepared = prepare(self._topology, self._directory, self._wishes, progress)
            for name in self._prepared.processes:
                self._spawn(name)
            self._wait_until_up(self._prepared.processes, progress)
        except TOLD as error:
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
        if self._process(broker).alive:
            raise RuntimeFailed(f"broker {broker!r} cannot be started: it is running already; stop or kill it first")
        self._spawn(broker)
        self._wait_until_up([broker], lambda _line: None)

    def stop(self, broker: str) -> None:
        process = self._process(broker)
        process.terminate()
        if not process.wait(STOP_TIMEOUT_S):
            self.kill(broker)

    def kill(self, broker: str) -> None:
        process = self._process(broker)
        process.kill()
        if not process.wait(KILL_TIMEOUT_S):
            raise RuntimeFailed(f"broker {broker!r} (pid {process.pid}) does not die of SIGKILL: does its disk hang?")

    def pause(self, broker: str) -> None:
        self._running(broker).signal(SIGSTOP)

    def resume(self, broker: str) -> None:
        self._running(broker).signal(SIGCONT)

    def restart(self, broker: str) -> None:
        self.stop(broker)
        self.start(broker)

    def alive(self, broker: str) -> bool:
        """True for a paused broker too: its process is there."""
        return self._process(broker).alive

    def endpoint(self, broker: str, protocol: str) -> Endpoint:
        for connector in self._topology.broker(broker).connectors:
            if connector.protocol == protocol:
                scheme = "tcp" if protocol == "openwire" else protocol  # clients need not know of the broker's nio
                return Endpoint(broker, protocol, f"{scheme}://{LOOPBACK}:{self._ready.ports[broker, protocol]}")
        has = ", ".join(self._topology.broker(broker).protocols)
        raise KeyError(f"broker {broker!r} does not speak {protocol!r}; it speaks {has}")

    def management(self, broker: str) -> ManagementEndpoint:
        self._topology.broker(broker)  # KeyError, naming those there are
        return self._ready.management[broker]

    def credentials(self) -> Credentials:
        return self._ready.client

    def pid(self, broker: str) -> int | None:
        return self._process(broker).pid

    def log_tail(self, broker: str, lines: int = 20) -> list[str]:
        return self._process(broker).log_lines()[-lines:]

    def log_path(self, broker: str) -> Path | None:
        return self._process(broker).log

    def versions(self) -> dict[str, str]:
        return dict(self._ready.versions)

    def rendered(self) -> dict[str, str]:
        return dict(self._ready.rendered)

    def close(self) -> None:
        """Data that is thrown away needs no orderly shutdown, so brokers are killed unless their data is kept."""
        self._closed = True  # `up` and `start` look between any two of their steps
        if self._prepared is None:
            return
        processes = self._prepared.processes.values()
        if self._wishes.keep_data:
            _end(processes, BrokerProcess.terminate, STOP_TIMEOUT_S)
        _end(processes, BrokerProcess.kill, KILL_TIMEOUT_S)
        self._prepared.private.remove()
        if not self._wishes.keep_data:
            for folders in self._prepared.folders.values():
                rmtree(folders.data, ignore_errors=True)

    def _spawn(self, name: str) -> None:
        self._leave_if_closed()
        process = self._process(name)
        process.start()
        if self._closed:  # meanwhile, by a signal handler or another greenlet, which may have missed this process
            process.kill()
            self._leave_if_closed()

    def _wait_until_up(self, names: Iterable[str], progress: Progress) -> None:
        began, waiting = time.monotonic(), list(names)
        while waiting:
            for name in [name for name in waiting if self._is_up(name)]:
                waiting.remove(name)
                progress(f"broker {name} is up after {time.monotonic() - began:.1f} s")
            if waiting and time.monotonic() - began > self._start_timeout_s:
                raise self._failed(waiting[0], f"did not accept connections within {self._start_timeout_s:g} s")
            if waiting:
                time.sleep(POLL_S)

    def _is_up(self, name: str) -> bool:
        self._leave_if_closed()
        process = self._process(name)
        if not process.alive:
            raise self._failed(name, f"died while starting (exit status {process.exit_status})")
        if why := agent_failure(process.log_lines(of_this_start=True)):
            process.kill()
            raise self._failed(name, f"started without its Jolokia agent ({why}) and was ended")
        return self._answers(name) and all(_accepts(port) for port in self._ready.ports_of(name).values())

    def _answers(self, name: str) -> bool:
        """Whether the broker itself calls all its connectors started: a port alone may be anybody's."""
        with closing(Jolokia(self.management(name), ASK_TIMEOUT_S)) as agent:
            try:
                return started_connectors(agent) >= len(self._topology.broker(name).connectors)
            except ManagementFailed:
                return False

    def _failed(self, name: str, happened: str) -> RuntimeFailed:
        lines = self._process(name).log_lines(of_this_start=True)
        return RuntimeFailed(explain(name, happened, lines, self._ready.ports_of(name), taken))

    def _leave_if_closed(self) -> None:
        if self._closed:
            raise RuntimeFailed(f"topology {self._topology.name!r} is closed: its brokers are not started any more")

    @property
    def _ready(self) -> Prepared:
        if self._prepared is None:
            raise RuntimeFailed(f"topology {self._topology.name!r} has not been started: call up() first")
        return self._prepared

    def _process(self, broker: str) -> BrokerProcess:
        self._topology.broker(broker)  # KeyError, naming those there are
        return self._ready.processes[broker]

    def _running(self, broker: str) -> BrokerProcess:
        process = self._process(broker)
        if process.wait_for_pid() is None:
            raise RuntimeFailed(f"broker {broker!r} does not run, so it cannot be paused or resumed: start it first")
        return process


def _end(processes: Iterable[BrokerProcess], how: Callable[[BrokerProcess], None], timeout_s: float) -> None:
    """All at once, then wait for all within one time limit."""
    ending = list(processes)
    for process in ending:
        how(process)
    end = time.monotonic() + timeout_s
    for process in ending:
        process.wait(max(0.0, end - time.monotonic()))


def _accepts(port: int) -> bool:
    try:
        with socket.create_connection((LOOPBACK, port), CONNECT_TIMEOUT_S):
            return True
    except OSError:
        return False
