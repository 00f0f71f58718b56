"""Runs one run step by step: up, proof, go, hold, drain, browse, down, analysis, report.

The run controller does not depend on Locust: `harness.lifecycle` calls it from Locust's events. Each step may be called
once. `abandon` may be called at any time and ends everything immediately. The brokers are always taken down, and all
recorded events are kept.
"""

import json
import logging
import secrets
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from drivers.canary import PathsUnproven
from drivers.client.work import Work
from drivers.users.session import tag_of
from harness.faults.schedule import FaultSchedule
from harness.faults.start_link import waiting_at_start
from harness.java_parts import use_java_clients
from harness.options.declarations import REALTIME
from harness.options.plan import Plan
from harness.run import jobs
from harness.run.brokers import BrokerEnvironment, Reroute
from harness.run.drain import (
    EMPTY_FOR_S,
    STUCK_AFTER_A_FAULT_S,
    STUCK_AFTER_S,
    TIMES_OF_WORK,
    DrainLimits,
    wait_until_still,
)
from harness.run.leftovers import Subscribers
from harness.run.load import Load, failed_user_sentences
from harness.run.load_generators import Equipment, LoadGenerators, with_rows
from harness.run.other_consumers import OwnClients
from harness.run.profiles import profile_run
from harness.run.record import RunRecord
from harness.run.snapshot import FaultState, Snapshot
from harness.runner_calls import cut_short_by
from records.errors import RunUnwritable, UserError
from records.run import CONSUMER, PRODUCER, RunInfo
from records.store.rundir import RunDirectory, new_run_id
from records.store.seal import seal_run_again
from records.store.writer import Recorder
from records.units import MS_PER_S, NS_PER_S
from records.verdicts import EXIT_STATUS
from topologies.management.contract import management_of
from topologies.management.links import LinksNotProven
from topologies.model.management import ManagementFailed
from topologies.runtimes.capabilities import Capability, can
from topologies.runtimes.contract import NotUpInTime, RuntimeFailed

log = logging.getLogger("brokerbench")

TEAR_DOWN_TIMEOUT_S = 20.0
CANNOT_RUN = 2  # exit status of a run that could not be made
MORE_TIME = "\n    On a busy machine, increase --start-timeout."
NEVER_BACK = (
    "broker {} never came back, so its store was not searched: confirmed messages that only it had count as lost"
)
INTERRUPTED = "interrupted before the load began"


