"""Begins and ends each fault in time. Every fault has a thread of its own and leaves one row.

A fault may not have begun, may have had no effect, may be cut short by the end of the load, or may not be mended. Then
its row has the reason, and the run is invalid: it did not ask what it was meant to ask.

The brokers that a fault has taken down are expected to be down, until they are measured to serve again. A broker that
joins is expected to be down until it has joined, and after it has left. Only a broker that is down without a fault has
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
from records.units import NS_PER_S
from records.writer import Recorder
from topologies.management.jolokia import ManagementFailed
from topologies.runtimes.contract import Runtime, RuntimeFailed

log = logging.getLogger("brokerbench")

FAILED = "failed"


@dataclass
class Moments:
    """What has happened of one fault so far, in nanoseconds; None for what has not."""

    requested_ns: int
    began_ns: int
    effective_ns: int | None = None
    ended_ns: int | None = None
    restored_ns: int | None = None


class FaultSchedule:
    """The faults of one run. ``over``: set when the load ends; active faults then end at once."""

    def __init__(
        self,
        faults: Sequence[Fault],
        runtime: Runtime,
        recorder: Recorder,
        probe: Probe,
        *,
        load_may_end_sooner: bool = False,
    ) -> None:
        """``load_may_end_sooner``: than planned. Then a fault that was not due by then has not failed."""
        self._load_may_end_sooner = load_may_end_sooner
        self._runtime = runtime
        self._recorder = recorder
        self._probe = probe
        self._over = threading.Event()
        self._threads = [
            threading.Thread(target=self._apply, args=(index, fault), daemon=True) for index, fault in enumerate(faults)
        ]
        self.states = ["planned"] * len(faults)  # or: going on, over, failed: why
        self.not_due: list[str] = []  # a sentence for each fault that the end of the load left out
        self._load_began_ns = 0
        self._began_ns: list[int] = []  # each fault; of one that joins also when it began to leave
        self._over_ns: list[int] = []  # each fault that is over, whatever came of it
        self._down = {*absent_at_start(faults)}
        self._not_joined, self._left = {*self._down}, set[str]()
        self._gone: set[str] = set()
        self._one_at_a_time = {fault.target: threading.Lock() for fault in faults}

    def start(self, load_began_ns: int) -> None:
        self._load_began_ns = load_began_ns
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        """Mend what is still broken, and wait until all is recorded. Idempotent, also when never started.

        A broker that has left is started again, so that what it has stored can be counted.
        """
        self._over.set()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join()
        while self._left:
            self._bring_back(self._left.pop())

    def expected_down(self) -> frozenset[str]:
        """The brokers that a fault has taken down, or is about to, and that do not serve again yet.

        Those too that have not joined yet, or have left.
        """
        return frozenset(self._down)

    def not_joined(self) -> frozenset[str]:
        """The brokers that are to join and have not been started yet."""
        return frozenset(self._not_joined)

    def gone_for_good(self) -> frozenset[str]:
        """The brokers that a fault has taken down, and that never come back."""
        return frozenset(self._gone)

    def last_began_ns(self, by_ns: int) -> int | None:
        """When the last fault that had begun by then began; None: none had. A broker that leaves counts as well."""
        return max((began_ns for began_ns in list(self._began_ns) if began_ns <= by_ns), default=None)

    def over_since_ns(self) -> int | None:
        """When the last fault was over; None while one is still to come or going on, and without faults.

        One that is never mended counts as over once it has its effect.
        """
        ended_ns = list(self._over_ns)
        return max(ended_ns) if ended_ns and len(ended_ns) == len(self._threads) else None

    def _bring_back(self, broker: str) -> None:
        log.info("broker %s left during the load: it is started again, for what it has stored", broker)
        try:
            self._runtime.start(broker)
        except Exception as failed:  # whoever looks for messages there will not get an answer, and will say so
            log.warning("broker %s was not started again: %s", broker, failed)
        else:
            self._down.discard(broker)

    def _apply(self, index: int, fault: Fault) -> None:
        requested_ns, error = self._turn(index, fault)
        moments = Moments(requested_ns, requested_ns)
        if error:
            moments.began_ns = time.perf_counter_ns()
        elif self._over.wait(max(0.0, (requested_ns - time.perf_counter_ns()) / NS_PER_S)):
            if self._load_may_end_sooner:
                self.not_due.append(f"fault {fault.kind} of {fault.target} was left out: the load was over before")
                return
            error = "the load was over before it was due"
            moments.began_ns = time.perf_counter_ns()
        else:
            self.states[index] = "going on"
            with self._one_at_a_time[fault.target]:
                error = self._guarded(fault, moments)
        self.states[index] = f"{FAILED}: {error}" if error else "going on" if fault.is_forever else "over"
        if error:
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
        """When it is due, and why it is not to begin at all, or None. Waits for the fault before it if it has to."""
        due_ns = self._load_began_ns + round(fault.at_s * NS_PER_S)
        if fault.turn_pause_s is None:
            return due_ns, None
        self._threads[index - 1].join()
        failed = self.states[index - 1].startswith(FAILED)
        pause_ns = round(fault.turn_pause_s * NS_PER_S)
        return max(due_ns, time.perf_counter_ns() + pause_ns), "the fault before it failed" if failed else None

    def _guarded(self, fault: Fault, moments: Moments) -> str | None:
        """What went wrong, or None. A broker that could not be mended stays expected to be down."""
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
        self._say(fault, "requested")
        if fault.joins:
            self._not_joined.discard(fault.target)
        fault.begin(self._runtime)
        self._left.discard(fault.target)
        moments.effective_ns = self._measured(fault, fault.in_effect, fault.effect_timeout_s)
        if moments.effective_ns is None:
            error: str | None = f"it had no effect within {fault.effect_timeout_s:g} s"
        else:
            self._say(fault, f"effective after {_since_s(moments.began_ns, moments.effective_ns)} s")
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
        """Keep it up for as long as it lasts; why it lasted less, or None."""
        if not fault.has_end:
            return None
        without_end = math.isinf(fault.lasts_s)
        cut_short = self._over.wait(None if without_end else fault.lasts_s)
        return "the load was over before it was" if cut_short and not without_end else None

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
        self._say(fault, f"mended: {fault.mended_as} after {_since_s(moments.ended_ns, moments.restored_ns)} s")
        return None

    def _measured(self, fault: Fault, holds: Callable[[Probe], bool], timeout_s: float) -> int | None:
        """When it was seen to hold; None if it was not in time."""
        deadline_s = time.monotonic() + timeout_s
        while not holds(self._probe):
            if time.monotonic() >= deadline_s:
                return None
            time.sleep(fault.look_every_s)
        return time.perf_counter_ns()

    def _say(self, fault: Fault, state: str) -> None:
        at_s = (time.perf_counter_ns() - self._load_began_ns) / NS_PER_S
        log.info("fault %s of %s, %.1f s into the load: %s", fault.kind, fault.target, at_s, state)


def _since_s(began_ns: int, ended_ns: int) -> str:
    return f"{(ended_ns - began_ns) / NS_PER_S:.2f}"
