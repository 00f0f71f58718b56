"""Begins and ends each fault on time. Every fault runs in its own thread and records one row.

If a fault did not begin, had no effect, was cut short by the end of the load, or was not mended, its row has the
reason. The run is then invalid, as it did not test the scenario's question.

Brokers that a fault has taken down are expected to be down until measurements show that they serve again. A broker that
joins is expected to be down until it has joined, and after it has left. A broker that is down without a fault has
crashed.
"""

import logging
import math
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from harness.faults.contract import Fault, Probe
from harness.faults.join import absent_at_start
from records.store.writer import Recorder
from records.units import NS_PER_S
from topologies.model.management import ManagementFailed
from topologies.runtimes.contract import Runtime, RuntimeFailed

log = logging.getLogger("brokerbench")

FAILED = "failed"
STAGES = ("began", "effective", "ended", "restored", FAILED)


@dataclass
class Moments:
    """The times of one fault's stages in nanoseconds; None for a stage that has not happened yet."""

    requested_ns: int
    began_ns: int
    effective_ns: int | None = None
    ended_ns: int | None = None
    restored_ns: int | None = None


class FaultSchedule:
    """Applies the faults of one run. Active faults end at once when the load ends."""

    def __init__(
        self,
        faults: Sequence[Fault],
        runtime: Runtime,
        recorder: Recorder,
        probe: Probe,
        *,
        load_may_end_sooner: bool = False,
    ) -> None:
        """``load_may_end_sooner``: the load may end before its planned end; a fault not due by then did not fail."""
        self._load_may_end_sooner, self._load_was_aborted = load_may_end_sooner, False
        self._runtime = runtime
        self._recorder = recorder
        self._probe = probe
        self._over = threading.Event()
        self._threads = [
            threading.Thread(target=self._apply, args=(index, fault), daemon=True) for index, fault in enumerate(faults)
        ]
        self.states = ["planned"] * len(faults)  # or: going on, over, failed: why
        self._moments: list[Moments | None] = [None] * len(faults)  # None for a fault that has not begun
        self._failed_ns: list[int | None] = [None] * len(faults)
        self.not_due: list[str] = []  # a sentence for each fault that was not due before the load ended
        self._load_began_ns = 0
        self._began_ns: list[int] = []  # for each fault; for a broker that joins, also the time when it began to leave
        self._over_ns: list[int] = []  # for each fault that is over, successful or not
        self._down = {*absent_at_start(faults)}
        self._not_joined, self._left = {*self._down}, set[str]()
        self._gone: set[str] = set()
        self._one_at_a_time = {fault.target: threading.Lock() for fault in faults}

    def start(self, load_began_ns: int) -> None:
        self._load_began_ns = load_began_ns
        for thread in self._threads:
            thread.start()

    def end(self, *, load_was_aborted: bool = False) -> None:
        """Mend all active faults, and wait until all are recorded. Idempotent, even if never started.

        A broker that has left is started again, so that the messages in its store can be counted.
        ``load_was_aborted``: by ``--abort-on``. Then a fault that was not due, or not over, did not fail.
        """
        self._load_was_aborted = load_was_aborted
        self._over.set()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join()
        while self._left:
            self._bring_back(self._left.pop())

    def stages_ns(self) -> list[dict[str, int]]:
        """Return the monotonic times of each fault's `STAGES` so far. A fault that failed may not have begun."""
        return [
            {stage: at_ns for stage, at_ns in zip(STAGES, (*_stages(moments), failed_ns), strict=True) if at_ns}
            for moments, failed_ns in zip(self._moments, self._failed_ns, strict=True)
        ]

    def expected_down(self) -> frozenset[str]:
        """Return the brokers that a fault has taken down, or is about to, and that do not serve again yet.

        Includes brokers that have not joined yet, or have left.
        """
        return frozenset(self._down)

    def brokers_not_joined(self) -> frozenset[str]:
        """Return the brokers that will join and have not been started yet."""
        return frozenset(self._not_joined)

    def brokers_down_for_good(self) -> frozenset[str]:
        """Return the brokers that a fault has taken down forever."""
        return frozenset(self._gone)

    def last_began_ns(self, by_ns: int) -> int | None:
        """Return the begin of the last fault that began by ``by_ns``; None without one. A leaving broker counts too."""
        return max((began_ns for began_ns in list(self._began_ns) if began_ns <= by_ns), default=None)

    def over_since_ns(self) -> int | None:
        """Return the end of the last fault; None while a fault is pending or active, and without faults.

        A fault that is never mended counts as over once it is in effect.
        """
        ended_ns = list(self._over_ns)
        return max(ended_ns) if ended_ns and len(ended_ns) == len(self._threads) else None

    def _bring_back(self, broker: str) -> None:
        log.info("broker %s left during the load: starting it again, to count the messages in its store", broker)
        try:
            self._runtime.start(broker)
        except Exception as failed:  # the search for messages there will get no answer, and will report that
            log.warning("broker %s was not started again: %s", broker, failed)
        else:
            self._down.discard(broker)

    def _apply(self, index: int, fault: Fault) -> None:
        requested_ns, error = self._turn(index, fault)
        moments = Moments(requested_ns, requested_ns)
        if error:
            moments.began_ns = time.perf_counter_ns()
        elif self._over.wait(max(0.0, (requested_ns - time.perf_counter_ns()) / NS_PER_S)):
            if self._load_may_end_sooner or self._load_was_aborted:
                self.not_due.append(
                    f"fault {fault.kind} of {fault.target} was skipped: the load ended before it was due"
                )
                return
            error = "the load ended before it was due"
            moments.began_ns = time.perf_counter_ns()
        else:
            self.states[index] = "going on"
            with self._one_at_a_time[fault.target]:
                self._moments[index] = moments
                error = self._guarded(fault, moments)
        self.states[index] = f"{FAILED}: {error}" if error else "going on" if fault.is_forever else "over"
        if error:
            self._failed_ns[index] = time.perf_counter_ns()
            log.warning("fault %s of %s: %s", fault.kind, fault.target, error)
        self._recorder.fault(
            fault.kind,
            fault.target,
            moments.began_ns,
            moments.ended_ns,
            error,
            requested_ns=moments.requested_ns,
            effective_ns=moments.effective_ns,
            restored_ns=moments.restored_ns,
        )
        self._over_ns.append(time.perf_counter_ns())

    def _turn(self, index: int, fault: Fault) -> tuple[int, str | None]:
        """Return the due time, and the reason not to begin (or None). Waits for the preceding fault if needed."""
        due_ns = self._load_began_ns + round(fault.at_s * NS_PER_S)
        if fault.turn_pause_s is None:
            return due_ns, None
        self._threads[index - 1].join()
        failed = self.states[index - 1].startswith(FAILED)
        pause_ns = round(fault.turn_pause_s * NS_PER_S)
        return max(due_ns, time.perf_counter_ns() + pause_ns), "the preceding fault failed" if failed else None

    def _guarded(self, fault: Fault, moments: Moments) -> str | None:
        """Apply the fault, and return the error or None. A broker that could not be mended stays expected down."""
        moments.began_ns = time.perf_counter_ns()
        self._began_ns.append(moments.began_ns)
        if fault.takes_down:
            self._down.add(fault.target)
        try:
            error = self._happen(fault, moments)
        except Exception as failed:
            return str(failed) if isinstance(failed, RuntimeFailed | ManagementFailed) else repr(failed)
        if fault.takes_down and moments.restored_ns is not None:
            self._down.discard(fault.target)
        return error

    def _happen(self, fault: Fault, moments: Moments) -> str | None:
        self._log(fault, "requested")
        if fault.joins:
            self._not_joined.discard(fault.target)
        if fault.changes_state and fault.in_effect(self._probe):
            return "it was up already, so the run does not show its start"
        fault.begin(self._runtime)
        self._left.discard(fault.target)
        moments.effective_ns = self._measured(fault, fault.in_effect, fault.effect_timeout_s)
        if moments.effective_ns is None:
            error: str | None = f"it had no effect within {fault.effect_timeout_s:g} s"
        else:
            self._log(fault, f"effective after {_since_s(moments.began_ns, moments.effective_ns)} s")
            if fault.joins:
                self._down.discard(fault.target)
            error = self._wait(fault)
        if fault.is_forever:
            if fault.takes_down:
                self._gone.add(fault.target)
            return error
        moments.ended_ns = time.perf_counter_ns()
        return (self._mended(fault, moments) if fault.has_end else None) or error

    def _wait(self, fault: Fault) -> str | None:
        """Wait until the fault is due to end. Returns why it ended early, or None."""
        if not fault.has_end:
            return None
        without_end = math.isinf(fault.lasts_s)
        cut_short = self._over.wait(None if without_end else fault.lasts_s)
        if not cut_short or without_end or self._load_was_aborted:
            return None
        return "the load ended before the fault was over"

    def _mended(self, fault: Fault, moments: Moments) -> str | None:
        assert moments.ended_ns is not None
        if fault.joins:
            self._down.add(fault.target)
            self._left.add(fault.target)
            self._began_ns.append(moments.ended_ns)
        fault.end(self._runtime)
        moments.restored_ns = self._measured(fault, fault.mended, fault.mended_timeout_s)
        if moments.restored_ns is None:
            return f"{fault.target} {fault.not_mended_as} within {fault.mended_timeout_s:g} s after it was mended"
        self._log(fault, f"mended: {fault.mended_as} after {_since_s(moments.ended_ns, moments.restored_ns)} s")
        return None

    def _measured(self, fault: Fault, holds: Callable[[Probe], bool], timeout_s: float) -> int | None:
        """Wait until ``holds`` is true, and return the time; None after ``timeout_s``."""
        deadline_s = time.monotonic() + timeout_s
        while not holds(self._probe):
            if time.monotonic() >= deadline_s:
                return None
            time.sleep(fault.look_every_s)
        return time.perf_counter_ns()

    def _log(self, fault: Fault, state: str) -> None:
        at_s = (time.perf_counter_ns() - self._load_began_ns) / NS_PER_S
        log.info("fault %s of %s, %.1f s into the load: %s", fault.kind, fault.target, at_s, state)


def _stages(moments: Moments | None) -> tuple[int | None, int | None, int | None, int | None]:
    if moments is None:
        return (None, None, None, None)
    return (moments.began_ns, moments.effective_ns, moments.ended_ns, moments.restored_ns)


def _since_s(began_ns: int, ended_ns: int) -> str:
    return f"{(ended_ns - began_ns) / NS_PER_S:.2f}"
