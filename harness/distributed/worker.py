"""The worker's side: gets its equipment from the master, and reports its progress."""

import logging
import os
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import gevent
from locust import events
from locust.runners import WorkerRunner

from drivers.jvm.recording import ClientRecording
from drivers.protocols import connectors_of
from drivers.users.broker_user import BrokerUser
from drivers.users.fixed_settings import fix_settings
from drivers.users.priority import RealTimePriority
from drivers.users.session import Session, attach, detach
from drivers.users.stall_sampler import StallSampler
from harness.distributed import messages
from harness.distributed.messages import another_build, build_id
from harness.distributed.same_settings import other_settings, own_settings
from harness.java_parts import CLIENTS, use_java_clients
from harness.options.user_classes import with_settings
from harness.run.load_generators import process_info, with_priority, with_recording, with_rows, with_tally
from harness.runner_calls import cut_short_by, guard_runner
from records.errors import RunUnreadable
from records.run import ProcessInfo
from records.store.rundir import RunDirectory
from records.store.writer import Recorder
from topologies.management.core_waits import CoreWaits
from topologies.management.sampling import PERIOD_S, core_wait_rows, process_rows

log = logging.getLogger("brokerbench")

TALLY_EVERY_S = 0.5
ORPHAN_LOOK_EVERY_S = 1.0
REACH_TIMEOUT_S = 3.0
CANNOT_TAKE_PART = 2  # exit status
NO_FOLDER = "its host does not have the folder of the run"


