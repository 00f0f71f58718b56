"""How does the load go, from connected clients to the last message that is due? And what ends it early?"""

import logging
import time

from drivers.pacing import NS_PER_S
from drivers.session import Window
from records.writer import Recorder
from scenarios.harness.chronicle import Chronicle
from scenarios.harness.crew import Crew
from scenarios.harness.failed_users import nobody_sends
from scenarios.harness.faults.timeline import Timeline
from scenarios.harness.options import Options
from scenarios.harness.plan import Plan
from scenarios.harness.stage import Stage

log = logging.getLogger("brokerbench")

READY_TIMEOUT_S = 90.0  # longer than a client waits for an answer, so that its own words come first
CATCH_UP_S = 2.0  # after the last due time, for producers that are behind
LEAD_S = 0.5  # between the start signal and the first due time, so that every process has the signal by then
LOOK_EVERY_S = 0.2
TELL_EVERY_S = 5.0


class Load:
    """The load of one run. ``window``: None until the start signal was given."""

    def __init__(
        self,
        plan: Plan,
        options: Options,
        chronicle: Chronicle,
        crew: Crew,
        stage: Stage,
        faults: Timeline,
        recorder: Recorder,
    ) -> None:
        self.window: Window | None = None
        self.over = False
        self._plan, self._options, self._chronicle = plan, options, chronicle
        self._crew, self._stage, self._faults, self._recorder = crew, stage, faults, recorder
        self._told_of: set[str] = set()

    def hold(self) -> None:
        """Wait for the users, give the start signal, and return when the load is over for whatever reason."""
        if not self._wait_until_ready():
            return
        window = self._go()
        told_s = time.monotonic()
        while not self.over and not self.trouble():
            now_ns = time.perf_counter_ns()
            if window.load_ends_ns is not None and now_ns >= window.load_ends_ns + CATCH_UP_S * NS_PER_S:
                return
            if self._crew.tally().finished_producers >= sum(self._plan.producers.values()):
                self._anybody_sends()
                return
            if time.monotonic() - told_s >= TELL_EVERY_S:
                told_s = time.monotonic()
                self._tell(window, now_ns)
            time.sleep(LOOK_EVERY_S)

    def _wait_until_ready(self) -> bool:
        wanted = sum(self._plan.counts.values())
        deadline_s = time.monotonic() + READY_TIMEOUT_S
        while not self.over and not self.trouble():
            ready = self._crew.tally().ready.total()
            if ready >= wanted:
                self._chronicle.ended("clients")
                return self._anybody_sends()
            if time.monotonic() > deadline_s:
                self._chronicle.problem(f"only {ready} of {wanted} clients were ready after {READY_TIMEOUT_S:g} s")
                return False
            time.sleep(LOOK_EVERY_S / 4)
        return False

    def _anybody_sends(self) -> bool:
        """Users may fail that may, but not every producer: that is noted as a problem of the run."""
        problem = nobody_sends(self._crew.tally(), self._plan.producers)
        if problem:
            self._chronicle.problem(problem)
        return not problem

    def _go(self) -> Window:
        began_ns = time.perf_counter_ns() + round(LEAD_S * NS_PER_S)
        load_ns = began_ns + round(self._options.warm_up_s * NS_PER_S)
        seconds = self._plan.load_s
        ends_ns = None if seconds is None else load_ns + round(seconds * NS_PER_S)
        window = self.window = Window(began_ns, load_ns, ends_ns)
        self._chronicle.phases(warm_up_began_ns=began_ns, load_began_ns=load_ns)
        self._chronicle.write()
        self._crew.go(window, self._options.messages, self._plan.producers)
        self._faults.start(load_ns)
        return window

    def _tell(self, window: Window, now_ns: int) -> None:
        done_s = (now_ns - window.load_began_ns) / NS_PER_S
        of = "" if self._plan.load_s is None else f" of {self._plan.load_s:g} s"
        phase = f"load: {done_s:.0f} s{of}" if done_s >= 0 else f"warm-up: {-done_s:.0f} s to go"
        tally = self._crew.tally()
        log.info("%s, sent %s, received %s", phase, f"{tally.sent:,}", f"{tally.received:,}")

    def trouble(self, *, brokers: bool = True) -> bool:
        """Whether something happened that no run can go on with; noted as a problem of the run."""
        self._warn_of_failed_users()
        found = self._crew.problems()
        if self._recorder.failure:
            found.append(self._recorder.failure)
        found += self._stage.losses() if brokers else ()
        for problem in found:
            self._chronicle.problem(problem)
        return bool(found)

    def _warn_of_failed_users(self) -> None:
        """Of each class of users that may fail, when the first one does; how many they were is known in the end."""
        first_errors = self._crew.tally().first_errors
        for user_class in first_errors.keys() - self._told_of:
            log.warning("%s: %s. The others go on, as it may fail", user_class, first_errors[user_class].rstrip("."))
        self._told_of |= first_errors.keys()

    def end(self) -> None:
        """No further message is sent. Idempotent; called by the clock, by Ctrl-C or by the web UI's stop button."""
        if self.over:
            return
        self.over = True
        self._crew.stop_producing()
        self._faults.end()
        self._chronicle.ended("load")
        if self.window is None:
            return
        now_ns = time.perf_counter_ns()
        ended_ns = now_ns if self.window.load_ends_ns is None else min(now_ns, self.window.load_ends_ns)
        ended_ns = max(ended_ns, self.window.load_began_ns)  # interrupted in the warm-up: a load of no length
        self._chronicle.lasted("load", (ended_ns - self.window.load_began_ns) / NS_PER_S)
        self._chronicle.phases(load_ended_ns=ended_ns)
