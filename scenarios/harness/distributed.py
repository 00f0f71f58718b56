"""How does one run span several processes? The master leads and the workers drive clients, over Locust's own channel.

    master                                worker
    equip        ── clock ──────────────►  what time is it with you? (a few times: the quickest answer counts)
                 ◄──────────────── clock ─
                 ── equip ──────────────►  a session, a recorder of its own
                 ◄───────────── equipped ─  (or why not)
    tally        ◄──────────────── tally ─  twice a second, problems included
    gathering    ◄─────────────── events ─  stream messages, from a worker that does not share the run's folder
    go           ── go ─────────────────►  schedules begin
    stop         ── stop_producing ─────►  producers fall silent, consumers go on
    dismiss      ◄─────────────── closed ─  when Locust has stopped its users: streams are complete

Credentials travel in these messages and are never written to the run folder. A worker that shares the run's folder
writes its events there; the events of any other come over the channel.
"""

import os
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import gevent
from locust import events
from locust.runners import STATE_MISSING, MasterRunner, WorkerRunner

from drivers.protocols import Spoken, connectors_of
from drivers.session import Go, Network, Session, Tally, Window, attach, detach
from records.errors import RunUnreadable
from records.gathering import Gathering
from records.run import ProcessInfo
from records.rundir import RunDirectory
from records.writer import Recorder
from scenarios.harness import plan
from scenarios.harness.clocks import Offset
from scenarios.harness.crew import Equipment, process_info
from topologies.endpoints import Credentials
from topologies.trust import Trust

EQUIP_TIMEOUT_S = 20.0
CLOSE_TIMEOUT_S = 20.0
TALLY_EVERY_S = 0.5
ORPHAN_LOOK_EVERY_S = 1.0
CLOCK_PROBES = 5
CLOCK_TIMEOUT_S = 2.0


