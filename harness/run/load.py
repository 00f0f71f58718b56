"""Runs the load, from connected clients to the last message that is due, and ends it early if necessary."""

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from drivers.users.connection_losses import ConnectionLosses, Loss
from drivers.users.session import Go, Tally, Window
from harness.faults.schedule import FaultSchedule
from harness.options.plan import Plan
from harness.run import warm_up
from harness.run.abort import AbortWatch
from harness.run.brokers import BrokerEnvironment
from harness.run.load_generators import LoadGenerators
from harness.run.record import RunRecord
from harness.run.steering import AHEAD_S, ClientStepsWatch, RateSearch
from harness.runner_calls import cut_short_by
from harness.scenario import WARM_UP_AT_MOST_S
from records.run import WarmUp
from records.store.writer import Recorder
from records.units import NS_PER_S

log = logging.getLogger("brokerbench")

READY_TIMEOUT_S = 90.0  # longer than a client waits for an answer, so that the client's error is reported first
CATCH_UP_S = 2.0  # after the last due time, for producers that are behind
LEAD_S = 0.5  # between the start signal and the first due time, so that every process has the signal by then
LOOK_EVERY_S = 0.2
TELL_EVERY_S = 5.0
WATCHED_S = 4  # seconds of latencies that are kept for the web UI, which reads each second once


