"""Drives the clients of a run, in this process or in the workers of a distributed Locust, with one contract.

The run controller uses `LoadGenerators` and never a session. `LocalLoadGenerator` is a single process;
`harness.distributed` has the implementation for workers.
"""

import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from drivers.client.contract import ClientConnector
from drivers.jvm.recording import ClientRecording
from drivers.users.priority import RealTimePriority
from drivers.users.session import Go, Network, RateChange, Session, Tally, Window, attach, detach
from drivers.users.stall_sampler import StallSampler
from records.errors import about
from records.run import ProcessInfo
from records.store.rundir import RunDirectory
from records.store.writer import Recorder


@dataclass(frozen=True)
class Equipment:
    """The data that every process of the run needs before its users start.

    It contains credentials and is never written to the run's folder.
    """

    directory: RunDirectory
    network: Network
    run_number: int
    seed: int
    client_version: str = ""  # of the Java clients; '' for the defaults
    realtime: bool = False  # whether the threads that send and receive get real-time priority
    jfr: bool = False  # whether Java clients are recorded


class LoadGenerators(Protocol):
    """The processes that hold the users."""

    def equip(self, equipment: Equipment) -> None:
        """Give every process its session, and return when all have it. Raises UserError."""

    def tally(self) -> Tally:
        """Return the sums of all processes' counts. In a distributed run they may be slightly out of date."""

    def connected(self) -> Mapping[tuple[str, str], int]:
        """Return the number of connected clients by (group, broker). It may be out of date in a distributed run."""

    def go(self, go: Go) -> None:
        """Start the schedules. ``go`` is for the whole run, so its ``first_index`` is empty."""

    def settle(self, window: Window) -> None:
        """Announce the end of the warm-up, with the beginning and the end of the load."""

    def change_rate(self, change: RateChange) -> None:
        """Change the rate of every producer some seconds from now: see `harness.run.steering.AHEAD_S`."""

    def stop_producing(self) -> None: ...

    def problems(self) -> list[str]:
        """Return the errors of users and processes. Each ends the load and makes the run invalid."""

    def doubts(self) -> list[str]:
        """Return reasons why times of several processes cannot be compared. They are known after `dismiss`."""

    def dismiss(self) -> tuple[ProcessInfo, ...]:
        """Close the recorder of every process after its users have stopped, and return the processes."""


def process_info(name: str, index: int) -> ProcessInfo:
    """Describe this process, with both clocks read at the same moment."""
    return ProcessInfo(name, index, socket.gethostname(), time.perf_counter_ns(), time.time_ns())


def with_tally(info: ProcessInfo, tally: Tally) -> ProcessInfo:
    """Add the counts of the process's clients."""
    return replace(info, begun=tally.sent, settled=tally.settled, received=tally.received)


def with_rows(info: ProcessInfo, recorder: Recorder) -> ProcessInfo:
    """Add the number of rows that the process recorded. ``recorder``: the process's closed recorder."""
    return replace(info, rows=recorder.counts)


def with_priority(session: Session) -> RealTimePriority:
    """Start real-time priority for this process's part of a run. Raises UserError."""
    priority = RealTimePriority(session.tally.notes.append)
    with about("--priority realtime: "):
        priority.start()
    return priority


def with_recording(directory: RunDirectory, process: str) -> ClientRecording:
    """Start the recording of this process's Java clients."""
    recording = ClientRecording(directory.client_folder(process).absolute())
    recording.start()
    return recording


class LocalLoadGenerator:
    """Implements `LoadGenerators` with the users in this process."""

    def __init__(self, environment: Any, recorder: Recorder, connectors: Mapping[str, ClientConnector]) -> None:
        self._environment = environment
        self._recorder = recorder
        self._connectors = connectors
        self._session: Session | None = None
        self._info = process_info("main", 0)
        self._stalls = StallSampler(recorder, 0, connectors)
        self._priority: RealTimePriority | None = None
        self._recording: ClientRecording | None = None

    def equip(self, equipment: Equipment) -> None:
        self._session = Session(
            network=equipment.network,
            connectors=self._connectors,
            recorder=self._recorder,
            run_number=equipment.run_number,
            seed=equipment.seed,
            process_index=0,
            clock=time.perf_counter_ns,
        )
        attach(self._environment, self._session)
        self._stalls.start()
        if equipment.realtime:
            self._priority = with_priority(self._session)
        if equipment.jfr:
            self._recording = with_recording(equipment.directory, self._info.name)

    def tally(self) -> Tally:
        return self._session.tally if self._session else Tally()

    def connected(self) -> Mapping[tuple[str, str], int]:
        return self._session.connected() if self._session else {}

    def go(self, go: Go) -> None:
        assert self._session is not None
        self._session.go(go)

    def settle(self, window: Window) -> None:
        assert self._session is not None
        self._session.settle(window)

    def change_rate(self, change: RateChange) -> None:
        assert self._session is not None
        self._session.change_rate(change)

    def stop_producing(self) -> None:
        if self._session:
            self._session.stop_producing()

    def problems(self) -> list[str]:
        return list(self._session.problems) if self._session else []

    def doubts(self) -> list[str]:
        return []

    def dismiss(self) -> tuple[ProcessInfo, ...]:
        detach(self._environment)
        self._stalls.stop()
        if self._priority:
            self._priority.stop()
        if self._recording:
            self._recording.stop()
        return (with_tally(self._info, self.tally()),)
