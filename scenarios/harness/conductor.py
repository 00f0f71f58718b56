"""In which order does a run happen? Up, proof, go, hold, drain, browse, down, analysis, report: told here, once.

The conductor knows nothing of Locust: `scenarios.harness.lifecycle` calls it from Locust's events. Each step may be
called once; `abandon` may be called at any time and ends everything at once. Whatever happens, brokers come down and
what was recorded stays.
"""

import json
import logging
import secrets
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from drivers.canary import PathsUnproven
from drivers.pacing import NS_PER_S
from drivers.session import Window
from records.errors import RunUnwritable
from records.rundir import RunDirectory, new_run_id
from records.summary import EXIT_STATUS
from records.writer import Recorder
from scenarios.harness import jobs
from scenarios.harness.crew import Crew, Equipment, NotEquipped
from scenarios.harness.drain import STUCK_AFTER_S, Observation, decide
from scenarios.harness.faults.timeline import Timeline
from scenarios.harness.options import Options
from scenarios.harness.plan import Plan
from scenarios.harness.snapshot import FaultState, Snapshot
from scenarios.harness.stage import Reroute, Stage
from topologies.management.jolokia import ManagementFailed
from topologies.management.links import LinksNotProven
from topologies.runtimes.contract import RuntimeFailed

log = logging.getLogger("brokerbench")

READY_TIMEOUT_S = 60.0
CATCH_UP_S = 2.0  # after the last due time, for producers that are behind
LEAD_S = 0.5  # between the start signal and the first due time, so that every process has the signal by then
LOOK_EVERY_S = 0.2
TELL_EVERY_S = 5.0
TEAR_DOWN_TIMEOUT_S = 20.0
CANNOT_RUN = 2  # exit status of a run that could not be made


class CannotRun(Exception):
    """No run can be made: one message that names the object, what is wrong and the next step."""