class Load:
    """The load of one run. ``window``: None until the start signal is given."""

    def __init__(
        self,
        plan: Plan,
        run_record: RunRecord,
        load_generators: LoadGenerators,
        brokers: BrokerEnvironment,
        faults: FaultSchedule,
        recorder: Recorder,
        *,
        watched: bool = False,
    ) -> None:
        self.window: Window | None = None
        self.over = False
        self._is_due_to_end = False  # the scenario's regular end was reached
        self._end_is_fixed = False  # for a load that ends after its faults
        self._plan, self._run_record = plan, run_record
        self._load_generators, self._brokers, self._faults, self._recorder = load_generators, brokers, faults, recorder
        self._clients_off = ClientsOff(faults.last_began_ns)
        self._search = RateSearch.of(plan, load_generators.change_rate, run_record) if plan.options.search else None
        clients = plan.options.clients
        self._client_steps = ClientStepsWatch(clients, run_record) if clients else None
        self.abort = AbortWatch(plan.abort_on, with_warm_up=plan.options.abort_in_warm_up)
        self._told_of: set[str] = set()
        self._watched_s = WATCHED_S if watched else 0

    def hold(self) -> None:
        """Wait for the users, give the start signal, and return when the load is over for any reason."""
        if not self._wait_until_ready():
            return
        self._go()
        told_s = time.monotonic()
        while not self.over and not self.trouble():
            now_ns = time.perf_counter_ns()
            window = self._settled_by(now_ns)
            if self._reaches_its_end(window, now_ns) or self._aborts(window, now_ns):
                self._is_due_to_end = True
                return
            if time.monotonic() - told_s >= TELL_EVERY_S:
                told_s = time.monotonic()
                self._log_progress(window, now_ns)
            self._log_line(self._clients_off.line(self._load_generators.tally().losses, now_ns))
            self._end_after_faults(window, now_ns)
            time.sleep(LOOK_EVERY_S)

    def _reaches_its_end(self, window: Window, now_ns: int) -> bool:
        """Whether the load has reached its regular end: by time, message count, search or steps."""
        if window.load_ends_ns is not None and now_ns >= window.load_ends_ns + CATCH_UP_S * NS_PER_S:
            return True
        tally = self._load_generators.tally()
        if tally.finished_producers >= sum(self._plan.producers.values()):
            self._anybody_sends()
            return True
        return any(steered.is_over(tally, window, now_ns) for steered in (self._search, self._client_steps) if steered)

    def _aborts(self, window: Window, now_ns: int) -> bool:
        """Whether a condition of ``--abort-on`` ends the load now; it is recorded as the reason."""
        in_warm_up = window.is_open or now_ns < window.load_began_ns
        began_ns = window.warm_up_began_ns if in_warm_up else window.load_began_ns
        aborts = self.abort.look(self._live_figures, began_ns, now_ns, in_warm_up=in_warm_up)
        for abort in aborts:
            log.error("%s", abort)
        self._run_record.update(aborts=(*self._run_record.info.aborts, *aborts))
        return bool(aborts)

    def _live_figures(self) -> Mapping[str, float | None]:
        return self._load_generators.tally().figures.values()

    def _end_after_faults(self, window: Window, now_ns: int) -> None:
        """Fix the end of the load once all faults are over. Every process is informed before that end."""
        wanted_s, over_ns = self._plan.after_faults_s, self._faults.over_since_ns()
        if wanted_s is None or over_ns is None or self._end_is_fixed or window.load_ends_ns is None:
            return
        self._end_is_fixed = True
        ends_ns = max(over_ns + round(wanted_s * NS_PER_S), now_ns + round(AHEAD_S * NS_PER_S))
        self.window = replace(window, load_ends_ns=min(ends_ns, window.load_ends_ns))
        self._load_generators.settle(self.window)

    def _wait_until_ready(self) -> bool:
        wanted = self._plan.clients_before_load
        deadline_s = time.monotonic() + READY_TIMEOUT_S
        while not self.over and not self.trouble():
            ready = self._load_generators.tally().ready.total()
            if ready >= wanted:
                self._run_record.ended("clients")
                return self._anybody_sends()
            if time.monotonic() > deadline_s:
                self._run_record.problem(f"only {ready} of {wanted} clients were ready after {READY_TIMEOUT_S:g} s")
                return False
            time.sleep(LOOK_EVERY_S / 4)
        return False

    def _anybody_sends(self) -> bool:
        """Whether a producer is left. If all producers have failed, it is recorded as a problem of the run."""
        problem = all_producers_failed(self._load_generators.tally(), self._plan.producers)
        if problem:
            self._run_record.problem(problem)
        return not problem

    def _go(self) -> None:
        """Give the start signal. Without a fixed warm-up, the load begins after the longest or earlier: `settle`."""
        stated_s = self._plan.options.warm_up_s
        longest_s = WARM_UP_AT_MOST_S if stated_s is None else stated_s
        began_ns = time.perf_counter_ns() + round(LEAD_S * NS_PER_S)
        window = self.window = self._window(began_ns, longest_s, is_open=stated_s is None)
        self._run_record.phases(warm_up_began_ns=began_ns, load_began_ns=window.load_began_ns)
        end = "fixed" if stated_s is not None else warm_up.NOT_SETTLED
        self._run_record.update(warm_up=WarmUp(end, float(longest_s), float(longest_s)))
        self._run_record.write()
        steered = self._search or self._client_steps
        live_s = steered.live_s if steered else self._watched_s
        messages, producers = self._plan.options.messages, self._plan.producers
        self._load_generators.go(
            Go(
                window,
                messages,
                producers,
                Counter(),
                live_s,
                by_due=bool(steered),
                figures=bool(self.abort.conditions),
                with_warm_up=self.abort.with_warm_up,
            )
        )
        if not window.is_open:
            self._faults.start(window.load_began_ns)

    def _window(self, began_ns: int, warm_up_s: float, *, is_open: bool = False) -> Window:
        load_ns, seconds = began_ns + round(warm_up_s * NS_PER_S), self._plan.load_s
        return Window(began_ns, load_ns, None if seconds is None else load_ns + round(seconds * NS_PER_S), is_open)

    def _settled_by(self, now_ns: int) -> Window:
        """Return the window. The beginning of the load is fixed once the warm-up is known to be over."""
        assert self.window is not None
        if self.window.is_open:
            ahead_s = (now_ns - self.window.warm_up_began_ns) / NS_PER_S + LEAD_S  # every process is informed by then
            if end := warm_up.decision(
                self._load_generators.tally().live, ahead_s - LEAD_S, WARM_UP_AT_MOST_S - LEAD_S
            ):
                self._settle(end, warm_up.lasts_s(end, ahead_s))
        return self.window

    def _settle(self, end: str, lasted_s: float) -> None:
        """Fix the length of the warm-up in seconds, and so the times of the load and its faults."""
        assert self.window is not None
        window = self.window = self._window(self.window.warm_up_began_ns, lasted_s)
        log.info("%s", warm_up.describe_end(end, lasted_s))
        self._run_record.phases(load_began_ns=window.load_began_ns)
        self._run_record.update(warm_up=WarmUp(end, lasted_s, float(WARM_UP_AT_MOST_S)))
        self._run_record.write()
        self._load_generators.settle(window)
        self._faults.start(window.load_began_ns)

    def _log_progress(self, window: Window, now_ns: int) -> None:
        done_s = (now_ns - window.load_began_ns) / NS_PER_S
        at_most = "" if self._plan.after_faults_s is None or self._end_is_fixed else "at most "
        ends_ns = window.load_ends_ns
        length = "" if ends_ns is None else f" of {at_most}{round((ends_ns - window.load_began_ns) / NS_PER_S, 1):g} s"
        to_go = f"{'at most ' if window.is_open else ''}{-done_s:.0f} s to go"
        phase = f"load: {done_s:.0f} s{length}" if done_s >= 0 else f"warm-up: {to_go}"
        tally = self._load_generators.tally()
        log.info("%s, sent %s, received %s", phase, f"{tally.sent:,}", f"{tally.received:,}")

    def _log_line(self, line: str) -> None:
        if line:
            log.info("%s", line)

    def trouble(self, *, brokers: bool = True) -> bool:
        """Whether a problem ends the run. Problems are added to the run's record."""
        self._warn_of_failed_users()
        problems = self._load_generators.problems()
        if self._recorder.failure:
            problems.append(self._recorder.failure)
        problems += self._brokers.dead_brokers(self._faults.expected_down) if brokers else ()
        for problem in problems:
            self._run_record.problem(problem)
        return bool(problems)

    def _warn_of_failed_users(self) -> None:
        """Warn when the first user of a class with `may_fail` fails. The number of failed users is known at the end."""
        first_errors = self._load_generators.tally().first_errors
        for user_class in first_errors.keys() - self._told_of:
            log.warning("%s: %s. The other users go on (may_fail)", user_class, first_errors[user_class].rstrip("."))
        self._told_of |= first_errors.keys()

    def cut_short(self, call: str) -> None:
        """End the load because code outside the harness tried to. ``call``: the call and its place."""
        if self.over:
            return
        if not self._is_due_to_end and not self.trouble():
            self._run_record.problem(self._cut_short_by(call))
        self.end()

    def _cut_short_by(self, what: str) -> str:
        window = self.window
        if window is None or window.is_open:
            return cut_short_by(what)
        ends_ns, load_s = window.load_ends_ns, (time.perf_counter_ns() - window.load_began_ns) / NS_PER_S
        return cut_short_by(what, load_s, None if ends_ns is None else (ends_ns - window.load_began_ns) / NS_PER_S)

    def end(self, *, by_hand: bool = False) -> None:
        """Stop sending. Idempotent; called by the clock, by Ctrl-C or by the web UI's stop button.

        ``by_hand``: a user ends the load early. Any other early end is a problem of the run.
        """
        if self.over:
            return
        self.over = True
        if not self._is_due_to_end and not by_hand and not self._run_record.info.problems:
            self._run_record.problem(self._cut_short_by("code outside brokerbench"))
        if self._search and not self._search.over:
            self._run_record.warning("the search for the highest rate was not over when the load ended")
        self._log_line(self._clients_off.last_line(self._load_generators.tally().losses))
        now_ns = time.perf_counter_ns()  # messages that are due later are not expected
        self._load_generators.stop_producing()
        self._faults.end(load_was_aborted=bool(self._run_record.info.aborts))
        self._run_record.ended("load")
        if self.window is None:
            return
        ended_ns = now_ns if self.window.load_ends_ns is None else min(now_ns, self.window.load_ends_ns)
        ended_ns = max(ended_ns, self.window.load_began_ns)  # interrupted in the warm-up: a load of no length
        self._run_record.lasted("load", (ended_ns - self.window.load_began_ns) / NS_PER_S)
        self._run_record.phases(load_ended_ns=ended_ns)