class MasterCrew:
    """The workers, as the conductor sees them. Implements `scenarios.harness.crew.Crew`."""

    def __init__(self, runner: MasterRunner) -> None:
        self._runner = runner
        self._workers: tuple[str, ...] = ()
        self._offsets: dict[str, Offset] = {}
        self._doubts: list[str] = []
        self._info = process_info("master", 0)
        self._clocks = self._answers("bb_clock")
        self._equipped = self._answers("bb_equipped")
        self._tallies = self._answers("bb_tally")
        self._closed = self._answers("bb_closed")
        self._gathering: Gathering | None = None
        self._listen("bb_events", self._take_events)

    def _answers(self, message: str) -> dict[str, dict[str, Any]]:
        """The last message of a kind from each worker, by its id; fills as they come."""
        answers: dict[str, dict[str, Any]] = {}
        self._listen(message, lambda environment, msg: answers.update({msg.node_id: msg.data}))
        return answers

    def _listen(self, message: str, listener: Callable[[Any, Any], None]) -> None:
        self._runner.custom_messages.pop(message, None)  # that of the run before, in the web UI
        self._runner.register_message(message, listener)

    def _take_events(self, environment: Any, msg: Any) -> None:
        if self._gathering:
            self._gathering.take(msg.data["process"], msg.data["table"], msg.data["messages"])

    def equip(self, equipment: Equipment) -> None:
        self._gathering = Gathering(equipment.directory)
        self._workers = tuple(worker.id for worker in self._runner.clients.ready)
        self._offsets = {worker: self._probe(worker) for worker in self._workers}
        settings = plan.settings(self._runner.user_classes)
        for index, worker in enumerate(self._workers, start=1):
            packed = {**_packed(equipment, index), "settings": settings}
            self._runner.send_message("bb_equip", packed, worker)
        self._await(self._equipped, EQUIP_TIMEOUT_S)

    def tally(self) -> Tally:
        total = Tally()
        for report in list(self._tallies.values()):
            tally = report["tally"]
            total.sent += tally["sent"]
            total.settled += tally["settled"]
            total.received += tally["received"]
            total.missed += tally["missed"]
            total.finished_producers += tally["finished_producers"]
            total.ready.update(tally["ready"])
            total.lag.update(dict(tally["lag"]))
        return total

    def connected(self) -> Mapping[tuple[str, str], int]:
        total: Counter[tuple[str, str]] = Counter()
        for report in list(self._tallies.values()):
            total.update({(group, broker): count for group, broker, count in report["connected"]})
        return total

    def go(self, window: Window, messages: int | None, producers: Mapping[str, int]) -> None:
        first: Counter[str] = Counter()
        for worker in self._workers:
            signal = {
                "window": asdict(window.shifted(self._offsets[worker].offset_ns)),
                "messages": messages,
                "producers": dict(producers),
                "first": dict(first),
            }
            self._runner.send_message("bb_go", signal, worker)
            first.update(self._tallies.get(worker, {}).get("tally", {}).get("ready", {}))

    def stop_producing(self) -> None:
        for worker in self._workers:
            self._runner.send_message("bb_stop_producing", None, worker)

    def problems(self) -> list[str]:
        answers = self._equipped.items()
        found = [f"worker {worker}: {answer['refusal']}" for worker, answer in answers if answer["refusal"]]
        if self._gathering and self._gathering.failure:
            found.append(self._gathering.failure)
        silent = [worker for worker in self._workers if worker not in self._equipped and not self._is_lost(worker)]
        found += [f"worker {worker} did not answer when it was to be equipped" for worker in silent]
        for worker in self._workers:
            found += self._tallies.get(worker, {}).get("problems", ())
            if worker not in self._closed and self._is_lost(worker):
                found.append(f"worker {worker} was lost: what it had not yet written is missing")
        return found

    def doubts(self) -> list[str]:
        return self._doubts

    def dismiss(self) -> tuple[ProcessInfo, ...]:
        self._await(self._closed, CLOSE_TIMEOUT_S)
        if self._gathering:
            self._gathering.close()
        for worker in self._closed:
            if doubt := self._offsets[worker].doubt(self._probe(worker)):
                self._doubts.append(f"worker {worker}: {doubt}")
        infos = [self._info]
        for worker, report in self._closed.items():
            offset = self._offsets[worker].between(self._info.host, report["process"]["host"])
            infos.append(
                replace(ProcessInfo(**report["process"]), offset_ns=offset.offset_ns, error_bound_ns=offset.bound or 0)
            )
        return tuple(sorted(infos, key=lambda info: info.index))

    def _probe(self, worker: str) -> Offset:
        """How far a worker's clock is from ours, by the quickest of a few questions."""
        best = Offset(0, None)
        for _ in range(CLOCK_PROBES):
            self._clocks.pop(worker, None)
            asked_ns = time.perf_counter_ns()
            self._runner.send_message("bb_clock", None, worker)
            deadline_s = time.monotonic() + CLOCK_TIMEOUT_S
            while worker not in self._clocks and time.monotonic() < deadline_s:
                time.sleep(0.001)
            if worker in self._clocks:
                answer = Offset.of(asked_ns, self._clocks[worker]["at_ns"], time.perf_counter_ns())
                best = min(best, answer, key=lambda offset: offset.uncertainty)
        return best

    def _is_lost(self, worker: str) -> bool:
        node = self._runner.clients.get(worker)
        return node is None or node.state == STATE_MISSING

    def _await(self, answers: Mapping[str, Any], timeout_s: float) -> None:
        deadline_s = time.monotonic() + timeout_s
        while time.monotonic() < deadline_s:
            if all(worker in answers or self._is_lost(worker) for worker in self._workers):
                return
            time.sleep(0.05)