class RunController:
    """One run, from its folder to its verdict. ``load_generators_of`` creates the load generators.

    ``watched``: a user watches the run in the web UI, so latencies are counted during the run.
    """

    def __init__(
        self,
        plan: Plan,
        load_generators_of: Callable[[Recorder, BrokerEnvironment], LoadGenerators],
        process: str,
        reroute: Reroute | None = None,
        *,
        watched: bool = False,
    ) -> None:
        self.plan = plan
        self.exit_status = CANNOT_RUN
        self.failure = ""  # the reason for that status
        self.stored = ""  # where the run was stored, or why not, as a line for the terminal
        self.interrupted = False
        self.over = False
        self.concluded = False  # over, and also analyzed and reported
        self.run_number = secrets.randbits(32)
        self.directory = _folder(plan)
        self.recorder = Recorder(self.directory, process)
        destinations = set(plan.info.destinations)
        destinations |= {copy.place for route in plan.info.routes for copy in route.copies}
        copied = any(len(route.copies) > 1 for route in plan.info.routes)
        sent_to = {name for user in plan.info.users if user.role == PRODUCER for name in user.destinations}
        durable = (user.group for user in plan.info.users if user.settings.get("durable") and user.role == CONSUMER)
        own = OwnClients(tag_of(self.run_number), frozenset(durable))
        seen_by = plan.options, self.directory, self.recorder, process, reroute
        of_users = destinations, Subscribers.of(plan.info.users)
        self.brokers = BrokerEnvironment(*seen_by, *of_users, sent_to=sent_to, copied=copied, own_clients=own)
        self.load_generators = load_generators_of(self.recorder, self.brokers)
        self.faults = FaultSchedule(
            plan.faults,
            self.brokers.runtime,
            self.recorder,
            self.brokers.probe,
            load_may_end_sooner=plan.options.search is not None,
        )
        self.run_record = RunRecord(self.directory, plan.info)
        parts = (self.run_record, self.load_generators, self.brokers, self.faults, self.recorder)
        self.load = Load(plan, *parts, watched=watched)
        self._beginning = False
        self._called_off = ""  # what ended the run while its brokers came up
        self.abandoned = False
        self._torn_down = threading.Event()

    @property
    def info(self) -> RunInfo:
        return self.run_record.info

    # -- before any user starts ------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Start and prove the brokers, and equip every process. Takes everything down again if it raises UserError."""
        self._beginning = True
        try:
            self.run_record.write()
            jobs.remove_earlier(self.plan.options.files.values())
            self.recorder.start()
            for warning in self.info.warnings:
                log.warning("%s", warning)
            self._log(f"run {self.info.run_id}")
            self._log(f"topology {self.info.topology} on {self.info.runtime}: {self.info.runtime_reason}")
            use_java_clients(self.plan.options.client_version or "")
            self.brokers.up(
                self._log,
                self.plan.exchanges,
                started=lambda: self.run_record.ended("up"),
                not_joined=self.faults.brokers_not_joined,
                gone=self.faults.brokers_down_for_good,
                waiting=waiting_at_start(self.plan.faults, self.brokers.topology),
            )
            self.run_record.ended("prove")
            self._describe()
            self.load_generators.equip(self._equipment())
        except (RuntimeFailed, LinksNotProven, PathsUnproven, ManagementFailed, UserError) as error:
            sentence = self._called_off or f"{error}{MORE_TIME if isinstance(error, NotUpInTime) else ''}"
            not_in_time = isinstance(error, NotUpInTime | LinksNotProven | PathsUnproven) and not self._called_off
            self._fail(sentence, not_up_in_time=not_in_time)
            raise UserError(INTERRUPTED if self.interrupted else sentence) from error
        except BaseException as error:
            self._fail(self._called_off)
            taken_down = INTERRUPTED if self.interrupted else self._called_off
            if taken_down and isinstance(error, Exception):  # the error is a consequence of the shutdown
                log.debug("error during the shutdown:", exc_info=error)
                raise UserError(taken_down) from error
            raise
        finally:
            self._beginning = False

    def _equipment(self) -> Equipment:
        options = self.plan.options
        return Equipment(
            self.directory,
            self.brokers.network(),
            self.run_number,
            options.seed,
            client_version=options.client_version or "",
            realtime=options.priority == REALTIME,
            jfr=options.jfr,
        )

    def _describe(self) -> None:
        versions = {**self.info.versions, **self.brokers.runtime.versions()}
        rendered = {**self.info.rendered, **self.brokers.runtime.rendered()}
        self.run_record.update(state="running", versions=versions, rendered=rendered)
        self.run_record.write()

    def _fail(self, start_failure: str = "", *, not_up_in_time: bool = False) -> None:
        self.over = self.concluded = True
        self.brokers.close()
        self.recorder.close()
        with suppress(RunUnwritable):
            self.run_record.update(state="interrupted" if self.interrupted else "failed")
            self.run_record.update(start_failure=start_failure, not_up_in_time=not_up_in_time)
            self.run_record.write()

    # -- after the load ----------------------------------------------------------------------------------------------

    def drain(self) -> None:
        """Let consumers go on until no message moves any more."""
        if self._is_abandoned() or self.over:
            return
        self.load.end()
        for problem in self.brokers.check_uncertain_links():
            self.run_record.problem(problem)
        self.brokers.list_mirrored_queues("at the end of the load")
        parts = (self.load_generators, self.brokers, self.run_record)
        limits = self._drain_limits()
        users = sum(user.count for user in self.info.users)
        if not wait_until_still(*parts, limits, self._is_abandoned, users):
            return
        self.run_record.phases(drain_ended_ns=time.perf_counter_ns())
        self.run_record.ended("drain")

    def _drain_limits(self) -> DrainLimits:
        """Return longer limits if a broker was down, if consumers are slow, or if brokers delay or hide messages."""
        taken_down = any(fault.takes_down or fault.joins for fault in self.plan.faults)
        works = (Work.parse(str(user.settings.get("work_ms", 0))) for user in self.info.users)
        work_s = max((work.mean_ms / MS_PER_S for work in works if work), default=0.0)
        delay_s = max(broker.longest_delay_s for broker in self.brokers.topology.brokers)
        return DrainLimits(
            self.plan.options.drain_s,
            empty_for_s=STUCK_AFTER_S if self._hidden_backlog() else EMPTY_FOR_S,
            stuck_after_s=max(STUCK_AFTER_S + delay_s, TIMES_OF_WORK * work_s),
            reconnecting_s=STUCK_AFTER_A_FAULT_S if taken_down else 0.0,
        )

    def _hidden_backlog(self) -> list[str]:
        """Return sentences about backlogs of durable subscriptions that the brokers neither count nor show."""
        management = management_of(self.brokers.topology)
        shown = management.backlogs_on_queues or management.durable_subscriptions is not None
        if shown and can(self.info.runtime, Capability.MANAGES_BROKERS):
            return []
        durable = [user for user in self.info.users if user.role == CONSUMER and user.settings.get("durable")]
        topics = sorted({user.destination for user in durable if user.destination.startswith("topic://")})
        return [f"messages for durable subscriptions of {topic} cannot be browsed" for topic in topics]

    def finish(self) -> None:
        """Browse, take the brokers down, analyse and report. Sets `exit_status` from the verdict."""
        if self._is_abandoned() or self.over:
            return
        self.over = True
        try:
            self.brokers.list_mirrored_queues_without_clients()
            expires = any("time_to_live_s" in user.settings for user in self.plan.info.users)
            doubts = self.brokers.browse(self.run_number, expires=expires)
            self.run_record.unknown(*doubts.sentences(), *filter(None, [self.brokers.other_consumers()]))
            self.run_record.unsearched(*doubts.anywhere, *self._hidden_backlog())
            self.run_record.unread(doubts.unread)
            self.run_record.phases(browse_ended_ns=time.perf_counter_ns())
            self.run_record.ended("browse")
            self._close()
            self._conclude()
            if self._late_rows():  # rows that arrived during the analysis
                self.run_record.write()
                seal_run_again(self.directory)
                self._conclude()
        except UserError as error:
            self.failure = str(error)
            log.error("%s", error)
        finally:
            self._store()
            self.brokers.close()
            self.concluded = True

    def _store(self) -> None:
        """Copy the run to S3 with ``--runs s3://…``. A failure changes nothing else, not even the exit status."""
        address = self.plan.options.store
        if address is None or self.abandoned:
            return
        try:
            self.stored = f"Stored:  {jobs.store(self.directory, address)}"
        except UserError as error:
            self.stored = f"Stored:  no, {error}"
            log.error("%s", error)

    def _close(self) -> None:
        """Close everything except the run's folder, and write run.json."""
        processes = self.load_generators.dismiss()
        self.brokers.count_links()
        self.brokers.close()
        self._profile()
        self.recorder.close()
        own = self.recorder.process
        processes = tuple(with_rows(info, self.recorder) if info.name == own else info for info in processes)
        self.load.trouble(brokers=False)
        self._late_rows()
        for broker in sorted(self.faults.brokers_down_for_good()):
            self.run_record.warning(NEVER_BACK.format(broker))
        for note in (
            *self.brokers.link_notes(self.info.phases.load_began_ns),
            *self.faults.not_due,
            *self.load_generators.tally().notes,
        ):
            self.run_record.warning(note)
        for warning in failed_user_sentences(self.load_generators.tally(), self.plan.counts):
            self.run_record.warning(warning)
        tally = self.load_generators.tally()
        self.run_record.update(withheld=tally.withheld, failed_producers=tuple(sorted(tally.failed_producers)))
        self._note_missed()
        self._note_live_figures()
        doubts = tuple(self.load_generators.doubts())
        for doubt in doubts:
            log.warning("%s", doubt)
        self.run_record.update(clock_doubts=doubts)
        rendered = {**self.run_record.info.rendered, **self.brokers.runtime.rendered()}  # restarts may change it
        self.run_record.update(processes=processes, rendered=rendered)
        self.run_record.update(state="interrupted" if self.interrupted else "ended")
        self.run_record.ended("down")
        self.run_record.write()

    def _profile(self) -> None:
        """Read the recordings of ``--jfr``. A JVM without a profile is named in a warning."""
        if self.plan.options.jfr:
            absent = self.faults.brokers_not_joined()
            brokers = (broker.name for broker in self.brokers.topology.brokers if broker.name not in absent)
            for sentence in profile_run(self.directory, brokers, self.info.phases):
                self.run_record.warning(sentence)

    def _note_missed(self) -> None:
        """Report messages that were due but never sent.

        They make a run invalid, unless it adds clients to find out how many are too many.
        """
        missed = self.load_generators.tally().missed
        self.run_record.update(missed=missed)
        if not missed or self.interrupted or self.info.problems:  # an early end or a problem explains unsent messages
            return
        sentence = f"{missed:,} messages that were due were never sent: the load exceeded what the producers could send"
        if self.plan.options.clients or self.info.aborts:  # an abort leaves producers no time to catch up
            self.run_record.warning(sentence)
        else:
            self.run_record.problem(f"{sentence}; lower --rate, or use more producers or processes")

    def _note_live_figures(self) -> None:
        """Record the figures of ``--abort-on`` as they were counted to the end, for comparison with the analysis."""
        conditions, values = self.load.abort.conditions, self.load_generators.tally().figures.values()
        self.run_record.update(live_figures={condition.figure: values[condition.figure] for condition in conditions})
        for sentence in self.load.abort.never_evaluated():
            self.run_record.warning(sentence)

    def _late_rows(self) -> bool:
        """Whether rows arrived after the recorder was closed. They are recorded as a problem of the run."""
        late, problems = self.recorder.late_rows, self.info.problems
        if late:
            self.run_record.problem(late)
        return self.info.problems != problems

    def _conclude(self) -> None:
        if self.info.phases.load_began_ns is None:
            self.failure = next(iter(self.info.problems), "the load never began")
            log.error("run %s: the load never began, so there is nothing to analyse", self.info.run_id)
            self.exit_status = EXIT_STATUS["interrupted"] if self.interrupted else CANNOT_RUN
            return
        if self.plan.options.analyse_later:
            self.exit_status = EXIT_STATUS[self._verdict_without_analysis()]
            return
        self.exit_status = jobs.analyse(self.directory, self.plan.options.spark_master, self._log, self._report)
        # run.json stays as the analysis read it, so that a second analysis has the same input
        text = json.dumps(self.info.durations_s, indent=2)
        (self.directory.path / "logs" / "durations.json").write_text(text, encoding="utf-8")

    def _report(self) -> None:
        self.run_record.ended("analysis")
        jobs.report(self.directory, self.plan.options.files, self._log)
        self.run_record.ended("report")

    def _verdict_without_analysis(self) -> str:
        if self.interrupted:
            return "interrupted"
        if self.info.problems:
            return "invalid"
        return "fail" if self.info.aborts else "pass"

    def snapshot(self) -> Snapshot:
        """Return the current state of the run, for display."""
        faults = tuple(
            FaultState(fault.kind, fault.target, fault.at_s, fault.for_s, state, stages_ns)
            for fault, state, stages_ns in zip(
                self.plan.faults, self.faults.states, self.faults.stages_ns(), strict=True
            )
        )
        return Snapshot(
            run_id=self.info.run_id,
            scenario=self.info.scenario,
            topology=self.info.topology,
            runtime=self.info.runtime,
            state=self.info.state,
            began_ns=self.run_record.began_ns,
            step_ends_ns=self.run_record.step_ends_ns,
            step_s=self.run_record.step_s,
            now_ns=time.perf_counter_ns(),
            over=self.concluded or self._torn_down.is_set(),
            interrupted=self.interrupted,
            window=self.load.window,
            load_s=self.plan.expected_load_s,
            load_bound=self.plan.load_bound,
            tally=self.load_generators.tally(),
            brokers=self.brokers.states(self.faults.expected_down()),
            connected=self.load_generators.connected(),
            readings=self.brokers.latest(),
            faults=faults,
            abort_conditions=self.load.abort.states,
            aborts=self.info.aborts,
            problems=self.info.problems,
        )

    def abandon(self) -> None:
        """Tear everything down immediately. Recorded events are kept."""
        self.abandoned = True
        try:
            self._tear_down()
        finally:
            self._torn_down.set()

    def _tear_down(self) -> None:
        self.interrupted = True
        self.exit_status = EXIT_STATUS["interrupted"]
        logging.getLogger("drivers").setLevel(logging.CRITICAL)  # hide errors of clients whose brokers go down
        if self.over and self.info.state in ("ended", "interrupted", "failed"):
            return
        self.over = True
        self.brokers.close()
        self.recorder.close()
        with suppress(RunUnwritable):
            self.run_record.update(state="interrupted")
            self.run_record.write()

    def _is_abandoned(self) -> bool:
        """Whether `abandon` was called. Waits until it has finished, so that the process does not end earlier."""
        if self.abandoned:
            self._torn_down.wait(TEAR_DOWN_TIMEOUT_S)
        return self.abandoned

    def fail(self, error: Exception) -> None:
        """Record an internal error, which ended the load. The run is invalid."""
        log.exception("internal error in brokerbench")
        self.run_record.problem(f"an internal error in brokerbench ended the load: {error!r}")

    # -- small things --------------------------------------------------------------------------------------------------

    def interrupt(self) -> None:
        """Handle the first Ctrl-C: end the load, and report that it was cut short.

        While the brokers are still starting, they are taken down, and `begin` raises.
        """
        self.interrupted = True
        if self._beginning:
            self.brokers.close()
        else:
            self.load.end(by_hand=True)

    def cut_short(self, call: str) -> None:
        """End the run in order, as invalid, because other code tried to end it. ``call``: the call of that code."""
        if self.abandoned:
            return
        if self._beginning:
            self._called_off = cut_short_by(call)
            self.run_record.problem(self._called_off)
            self.brokers.close()
        elif self.load.over:
            log.warning("%s has no effect: the load is over, and the run continues to its report", call)
        else:
            self.load.cut_short(call)

    def stop(self) -> None:
        """Handle the web UI's stop button. The run ends early, but regularly, at the user's request.

        The run counts as interrupted only if its load had not begun or a fault was not yet over, so that it could not
        answer its question.
        """
        if self._beginning:
            self.interrupt()
        elif not self.load.over and not self.info.aborts:
            window, now_ns = self.load.window, time.perf_counter_ns()
            load_s = -1.0 if window is None else (now_ns - window.load_began_ns) / NS_PER_S
            if load_s < max((fault.at_s + fault.least_s for fault in self.plan.faults), default=0.0):
                self.interrupted = True
            text = f"stopped manually in the web UI, {max(load_s, 0):.0f} s into the load"
            self.run_record.warning(text)
            self.load.end(by_hand=True)

    def _log(self, line: str) -> None:
        log.info("%s", line)


def _folder(plan: Plan) -> RunDirectory:
    return RunDirectory.create(plan.options.runs, new_run_id(plan.info.scenario, plan.info.topology))