def failed_user_sentences(tally: Tally, counts: Mapping[str, int]) -> Iterator[str]:
    """Yield one sentence for each user class with failed users. ``counts``: number of users by class."""
    for user_class, failed in sorted(tally.failed.items()):
        unsent = tally.unsent[user_class]
        never_sent = f"; {unsent:,} of their messages were never sent" if unsent else ""
        yield (
            f"{failed} of {counts[user_class]} users {user_class} failed (may_fail), and the load went on without "
            f"them{never_sent}. The first error: {tally.first_errors[user_class]}"
        )


def all_producers_failed(tally: Tally, producers: Mapping[str, int]) -> str:
    """Return a problem if all producers have failed; '' while a producer still works."""
    failed = sum(tally.failed[user_class] for user_class in producers)
    if not failed or failed < sum(producers.values()):
        return ""
    user_class = min(tally.first_errors.keys() & producers.keys())
    return f"all producers have failed; {user_class}: {tally.first_errors[user_class]}"


EVERY_NS = NS_PER_S  # after the first loss: time for every client and worker to report its own loss


class ClientsOff:
    """Log lines about disconnected clients: at most one per second, and only if their number has changed.

    ``last_fault_ns``: returns the beginning (ns) of the last fault before a given time, or None. The first losses after
    a fault are timed from its beginning. Later losses without another fault are timed from the first of them.
    """

    def __init__(self, last_fault_ns: Callable[[int], int | None]) -> None:
        self._last_fault_ns = last_fault_ns
        self._fault_ns: int | None = None  # the last fault from which losses were timed
        self._over: dict[int, int] = {}  # by client: time of its last loss that is reported and over
        self._told_off = 0
        self._next_line_ns: int | None = None  # None: all clients are back

    def line(self, losses: ConnectionLosses, now_ns: int) -> str:
        """Return the line that is due, or ''."""
        losses_to_tell = self._not_over(losses)
        if not losses_to_tell:
            return ""
        if self._next_line_ns is None:
            self._next_line_ns = now_ns + EVERY_NS
        off = _off(losses_to_tell)
        if now_ns < self._next_line_ns or 0 < off == self._told_off:
            return ""
        self._next_line_ns, self._told_off = now_ns + EVERY_NS, off
        return f"clients: {off} of {losses.connected + off} off" if off else self._all_back(losses_to_tell)

    def last_line(self, losses: ConnectionLosses) -> str:
        """Return the line for the end of the load, about clients that are still off or were not reported as back."""
        losses_to_tell = self._not_over(losses)
        if off := _off(losses_to_tell):
            return f"clients: {off} of the {len(losses_to_tell)} that were cut off were not back when the load ended"
        return self._all_back(losses_to_tell) if losses_to_tell else ""

    def _not_over(self, losses: ConnectionLosses) -> dict[int, Loss]:
        return {
            client: loss for client, loss in list(losses.by_client.items()) if self._over.get(client) != loss.lost_ns
        }

    def _all_back(self, losses_to_tell: Mapping[int, Loss]) -> str:
        self._next_line_ns = None
        self._over.update({client: loss.lost_ns for client, loss in losses_to_tell.items()})
        began_ns, beginning = self._beginning(min(loss.lost_ns for loss in losses_to_tell.values()))
        last_ns = max(loss.back_ns for loss in losses_to_tell.values() if loss.back_ns is not None)
        how_many = "1" if len(losses_to_tell) == 1 else f"all {len(losses_to_tell)}"
        return f"clients: {how_many} back {(last_ns - began_ns) / NS_PER_S:.1f} s after {beginning}"

    def _beginning(self, first_lost_ns: int) -> tuple[int, str]:
        """Return when the cause of the losses began (ns), and its name."""
        fault_ns = self._last_fault_ns(first_lost_ns)
        if fault_ns is None or fault_ns == self._fault_ns:
            return first_lost_ns, "the first loss"
        self._fault_ns = fault_ns
        return fault_ns, "the fault began"


def _off(losses: Mapping[int, Loss]) -> int:
    return sum(loss.back_ns is None for loss in losses.values())