class WorkerDuty:
    """A worker's handlers for the master's messages."""

    def __init__(self, environment: Any, runner: WorkerRunner) -> None:
        self._environment = environment
        self._runner = runner
        self._scenarios_own = [user for user in runner.user_classes if issubclass(user, BrokerUser)]
        self._build_id = build_id()
        self._session: Session | None = None
        self._info: ProcessInfo | None = None
        self._stalls: StallSampler | None = None
        self._priority: RealTimePriority | None = None
        self._recording: ClientRecording | None = None
        self._quitting = False

    def register(self) -> None:
        """Listen to the master, and end with it."""
        listeners: dict[str, Callable[[Any], object]] = {
            "bb_clock": lambda _: self._runner.send_message("bb_clock", {"at_ns": time.perf_counter_ns()}),
            "bb_equip": self._equip,
            "bb_call_off": lambda _: self._let_go(),
            "bb_go": self._in_session(lambda session, data: session.go(messages.go_in(data))),
            "bb_settle": self._in_session(lambda session, data: session.settle(messages.settle_in(data))),
            "bb_change_rate": self._in_session(
                lambda session, data: session.change_rate(messages.change_rate_in(data))
            ),
            "bb_schedules": self._in_session(
                lambda session, data: session.take_other_schedules(messages.schedules_in(data))
            ),
            "bb_stop_producing": self._in_session(lambda session, _: session.stop_producing()),
        }
        for name, listener in listeners.items():
            self._runner.register_message(name, lambda environment, msg, act=listener: act(msg.data))
        events.test_stop.add_listener(self._on_test_stop)
        events.quitting.add_listener(self._on_quitting)
        guard_runner(self._runner, self._may_end_users, self._cut_short)
        if self._environment.parsed_options.processes:
            gevent.spawn(_end_with_the_parent, os.getppid())

    def _may_end_users(self) -> bool:
        """Whether the calling greenlet may end the users: no run is active, or it belongs to Locust."""
        return self._session is None or self._quitting or gevent.getcurrent() in self._runner.greenlet

    def _cut_short(self, call: str) -> None:
        session, name = self._session, self._info.name if self._info else "a worker"
        if session is None or not session.producing:
            log.warning("%s has no effect: the load is over", call)
            return
        session.report(cut_short_by(f"{call} in {name}", session.load_s()))

    def _on_quitting(self, **_: Any) -> None:
        self._quitting = True

    def _equip(self, data: dict[str, Any]) -> None:
        refusal = another_build(self._build_id, data.get("build_id", "an older one")) or _unreached(data)
        refusal = refusal or other_settings(own_settings(self._scenarios_own), data["own_settings"])
        try:
            if not refusal:
                self._take_on(data)
        except Exception as error:  # Locust would only log it, here
            refusal = f"it could not be set up: {error!r}"
            log.exception("this worker could not be set up")
        if refusal:
            log.error("this worker cannot take part in the master's run: %s", refusal)
            self._environment.process_exit_code = CANNOT_TAKE_PART
        answer = {"refusal": refusal, "build_id": self._build_id, "host": socket.gethostname()}
        self._runner.send_message("bb_equipped", answer)

    def _take_on(self, data: dict[str, Any]) -> None:
        name = f"worker-{data['index']}"
        self._environment.user_classes = [
            with_settings(user, data["settings"].get(user.__name__, {})) for user in self._scenarios_own
        ]
        fix_settings(self._environment.user_classes)
        self._info = process_info(name, data["index"])
        shared = _shared(data["run"])
        recorder = Recorder(shared or partial(self._send_events, name), name, run_id=data["run"]["id"])
        recorder.start()
        use_java_clients(data["client_version"])
        network = messages.network_in(data)
        connectors = connectors_of(network.spoken, network.trust)
        self._session = Session(
            network=network,
            connectors=connectors,
            recorder=recorder,
            run_number=data["run_number"],
            seed=data["seed"],
            process_index=data["index"],
            clock=time.perf_counter_ns,
        )
        attach(self._environment, self._session)
        self._stalls = StallSampler(recorder, data["index"], connectors)
        self._stalls.start()
        if data["realtime"]:
            self._priority = with_priority(self._session)
        if data["jfr"] and shared:
            self._recording = with_recording(shared, name)
        elif data["jfr"] and CLIENTS.keys() & connectors.keys():
            self._session.tally.notes.append(f"no profile of the Java clients in {name}: {NO_FOLDER}")
        gevent.spawn(self._keep_reporting, self._session)
        gevent.spawn(self._keep_sampling, self._session)

    def _send_events(self, process: str, table: str, messages: bytes) -> None:
        self._runner.send_message("bb_events", {"process": process, "table": table, "messages": messages})

    def _in_session(self, act: Callable[[Session, Any], None]) -> Callable[[Any], None]:
        """Return a listener that does nothing while there is no session."""
        return lambda data: act(self._session, data) if self._session else None

    def _keep_reporting(self, session: Session) -> None:
        reported = 0
        while self._session is session:
            if session.tally.figures.counting and reported != (own := len(session.own_schedules)):
                reported = own
                self._runner.send_message("bb_schedules", messages.schedules(session.own_schedules))
            self._report(session)
            time.sleep(TALLY_EVERY_S)

    def _keep_sampling(self, session: Session) -> None:
        """Sample the CPU time of this process and its waits for a core, which are part of the load generator's."""
        own, waits = session.recorder.process, CoreWaits(os.getpid())
        while self._session is session:
            for row in process_rows("", os.getpid(), own) + core_wait_rows("", waits, own):
                session.recorder.sample(*row)
            time.sleep(PERIOD_S)

    def _report(self, session: Session) -> None:
        self._runner.send_message("bb_tally", messages.progress_of(session))

    def _on_test_stop(self, **_: Any) -> None:
        session = self._let_go()
        if session is None or self._info is None:
            return
        self._report(session)
        info = with_rows(with_tally(self._info, session.tally), session.recorder)
        self._runner.send_message("bb_closed", {"process": asdict(info)})

    def _let_go(self) -> Session | None:
        """End the session, if there is one, and return it with complete streams."""
        session, self._session = self._session, None
        if session:
            detach(self._environment)
            if self._stalls:
                self._stalls.stop()
            if self._priority:
                self._priority.stop()
            if self._recording:
                self._recording.stop()
            session.recorder.close()
        return session


def _shared(run: dict[str, str]) -> RunDirectory | None:
    """Return the run's folder, if this process sees it: on another host, the path may be a different folder."""
    try:
        directory = RunDirectory.open(Path(run["path"]))
        return directory if directory.read_run().run_id == run["id"] else None
    except RunUnreadable:
        return None


def _end_with_the_parent(parent: int) -> None:
    """End this forked worker with its parent, as it would otherwise wait for a minute (`--processes`)."""
    while os.getppid() == parent:
        time.sleep(ORPHAN_LOOK_EVERY_S)
    os._exit(1)


def _unreached(data: Mapping[str, Any]) -> str:
    """Return why this worker's clients cannot reach a broker, with the next step; '' if they reach all brokers."""
    for address, broker in data["network"]["broker_names"].items():
        host, _, port = address.rpartition(":")
        try:
            socket.create_connection((host, int(port)), REACH_TIMEOUT_S).close()
        except OSError as error:
            return (
                f"broker {broker} at {address} cannot be reached from host {socket.gethostname()} "
                f"({error.strerror or error}); brokers that the master starts listen at its --bind-host: "
                "set it to an address that every worker reaches"
            )
    return ""