class Conductor:
    """One run from its folder to its verdict. ``crew_of`` makes the crew that drives the clients."""

    def __init__(
        self,
        plan: Plan,
        options: Options,
        crew_of: Callable[[Recorder, Stage], Crew],
        process: str,
        reroute: Reroute | None = None,
    ) -> None:
        self.plan = plan
        self.options = options
        self.exit_status = CANNOT_RUN
        self.interrupted = False
        self.over = False
        self.concluded = False  # over, analysed and reported too
        self.run_number = secrets.randbits(32)
        self.directory = _folder(options, plan)
        self.recorder = Recorder(self.directory, process)
        destinations = {user.destination for user in plan.info.users}
        self.stage = Stage(options, plan.topology, self.directory, self.recorder, process, reroute, destinations)
        self.crew = crew_of(self.recorder, self.stage)
        self.faults = Timeline(plan.faults, self.stage.runtime, self.recorder)
        self.info = replace(plan.info, run_id=self.directory.path.name)
        self._window: Window | None = None
        self._beginning = False
        self._load_over = False
        self._abandoned = False
        self._torn_down = threading.Event()
        self._step_began_s = time.monotonic()

    # -- before any user starts ------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Brokers up and proven, every process equipped. Raises CannotRun, with everything down again."""
        self._beginning = True
        try:
            self._write()
            self.recorder.start()
            self._say(f"run {self.info.run_id}")
            self._say(f"topology {self.info.topology} on {self.info.runtime}: {self.info.runtime_reason}")
            self.stage.up(self._say)
            self._ended("up")
            self.stage.prove(self._say, self.plan.roles)
            self._ended("prove")
            self._describe()
            network = self.stage.network()
            self.crew.equip(Equipment(self.directory, network, self.run_number, self.options.seed))
        except (RuntimeFailed, LinksNotProven, PathsUnproven, ManagementFailed, NotEquipped, RunUnwritable) as error:
            self._fail()
            raise CannotRun("interrupted before any load was run" if self.interrupted else str(error)) from error
        except BaseException:
            self._fail()
            raise
        finally:
            self._beginning = False

    def _describe(self) -> None:
        versions = {**self.info.versions, **self.stage.runtime.versions()}
        self.info = replace(self.info, state="running", versions=versions, rendered=self.stage.runtime.rendered())
        self._write()

    def _fail(self) -> None:
        self.over = self.concluded = True
        self.stage.close()
        self.recorder.close()
        with suppress(RunUnwritable):
            self.info = replace(self.info, state="interrupted" if self.interrupted else "failed")
            self._write()

    # -- the load --------------------------------------------------------------------------------------------------

    def hold(self) -> None:
        """Wait for the users, give the start signal, and return when the load is over for whatever reason."""
        if not self._wait_until_ready():
            return
        window = self._go()
        told_s = time.monotonic()
        while not self._load_over and not self._trouble():
            now_ns = time.perf_counter_ns()
            if window.load_ends_ns is not None and now_ns >= window.load_ends_ns + CATCH_UP_S * NS_PER_S:
                return
            if self.crew.tally().finished_producers >= sum(self.plan.producers.values()):
                return
            if time.monotonic() - told_s >= TELL_EVERY_S:
                told_s = time.monotonic()
                self._tell(window, now_ns)
            time.sleep(LOOK_EVERY_S)

    def _wait_until_ready(self) -> bool:
        wanted = sum(self.plan.counts.values())
        deadline_s = time.monotonic() + READY_TIMEOUT_S
        while not self._load_over and not self._trouble():
            ready = self.crew.tally().ready.total()
            if ready >= wanted:
                self._ended("clients")
                return True
            if time.monotonic() > deadline_s:
                self._problem(f"only {ready} of {wanted} clients were connected after {READY_TIMEOUT_S:g} s")
                return False
            time.sleep(LOOK_EVERY_S / 4)
        return False

    def _go(self) -> Window:
        began_ns = time.perf_counter_ns() + round(LEAD_S * NS_PER_S)
        load_ns = began_ns + round(self.options.warm_up_s * NS_PER_S)
        seconds = self.plan.load_s
        ends_ns = None if seconds is None else load_ns + round(seconds * NS_PER_S)
        window = self._window = Window(began_ns, load_ns, ends_ns)
        phases = replace(self.info.phases, warm_up_began_ns=began_ns, load_began_ns=load_ns)
        self.info = replace(self.info, phases=phases)
        self._write()
        self.crew.go(window, self.options.messages, self.plan.producers)
        self.faults.start(load_ns)
        return window

    def _tell(self, window: Window, now_ns: int) -> None:
        done_s = (now_ns - window.load_began_ns) / NS_PER_S
        of = "" if self.plan.load_s is None else f" of {self.plan.load_s:g} s"
        phase = f"load: {done_s:.0f} s{of}" if done_s >= 0 else f"warm-up: {-done_s:.0f} s to go"
        tally = self.crew.tally()
        self._say(f"{phase}, sent {tally.sent:,}, received {tally.received:,}")

    def _trouble(self, *, brokers: bool = True) -> bool:
        """Whether something happened that no run can go on with; noted as a problem of the run."""
        found = self.crew.problems()
        if self.recorder.failure:
            found.append(self.recorder.failure)
        for broker in self.stage.dead() if brokers else ():
            lines = "\n".join(self.stage.runtime.log_tail(broker))
            found.append(f"broker {broker} ended though nobody stopped it; the last lines of its log:\n{lines}")
        for problem in found:
            self._problem(problem)
        return bool(found)

    def end_load(self) -> None:
        """No further message is sent. Idempotent; called by the clock, by Ctrl-C or by the web UI's stop button."""
        if self._load_over:
            return
        self._load_over = True
        self.crew.stop_producing()
        self.faults.end()
        self._ended("load")
        if self._window is None:
            return
        now_ns = time.perf_counter_ns()
        ended_ns = now_ns if self._window.load_ends_ns is None else min(now_ns, self._window.load_ends_ns)
        ended_ns = max(ended_ns, self._window.load_began_ns)  # interrupted in the warm-up: a load of no length
        durations_s = {**self.info.durations_s, "load": (ended_ns - self._window.load_began_ns) / NS_PER_S}
        phases = replace(self.info.phases, load_ended_ns=ended_ns)
        self.info = replace(self.info, phases=phases, durations_s=durations_s)

    # -- after the load ----------------------------------------------------------------------------------------------

    def drain(self) -> None:
        """Consumers go on until nothing moves any more."""
        if self._given_up() or self.over:
            return
        self.end_load()
        seen: list[Observation] = []
        while not self._given_up():
            seen.append(self._observe())
            decision = decide(seen, self.options.drain_s)
            if decision != "wait":
                break
            time.sleep(LOOK_EVERY_S)
        else:
            return
        if decision != "drained":
            self._unknown_if_moving(decision, seen[-1])
        phases = replace(self.info.phases, drain_ended_ns=time.perf_counter_ns())
        self.info = replace(self.info, phases=phases)
        self._ended("drain")

    def _observe(self) -> Observation:
        tally = self.crew.tally()
        return Observation(time.monotonic(), tally.sent - tally.settled, tally.received, self.stage.waiting())

    def _unknown_if_moving(self, decision: str, last: Observation) -> None:
        left = f"{last.unsettled} sends unanswered, {last.waiting} messages on queues"
        if decision == "timeout":
            text = f"the drain ended after {self.options.drain_s:g} s while messages still moved ({left})"
            self.info = replace(self.info, unknowns=(*self.info.unknowns, text))
            log.warning("%s; a longer --drain-timeout would tell", text)
        elif last.waiting is None:
            text = "whether the queues were empty after the drain is not known: a broker did not say"
            self.info = replace(self.info, unknowns=(*self.info.unknowns, text))
            log.warning("%s", text)
        else:
            log.warning("nothing has moved for %g s: %s", STUCK_AFTER_S, left)

    def finish(self) -> None:
        """Browse, take the brokers down, analyse, report: the verdict becomes `exit_status`."""
        if self._given_up() or self.over:
            return
        self.over = True
        try:
            unknowns = self.stage.browse(self.run_number)
            phases = replace(self.info.phases, browse_ended_ns=time.perf_counter_ns())
            self.info = replace(self.info, unknowns=(*self.info.unknowns, *unknowns), phases=phases)
            self._ended("browse")
            self._close()
            self._conclude()
        except (RunUnwritable, jobs.JobFailed) as error:
            log.error("%s", error)
        finally:
            self.stage.close()
            self.concluded = True

    def _close(self) -> None:
        """Everything of the run but its folder goes."""
        processes = self.crew.dismiss()
        self.stage.close()
        self.recorder.close()
        self._trouble(brokers=False)
        for doubt in self.crew.doubts():
            self._problem(doubt)
        missed = self.crew.tally().missed
        if missed and not self.interrupted:
            self._problem(
                f"{missed:,} messages that were due were never sent: the load was more than the producers or the "
                "brokers could take; lower --rate, or use more producers or processes"
            )
        self.info = replace(self.info, processes=processes, state="interrupted" if self.interrupted else "ended")
        self._ended("down")
        self._write()

    def _conclude(self) -> None:
        if self.info.phases.load_began_ns is None:
            log.error("run %s: no load was run, so there is nothing to analyse", self.info.run_id)
            self.exit_status = EXIT_STATUS["interrupted"] if self.interrupted else CANNOT_RUN
            return
        status = jobs.analyse(self.directory, self.options.spark_master, self._say)
        self._ended("analysis")
        jobs.report(self.directory, self._say)
        self._ended("report")
        self.exit_status = status
        # run.json stays as the analysis read it, so that a second analysis has the same to go by
        text = json.dumps(self.info.durations_s, indent=2)
        (self.directory.path / "logs" / "durations.json").write_text(text, encoding="utf-8")

    def last_words(self) -> list[str]:
        """What the terminal shows last: the verdict, its reasons and where the report is."""
        lines = [f"Run:     {self.directory.path}"]
        if self.directory.summary_path.exists():
            summary = json.loads(self.directory.summary_path.read_text(encoding="utf-8"))
            lines += [f"Verdict: {summary['verdict']}", *(f"         {reason}" for reason in summary["reasons"])]
        if self.directory.report_path.exists():
            lines.append(f"Report:  {self.directory.report_path}")
        return lines

    def snapshot(self) -> Snapshot:
        """What is known at this moment, for whoever watches."""
        faults = zip(self.plan.faults, self.faults.states, strict=True)
        return Snapshot(
            run_id=self.info.run_id,
            topology=self.info.topology,
            runtime=self.info.runtime,
            state=self.info.state,
            steps=tuple(self.info.durations_s),
            step_s=time.monotonic() - self._step_began_s,
            now_ns=time.perf_counter_ns(),
            over=self.concluded,
            interrupted=self.interrupted,
            window=self._window,
            load_s=self.plan.load_s,
            tally=self.crew.tally(),
            brokers=self.stage.states(),
            connected=self.crew.connected(),
            readings=self.stage.latest(),
            faults=tuple(FaultState(fault.kind, fault.target, fault.at_s, fault.for_s, told) for fault, told in faults),
            problems=self.info.problems,
        )

    def abandon(self) -> None:
        """Tear everything down at once; what was recorded stays."""
        self._abandoned = True
        try:
            self._tear_down()
        finally:
            self._torn_down.set()

    def _tear_down(self) -> None:
        self.interrupted = True
        self.exit_status = EXIT_STATUS["interrupted"]
        logging.getLogger("drivers").setLevel(logging.CRITICAL)  # that their brokers are gone is no news
        if self.over and self.info.state in ("ended", "interrupted", "failed"):
            return
        self.over = True
        self.stage.close()
        self.recorder.close()
        with suppress(RunUnwritable):
            self.info = replace(self.info, state="interrupted")
            self._write()

    def _given_up(self) -> bool:
        """Whether `abandon` was called; returns once it is through, so that nobody ends the process before."""
        if self._abandoned:
            self._torn_down.wait(TEAR_DOWN_TIMEOUT_S)
        return self._abandoned

    def fail(self, error: Exception) -> None:
        """A fault of our own: the load ends, and the run is invalid."""
        log.exception("a fault of brokerbench's own")
        self._problem(f"a fault of brokerbench's own ended the load: {error!r}")

    # -- small things --------------------------------------------------------------------------------------------------

    def interrupt(self) -> None:
        """The first Ctrl-C: the load ends, and the report says that it was cut short.

        While the brokers still come up there is no load to end: they are taken down, and `begin` raises.
        """
        self.interrupted = True
        if self._beginning:
            self.stage.close()
        else:
            self.end_load()

    def stop(self) -> None:
        """The web UI's stop button: an early end that somebody wished for, and reported as the run's own.

        Only a run that could not yet answer its question, as its load or a fault was still to come, is interrupted.
        """
        if self._beginning:
            self.interrupt()
        elif not self._load_over:
            window, now_ns = self._window, time.perf_counter_ns()
            load_s = -1.0 if window is None else (now_ns - window.load_began_ns) / NS_PER_S
            if load_s < max((fault.at_s + fault.for_s for fault in self.plan.faults), default=0.0):
                self.interrupted = True
            text = f"stopped by hand in the web UI, {max(load_s, 0):.0f} s into the load"
            self.info = replace(self.info, warnings=(*self.info.warnings, text))
            self.end_load()

    def _problem(self, text: str) -> None:
        if text not in self.info.problems:
            self.info = replace(self.info, problems=(*self.info.problems, text))
            log.error("%s", text)

    def _ended(self, step: str) -> None:
        now_s = time.monotonic()
        self.info = replace(self.info, durations_s={**self.info.durations_s, step: now_s - self._step_began_s})
        self._step_began_s = now_s

    def _write(self) -> None:
        self.directory.write_run(self.info)

    def _say(self, line: str) -> None:
        log.info("%s", line)


def _folder(options: Options, plan: Plan) -> RunDirectory:
    try:
        return RunDirectory.create(options.runs, new_run_id(plan.info.scenario, plan.info.topology))
    except RunUnwritable as error:
        raise CannotRun(str(error)) from error
