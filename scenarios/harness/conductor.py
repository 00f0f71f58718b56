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

from drivers.canary import PathsUnproven
from drivers.pacing import NS_PER_S
from records.errors import RunUnwritable
from records.run import RunInfo
from records.rundir import RunDirectory, new_run_id
from records.summary import EXIT_STATUS
from records.writer import Recorder
from scenarios.harness import jobs
from scenarios.harness.chronicle import Chronicle
from scenarios.harness.crew import Crew, Equipment, NotEquipped
from scenarios.harness.draining import until_still
from scenarios.harness.failed_users import done_without
from scenarios.harness.faults.timeline import Timeline
from scenarios.harness.load import Load
from scenarios.harness.options import Options
from scenarios.harness.plan import Plan
from scenarios.harness.snapshot import FaultState, Snapshot
from scenarios.harness.stage import Reroute, Stage
from topologies.management.jolokia import ManagementFailed
from topologies.management.links import LinksNotProven
from topologies.runtimes.contract import RuntimeFailed

log = logging.getLogger("brokerbench")

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
        self.chronicle = Chronicle(self.directory, plan.info)
        self.load = Load(plan, options, self.chronicle, self.crew, self.stage, self.faults, self.recorder)
        self._beginning = False
        self._abandoned = False
        self._torn_down = threading.Event()

    @property
    def info(self) -> RunInfo:
        return self.chronicle.info

    # -- before any user starts ------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Brokers up and proven, every process equipped. Raises CannotRun, with everything down again."""
        self._beginning = True
        try:
            self.chronicle.write()
            self.recorder.start()
            self._say(f"run {self.info.run_id}")
            self._say(f"topology {self.info.topology} on {self.info.runtime}: {self.info.runtime_reason}")
            for warning in self.info.warnings:
                self._say(f"warning: {warning}")
            self.stage.up(self._say)
            self.chronicle.ended("up")
            self.stage.prove(self._say, self.plan.roles)
            self.chronicle.ended("prove")
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
        self.chronicle.update(state="running", versions=versions, rendered=self.stage.runtime.rendered())
        self.chronicle.write()

    def _fail(self) -> None:
        self.over = self.concluded = True
        self.stage.close()
        self.recorder.close()
        with suppress(RunUnwritable):
            self.chronicle.update(state="interrupted" if self.interrupted else "failed")
            self.chronicle.write()

    # -- after the load ----------------------------------------------------------------------------------------------

    def drain(self) -> None:
        """Consumers go on until nothing moves any more."""
        if self._given_up() or self.over:
            return
        self.load.end()
        if not until_still(self.crew, self.stage, self.chronicle, self.options.drain_s, self._given_up):
            return
        self.chronicle.phases(drain_ended_ns=time.perf_counter_ns())
        self.chronicle.ended("drain")

    def finish(self) -> None:
        """Browse, take the brokers down, analyse, report: the verdict becomes `exit_status`."""
        if self._given_up() or self.over:
            return
        self.over = True
        try:
            unknowns = self.stage.browse(self.run_number)
            self.chronicle.unknown(*unknowns)
            self.chronicle.phases(browse_ended_ns=time.perf_counter_ns())
            self.chronicle.ended("browse")
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
        self.load.trouble(brokers=False)
        for warning in done_without(self.crew.tally(), self.plan.counts):
            self.chronicle.warning(warning)
        missed = self.crew.tally().missed
        if missed and not self.interrupted and not self.info.problems:  # else what was due is no wonder
            self.chronicle.problem(
                f"{missed:,} messages that were due were never sent: the load was more than the producers or the "
                "brokers could take; lower --rate, or use more producers or processes"
            )
        for doubt in self.crew.doubts():
            self.chronicle.problem(doubt)
        self.chronicle.update(processes=processes, state="interrupted" if self.interrupted else "ended")
        self.chronicle.ended("down")
        self.chronicle.write()

    def _conclude(self) -> None:
        if self.info.phases.load_began_ns is None:
            log.error("run %s: no load was run, so there is nothing to analyse", self.info.run_id)
            self.exit_status = EXIT_STATUS["interrupted"] if self.interrupted else CANNOT_RUN
            return
        status = jobs.analyse(self.directory, self.options.spark_master, self._say)
        self.chronicle.ended("analysis")
        jobs.report(self.directory, self._say)
        self.chronicle.ended("report")
        self.exit_status = status
        # run.json stays as the analysis read it, so that a second analysis has the same to go by
        text = json.dumps(self.info.durations_s, indent=2)
        (self.directory.path / "logs" / "durations.json").write_text(text, encoding="utf-8")

    def snapshot(self) -> Snapshot:
        """What is known at this moment, for whoever watches."""
        faults = zip(self.plan.faults, self.faults.states, strict=True)
        return Snapshot(
            run_id=self.info.run_id,
            topology=self.info.topology,
            runtime=self.info.runtime,
            state=self.info.state,
            steps=tuple(self.info.durations_s),
            step_s=self.chronicle.step_s,
            now_ns=time.perf_counter_ns(),
            over=self.concluded,
            interrupted=self.interrupted,
            window=self.load.window,
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
            self.chronicle.update(state="interrupted")
            self.chronicle.write()

    def _given_up(self) -> bool:
        """Whether `abandon` was called; returns once it is through, so that nobody ends the process before."""
        if self._abandoned:
            self._torn_down.wait(TEAR_DOWN_TIMEOUT_S)
        return self._abandoned

    def fail(self, error: Exception) -> None:
        """A fault of our own: the load ends, and the run is invalid."""
        log.exception("a fault of brokerbench's own")
        self.chronicle.problem(f"a fault of brokerbench's own ended the load: {error!r}")

    # -- small things --------------------------------------------------------------------------------------------------

    def interrupt(self) -> None:
        """The first Ctrl-C: the load ends, and the report says that it was cut short.

        While the brokers still come up there is no load to end: they are taken down, and `begin` raises.
        """
        self.interrupted = True
        if self._beginning:
            self.stage.close()
        else:
            self.load.end()

    def stop(self) -> None:
        """The web UI's stop button: an early end that somebody wished for, and reported as the run's own.

        Only a run that could not yet answer its question, as its load or a fault was still to come, is interrupted.
        """
        if self._beginning:
            self.interrupt()
        elif not self.load.over:
            window, now_ns = self.load.window, time.perf_counter_ns()
            load_s = -1.0 if window is None else (now_ns - window.load_began_ns) / NS_PER_S
            if load_s < max((fault.at_s + fault.for_s for fault in self.plan.faults), default=0.0):
                self.interrupted = True
            text = f"stopped by hand in the web UI, {max(load_s, 0):.0f} s into the load"
            self.chronicle.warning(text)
            self.load.end()

    def _say(self, line: str) -> None:
        log.info("%s", line)


def _folder(options: Options, plan: Plan) -> RunDirectory:
    try:
        return RunDirectory.create(options.runs, new_run_id(plan.info.scenario, plan.info.topology))
    except RunUnwritable as error:
        raise CannotRun(str(error)) from error
