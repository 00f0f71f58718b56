"""The master's side: equips the workers, adds up their counts, and collects their events."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from locust import User, runners
from locust.runners import STATE_MISSING, MasterRunner

from drivers.client.contract import SpokenProtocols
from drivers.users.session import Go, RateChange, Tally, Window
from harness.distributed import messages
from harness.distributed.clocks import Offset, assess_clock, thin_out
from harness.distributed.messages import another_build, build_id
from harness.distributed.same_settings import own_settings
from harness.options.user_classes import settings
from harness.run.load_generators import Equipment, process_info
from records.errors import UserError, refuse_first
from records.run import ProcessInfo
from records.store.streams import Gathering

EQUIP_TIMEOUT_S = 20.0
CLOSE_TIMEOUT_S = 20.0
CLOCK_PROBES = 5
CLOCK_TIMEOUT_S = 2.0
ASK_AGAIN_S = 20.0
HEARTBEATS_MISSED = 10
"""Number of heartbeats, one per second, that a worker may miss before it counts as lost.

Locust's default of three is too few for a busy machine, where a worker can pause for seconds and lose nothing.
"""


def one_process_refusals(spoken: SpokenProtocols, users: Sequence[type[User]]) -> Iterator[str]:
    """Yield each reason why a run cannot have workers."""
    if "memory" in spoken.distinct:
        yield "brokers in memory are in one process: leave --processes, --master and --worker out"
    if several := [user.__name__ for user in users if getattr(user, "destinations", 1) > 1]:
        yield (
            f"{', '.join(several)}: several destinations per class work in one process only, as it assigns them to "
            "users; leave --processes, --master and --worker out, or --destinations"
        )
    if any(getattr(user, "joins", "") for user in users):
        yield (
            "steps of clients work in one process only, as it assigns users to steps; leave --processes, --master "
            "and --worker out"
        )


class DistributedLoadGenerators:
    """The workers. Implements `harness.run.load_generators.LoadGenerators`."""

    def __init__(self, runner: MasterRunner) -> None:
        self._runner = runner
        runners.HEARTBEAT_LIVENESS = max(runners.HEARTBEAT_LIVENESS, HEARTBEATS_MISSED)
        self._build_id = build_id()
        self._workers: tuple[str, ...] = ()
        self._offsets: dict[str, Offset] = {}
        self._answers_of: dict[str, list[Offset]] = {}
        self._over = threading.Event()
        self._asking = threading.Thread(target=self._keep_asking, daemon=True)
        self._doubts: list[str] = []
        self._info = process_info("master", 0)
        self._clocks = self._answers("bb_clock")
        self._equipped = self._answers("bb_equipped")
        self._tallies = self._answers("bb_tally")
        self._closed = self._answers("bb_closed")
        self._gathering: Gathering | None = None
        self._listen("bb_events", self._take_events)
        self._listen("bb_schedules", self._pass_on_schedules)

    def _answers(self, message: str) -> dict[str, dict[str, Any]]:
        """Return a dict of the last ``message`` from each worker, by its id, which fills as messages arrive."""
        answers: dict[str, dict[str, Any]] = {}
        self._listen(message, lambda environment, msg: answers.update({msg.node_id: msg.data}))
        return answers

    def _listen(self, message: str, listener: Callable[[Any, Any], None]) -> None:
        """Call ``listener`` for messages of this run's workers only.

        A worker of an earlier run may still be connected, and its messages must not reach this run.
        """

        def of_our_workers(environment: Any, msg: Any) -> None:
            if msg.node_id in self._workers:
                listener(environment, msg)

        self._runner.custom_messages.pop(message, None)  # the previous run's, in the web UI
        self._runner.register_message(message, of_our_workers)

    def _take_events(self, environment: Any, msg: Any) -> None:
        if self._gathering:
            self._gathering.take(msg.data["process"], msg.data["table"], msg.data["messages"])

    def _pass_on_schedules(self, environment: Any, msg: Any) -> None:
        """Let every other worker time the messages of these producers. Workers of one host share its clock."""
        sender = msg.node_id
        for worker in self._workers:
            if worker != sender:
                one_host = self._equipped[worker]["host"] == self._equipped[sender]["host"]
                ahead_ns = 0 if one_host else self._offsets[worker].offset_ns - self._offsets[sender].offset_ns
                shifted = messages.schedules_in(msg.data, ahead_ns)
                self._runner.send_message("bb_schedules", messages.schedules(shifted), worker)

    def equip(self, equipment: Equipment) -> None:
        refuse_first(one_process_refusals(equipment.network.spoken, self._runner.user_classes))
        self._gathering = Gathering(equipment.directory)
        self._workers = tuple(worker.id for worker in self._runner.clients.ready)
        self._offsets = {worker: self._probe(worker) for worker in self._workers}
        chosen = settings(self._runner.user_classes)
        own = own_settings(self._runner.user_classes)
        for index, worker in enumerate(self._workers, start=1):
            message = messages.equip(equipment, index, chosen, own, self._build_id)
            self._runner.send_message("bb_equip", message, worker)
        self._await(self._equipped, EQUIP_TIMEOUT_S)
        if refusals := self._refusals():
            for worker in self._workers:
                self._runner.send_message("bb_call_off", None, worker)
            raise UserError("; ".join(refusals))

    def _refusals(self) -> list[str]:
        """Return one sentence for each worker that cannot take part in the run."""
        refusals = []
        for worker in self._workers:
            answer = self._equipped.get(worker)
            if answer is None and self._is_lost(worker):
                refusals.append(f"worker {worker} was lost before it could be set up")
            elif answer is None:
                within = f"within {EQUIP_TIMEOUT_S:g} s when it was set up"
                refusals.append(f"worker {worker} did not answer {within}")
            elif why := answer["refusal"] or another_build(answer.get("build_id", "an older one"), self._build_id):
                refusals.append(f"worker {worker}: {why}")
        return refusals

    def tally(self) -> Tally:
        workers = [worker for worker in self._workers if worker in self._tallies]
        reports = [self._tallies[worker] for worker in workers]
        return messages.tally_in(reports, [self._offsets[worker].offset_ns for worker in workers])

    def connected(self) -> Mapping[tuple[str, str], int]:
        return messages.connected_in(list(self._tallies.values()))

    def go(self, go: Go) -> None:
        self._answers_of = {worker: [offset] for worker, offset in self._offsets.items()}
        self._asking.start()
        first_index: Counter[str] = Counter()
        for worker in self._workers:
            shifted = go.window.shifted(self._offsets[worker].offset_ns)
            several = len(self._workers) > 1
            of_worker = replace(go, window=shifted, first_index=Counter(first_index), has_others=several)
            self._runner.send_message("bb_go", messages.go(of_worker), worker)
            first_index.update(self._tallies.get(worker, {}).get("tally", {}).get("ready", {}))

    def settle(self, window: Window) -> None:
        for worker in self._workers:
            shifted = window.shifted(self._offsets[worker].offset_ns)
            self._runner.send_message("bb_settle", messages.settle(shifted), worker)

    def change_rate(self, change: RateChange) -> None:
        for worker in self._workers:
            shifted = change.shifted(self._offsets[worker].offset_ns)
            self._runner.send_message("bb_change_rate", messages.change_rate(shifted), worker)

    def stop_producing(self) -> None:
        for worker in self._workers:
            self._runner.send_message("bb_stop_producing", None, worker)

    def problems(self) -> list[str]:
        problems = [self._gathering.failure] if self._gathering and self._gathering.failure else []
        for worker in self._workers:
            problems += self._tallies.get(worker, {}).get("problems", ())
            if worker not in self._closed and self._is_lost(worker):
                problems.append(f"worker {worker} was lost: the events that it had not yet written are missing")
        return problems

    def doubts(self) -> list[str]:
        return self._doubts

    def dismiss(self) -> tuple[ProcessInfo, ...]:
        self._await(self._closed, CLOSE_TIMEOUT_S)
        if self._gathering:
            self._gathering.close()
        self._stop_asking()
        infos = [self._info]
        for worker, report in self._closed.items():
            answers = [*self._answers_of.get(worker, [self._offsets[worker]]), self._probe(worker)]
            went = assess_clock(answers, one_host=report["process"]["host"] == self._info.host)
            self._doubts += [f"worker {worker}: {went.doubt}"] if went.doubt else []
            info = ProcessInfo(**report["process"])
            infos.append(replace(info, offset_ns=went.offset_ns, error_bound_ns=went.bound_ns, clock=went.readings))
        return tuple(sorted(infos, key=lambda info: info.index))

    def _keep_asking(self) -> None:
        """Read every worker's clock from time to time, as clocks drift apart in a long run."""
        while not self._over.wait(ASK_AGAIN_S):
            for worker in self._workers:
                if not self._is_lost(worker):
                    self._answers_of[worker] = thin_out([*self._answers_of[worker], self._probe(worker)])

    def _stop_asking(self) -> None:
        self._over.set()
        if self._asking.is_alive():
            self._asking.join()

    def _probe(self, worker: str) -> Offset:
        """Measure the offset of a worker's clock, as the quickest of several answers."""
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