class WorkerDuty:
    """What a worker does when the master speaks."""

    def __init__(self, environment: Any, runner: WorkerRunner) -> None:
        self._environment = environment
        self._runner = runner
        self._session: Session | None = None
        self._info: ProcessInfo | None = None

    def register(self) -> None:
        """Listen to the master, and end with it."""
        listeners: dict[str, Callable[[Any], None]] = {
            "bb_clock": lambda _: self._runner.send_message("bb_clock", {"at_ns": time.perf_counter_ns()}),
            "bb_equip": self._equip,
            "bb_go": self._go,
            "bb_stop_producing": self._stop_producing,
        }
        for name, listener in listeners.items():
            self._runner.register_message(name, lambda environment, msg, act=listener: act(msg.data))
        events.test_stop.add_listener(self._on_test_stop)
        if self._environment.parsed_options.processes:
            gevent.spawn(_end_with_the_parent, os.getppid())

    def _equip(self, data: dict[str, Any]) -> None:
        try:
            self._take_on(data)
        except Exception as error:  # Locust would only log it, here
            self._runner.send_message("bb_equipped", {"refusal": f"it could not be equipped: {error!r}"})
            raise
        self._runner.send_message("bb_equipped", {"refusal": ""})

    def _take_on(self, data: dict[str, Any]) -> None:
        name = f"worker-{data['index']}"
        for user in self._runner.user_classes:
            for setting, value in data["settings"].get(user.__name__, {}).items():
                setattr(user, setting, value)
        self._info = process_info(name, data["index"])
        recorder = Recorder(_shared(data["run"]) or partial(self._send_events, name), name)
        recorder.start()
        network = _network(data["network"])
        self._session = Session(
            network=network,
            connectors=connectors_of(network.spoken, network.trust),
            recorder=recorder,
            run_number=data["run_number"],
            seed=data["seed"],
            process_index=data["index"],
            clock=time.perf_counter_ns,
        )
        attach(self._environment, self._session)
        gevent.spawn(self._keep_telling, self._session)

    def _send_events(self, process: str, table: str, messages: bytes) -> None:
        self._runner.send_message("bb_events", {"process": process, "table": table, "messages": messages})

    def _go(self, data: dict[str, Any]) -> None:
        if self._session:
            self._session.go(Go(Window(**data["window"]), data["messages"], data["producers"], Counter(data["first"])))

    def _stop_producing(self, _: Any) -> None:
        if self._session:
            self._session.stop_producing()

    def _keep_telling(self, session: Session) -> None:
        while self._session is session:
            self._tell(session)
            time.sleep(TALLY_EVERY_S)

    def _tell(self, session: Session) -> None:
        problems = [*session.problems, *([session.recorder.failure] if session.recorder.failure else [])]
        tally = {
            **vars(session.tally),
            "ready": dict(session.tally.ready),
            "lag": [list(item) for item in session.tally.lag.items()],  # MessagePack's keys are text
        }
        connected = [[group, broker, count] for (group, broker), count in session.connected().items()]
        self._runner.send_message("bb_tally", {"tally": tally, "connected": connected, "problems": problems})

    def _on_test_stop(self, **_: Any) -> None:
        session, self._session = self._session, None
        if session is None or self._info is None:
            return
        detach(self._environment)
        session.recorder.close()
        self._tell(session)
        self._runner.send_message("bb_closed", {"process": asdict(self._info)})


def _shared(run: dict[str, str]) -> RunDirectory | None:
    """The run's folder, if this process sees it: the same path may be another folder on another host."""
    try:
        directory = RunDirectory.open(Path(run["path"]))
        return directory if directory.read_run().run_id == run["id"] else None
    except RunUnreadable:
        return None


def _end_with_the_parent(parent: int) -> None:
    """`--processes` forks the workers; without their parent they would wait for a minute."""
    while os.getppid() == parent:
        time.sleep(ORPHAN_LOOK_EVERY_S)
    os._exit(1)


def _packed(equipment: Equipment, index: int) -> dict[str, Any]:
    network = equipment.network
    return {
        "run": {"path": str(equipment.directory.path.resolve()), "id": equipment.directory.path.name},
        "index": index,
        "run_number": equipment.run_number,
        "seed": equipment.seed,
        "network": {
            "spoken": str(network.spoken),
            "credentials": asdict(network.credentials),
            "failover_uris": {protocol: dict(uris) for protocol, uris in network.failover_uris.items()},
            "broker_names": dict(network.broker_names),
            "trusted_pem": network.trust.pem,
        },
    }


def _network(data: dict[str, Any]) -> Network:
    return Network(
        spoken=Spoken.parse(data["spoken"]),
        credentials=Credentials(**data["credentials"]),
        failover_uris=data["failover_uris"],
        broker_names=data["broker_names"],
        trust=Trust(data["trusted_pem"]),
    )
