"""Turns Locust's events into the steps of a run, so that one `locust -f` line does the whole job.

    init           options checked: an invalid one ends the process with status 2 before anything starts
    test_start     a run begins: brokers up and proven, before any user is spawned
    test_stopping  the load is over (time, count, Ctrl-C, the web UI): producers stop, consumers drain
    test_stop      the users are gone: browse, down, analysis, report
    quitting       everything that is left is taken down

The run controller handles each event. Locust's ``-t`` clock would already run during ``test_start``, so the run
controller keeps the time instead. With a web UI, one process makes many runs, each with its own run controller. The
Start and Stop buttons call this module (`harness.web`).
"""

import atexit
import json
import logging
import os
import signal
import sys
from argparse import Namespace
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NoReturn

import gevent
from gevent import monkey
from gevent.event import Event
from gevent.pywsgi import WSGIServer
from locust import events
from locust import log as locust_log
from locust.runners import STATE_SPAWNING, MasterRunner, WorkerRunner

from drivers.protocols import Spoken
from drivers.users.fixed_settings import fix_settings
from harness import distributed, web
from harness.exits import keep_status, report_exits
from harness.java_parts import use_java_clients
from harness.live.guard import report_refusal
from harness.live.model import LiveModel
from harness.live.server import serve_metrics, serve_page
from harness.options import arguments, plan
from harness.options import run_options as options
from harness.options.locust_options import require_all_named, selection_refusals
from harness.run import jobs
from harness.run.brokers import BrokerEnvironment, Reroute
from harness.run.controller import CANNOT_RUN, RunController
from harness.run.load_generators import LoadGenerators, LocalLoadGenerator
from harness.run.readiness import require_ready
from harness.run.snapshot import Snapshot
from harness.runner_calls import guard_runner
from harness.scenario import Scenario
from records.declared_types import misfit
from records.environment import escape_unprintable
from records.errors import UserError, refuse_first
from records.store.writer import Recorder
from records.verdicts import EXIT_STATUS
from topologies.model.spelling import shortened

log = logging.getLogger("brokerbench")

ABANDONED_PUSH_S = 3.0
"""Time for the last push to a collector after the second Ctrl-C."""
FAILED_LISTENER = (
    "a listener or a greenlet of the locustfile raised an error, which Locust only logs: look for its traceback in the "
    "output of the run"
)


def run(scenario: Scenario, *, reroute: Reroute | None = None) -> None:
    """Register a scenario with Locust's events, and return. This is the last line of a locustfile.

    ``reroute``: addresses for clients instead of a broker's listener, for a proxy in between. Raises ValueError if this
    process already has a scenario, or if ``scenario`` is not a `Scenario`.
    """
    if problem := misfit("run: scenario", scenario, Scenario):
        raise ValueError(f"{problem}; write run(Scenario(…))")
    if any(isinstance(getattr(handler, "__self__", None), Lifecycle) for handler in events.init._handlers):
        raise ValueError(
            f"run(…) of scenario {scenario.name}: this process already has a scenario; call run once per locustfile, "
            "and give one locustfile with -f"
        )
    escape_unprintable()
    use_java_clients()
    lifecycle = Lifecycle(scenario, reroute)
    atexit.register(lifecycle.print_last)  # registered early, so it runs after Locust's handler that ends the workers
    distributed.secure(lifecycle.reject)
    events.init_command_line_parser.add_listener(lifecycle.on_parser)
    events.init.add_listener(lifecycle.on_init)


def _require_plain_start() -> None:
    """End the process at once if a variable changes Locust or Python so that a run could not work or end properly."""
    if sys.flags.inspect:
        problem = "PYTHONINSPECT (or python -i): Python would replace the exit status of the run; leave it out"
    elif not monkey.is_module_patched("socket"):
        problem = "LOCUST_SKIP_MONKEY_PATCH: without gevent's patches, clients would wait for each other; unset it"
    elif not (problem := _resolver_problem()):
        return
    log.error("%s", problem)
    logging.shutdown()
    os._exit(CANNOT_RUN)  # with PYTHONINSPECT, SystemExit does not end Python


def _resolver_problem() -> str:
    """Return why gevent cannot resolve names, as by a wrong GEVENT_RESOLVER; '' if it can."""
    try:
        gevent.get_hub().resolver  # noqa: B018 - imports the resolver
    except Exception as error:
        name = os.environ.get("GEVENT_RESOLVER", "")
        return f"GEVENT_RESOLVER={name}: gevent cannot use it ({' '.join(str(error).split())}); unset it"
    return ""


class Lifecycle:
    """One Locust process: its options, its signals and its current controller."""

    def __init__(self, scenario: Scenario, reroute: Reroute | None) -> None:
        self._scenario = scenario
        self._reroute = reroute
        self._environment: Any = None
        self._parser: Any = None
        self._plan: plan.Plan | None = None  # the next run, as `check` planned it last
        self._controller: RunController | None = None
        self._last: RunController | None = None  # of the last run that ended
        self._shown: RunController | None = None  # of the last run that began
        self._idle = Event()
        self._idle.set()
        self._starting = False
        self._ender: Any = None  # the greenlet that ends the users of the current run
        self._web: web.Web | None = None
        self._live = LiveModel(self.snapshot)
        self._servers: list[WSGIServer] = []
        self._otlp_events: bool | None = None  # whether the collector of --otlp accepts events; None without --otlp
        self._push: Any = None  # harness.live.otlp.OtlpPush of the current run
        self.refusal = ""
        self._last_line = ""
        self._signals = 0
        self._status: int | None = None  # exit status of this process, from its last run

    # -- Locust starts -------------------------------------------------------------------------------------------------

    def on_parser(self, parser: Any, **_: Any) -> None:
        arguments.add_arguments(parser, self._scenario)
        self._parser = parser
        distributed.listen_on_loopback(parser)

    def on_init(self, environment: Any, runner: Any, **_: Any) -> None:
        self._environment = environment
        _require_plain_start()
        report_exits(environment)
        if isinstance(runner, WorkerRunner):
            distributed.WorkerDuty(environment, runner).register()
            return
        guard_runner(runner, self._may_end_users, self._cut_short)
        _silence_locust("No run time limit set")  # the run controller keeps the limit, so Locust has none
        namespace = environment.parsed_options
        try:
            self._count_users(namespace)
        except UserError as error:
            self.reject(error, namespace.processes)
        assert self._plan is not None, "it was just made"
        if namespace.dry_run:
            for warning in self._plan.info.warnings:
                log.warning("%s", warning)
            print(json.dumps(plan.would_run(self._plan)))
            raise SystemExit(0)
        if environment.web_ui:
            self._web = web.register(environment, self, self._live, self._plan.options.runs)
        self._serve_live(namespace)
        if namespace.headless:
            namespace.only_summary = not namespace.print_stats  # its tables every 2 s would bury our own progress
        if namespace.headless or namespace.autostart:
            namespace.run_time = None  # Locust's own clock would run while the brokers come up
        events.test_start.add_listener(self.on_test_start)
        events.test_stopping.add_listener(self.on_test_stopping)
        events.test_stop.add_listener(self.on_test_stop)
        events.quitting.add_listener(self.on_quitting)
        events.quit.add_listener(self.on_quit)
        keep_status(environment, lambda: self._status)
        gevent.signal_handler(signal.SIGINT, self.on_ctrl_c)

    def reject(self, error: UserError, forked_workers: int | None) -> NoReturn:
        """End this process without a run. The reason is its last line, even if forked workers end later."""
        refusal = shortened(str(error))
        log.error("%s", refusal)
        if forked_workers:
            self._print_at_exit(_failed(refusal))
        raise SystemExit(CANNOT_RUN) from error

    def _count_users(self, namespace: Any) -> None:
        """Set the number of users that Locust spawns: all users of the scenario, at once."""
        refuse_first(selection_refusals(namespace, self._environment.shape_class))
        require_all_named(self._environment.user_classes, self._scenario.users)
        counts = self.check(namespace)
        wanted = sum(counts.values())
        if namespace.num_users not in (None, wanted):
            raise UserError(
                f"--users {namespace.num_users}: {self._scenario.name} has {wanted} users "
                f"({', '.join(f'{count} {name}' for name, count in counts.items())}); "
                "leave --users out, and use --producers and --consumers to change their number"
            )
        namespace.num_users = wanted
        assert self._plan is not None, "check has made it"
        # Users that connect in a later step wait for it, so all have to be spawned in time for their steps.
        namespace.spawn_rate = namespace.spawn_rate or (max(100, wanted // 4) if self._plan.options.clients else 100)

    def _serve_live(self, namespace: Any) -> None:
        """Start serving the page and the metrics, as the options say, and try the collector and the store.

        Ends the process if a port is taken, or if the collector or the store of runs accepts nothing.
        """
        assert self._plan is not None, "`check` has made it"
        options = self._plan.options
        try:
            if options.live_port and self._environment.web_ui:
                raise UserError(
                    f"--live {options.live_port}: the web UI already has this page, at /brokerbench; leave --live out, "
                    "or add --headless"
                )
            if options.live_port:
                self._servers.append(serve_page(self._live, options.live_port, options.runs))
            if options.metrics_port:
                self._servers.append(serve_metrics(self._live, options.metrics_port))
            if options.store:
                jobs.require_store(options.store)
            if options.otlp:
                from harness.live.otlp import require_collector  # OpenTelemetry's packages are optional

                self._otlp_events = require_collector(options.otlp)
        except UserError as error:
            self.reject(error, namespace.processes)
        if self._watched:
            gevent.spawn(self._live.keep_watching)

    @property
    def _watched(self) -> bool:
        """Whether a page, a scrape or a push may read the run while it goes on."""
        return self._web is not None or bool(self._servers) or self._otlp_events is not None

    # -- the web UI (harness.web.RunControl) ----------------------------------------------------------------------

    @property
    def busy(self) -> bool:
        return self._starting or not self._idle.is_set()

    def snapshot(self) -> Snapshot | None:
        return self._shown.snapshot() if self._shown else None

    def check(self, namespace: Namespace) -> Mapping[str, int]:
        """Plan the next run, and let Locust make its users of the plan's classes."""
        self._plan = plan.make(self._scenario, options.read(namespace, self._scenario, namespace.run_time))
        fix_settings(self._plan.users)
        self._environment.user_classes = [*self._plan.users]
        if isinstance(self._environment.runner, MasterRunner):
            spoken = Spoken.parse(self._plan.info.protocol)
            refuse_first(distributed.one_process_refusals(spoken, self._plan.users))
        command = (*self._plan.info.command, *arguments.options_set_elsewhere(self._parser, self._plan.info.command))
        self._plan = replace(self._plan, info=replace(self._plan.info, command=command))
        if none := [name for name, count in self._plan.counts.items() if not count]:
            raise UserError(f"{none[0]}: fixed_count = 0: set the number of users of this class")
        return self._plan.counts

    def start(self, namespace: Namespace, users: int) -> None:
        self._starting = True
        gevent.spawn(self._start, users, namespace.spawn_rate)

    def _start(self, users: int, spawn_rate: float) -> None:
        runner = self._environment.runner
        try:
            runner.start(users, spawn_rate)
            if runner.spawning_greenlet:  # a master spawns in `start` itself
                runner.spawning_greenlet.join()
        finally:
            self._starting = False

    def stop(self) -> None:
        while self._starting and self._controller is None:
            gevent.sleep(0.05)
        if self._controller:
            self._controller.stop()
        self._idle.wait()

    # -- one run -------------------------------------------------------------------------------------------------------

    def on_test_start(self, environment: Any, **_: Any) -> None:
        self._idle.wait()  # in the web UI, the previous run may still be writing its report
        self._idle.clear()
        self._starting = False
        locust_log.unhandled_greenlet_exception = False
        self.refusal = ""
        self._end_with(CANNOT_RUN)
        environment.runner.update_state(STATE_SPAWNING)  # so that the web UI shows it and can stop it
        try:
            self._controller = self._shown = self._conduct(environment)
            self._begin_push(self._controller)
            self._controller.begin()
        except UserError as error:
            if self._web:
                self.refusal = report_refusal(str(error), error)
            else:
                self.refusal = str(error)
                log.error("%s", error)
            if self._controller and self._controller.interrupted:
                self._end_with(EXIT_STATUS["interrupted"])
            self._call_off(environment)
        except Exception as error:  # Locust would swallow it, and spawn users without a run
            log.exception("this run cannot be made, because of a bug in brokerbench")
            self.refusal = f"a bug in brokerbench: {error!r}; see the log"
            self._call_off(environment)
        except BaseException:
            self._idle.set()
            raise
        gevent.spawn(self._hold, self._controller)

    def _conduct(self, environment: Any) -> RunController:
        run_plan = self._plan
        assert run_plan is not None, "on_init has made one, or has ended the process"
        require_ready(run_plan)
        if self._web:
            run_plan = replace(run_plan, info=replace(run_plan.info, command=self._web.command(run_plan.info.command)))
        distributed_run = isinstance(environment.runner, MasterRunner)

        def load_generators(recorder: Recorder, brokers: BrokerEnvironment) -> LoadGenerators:
            if distributed_run:
                return distributed.DistributedLoadGenerators(environment.runner)
            return LocalLoadGenerator(environment, recorder, brokers.connectors)

        process = "master" if distributed_run else "main"
        return RunController(run_plan, load_generators, process, self._reroute, watched=self._watched)

    def _begin_push(self, controller: RunController) -> None:
        """Push the run to the collector of ``--otlp`` from now on. Each run has separate attributes."""
        address = controller.plan.options.otlp
        if address and self._otlp_events is not None:
            from harness.live.otlp import OtlpPush

            self._push = OtlpPush(address, controller.snapshot, self._live.last_moment, with_events=self._otlp_events)

    def _end_push(self, **timeout_s: float) -> None:
        """Push the last values of the run, once. ``timeout_s``: if it must not take longer."""
        if self._push:
            self._push.close(**timeout_s)

    def _call_off(self, environment: Any) -> None:
        """Spawn no users: end the greenlet that would spawn them, and a headless Locust."""
        self._end_push()
        self._controller = None
        gevent.spawn(self._end_users).link(lambda _: self._idle.set())
        raise gevent.GreenletExit

    def _hold(self, controller: RunController) -> None:
        try:
            controller.load.hold()
        except Exception as error:  # no other code would end the users
            controller.fail(error)
        if not controller.over:
            controller.load.end()
            self._end_users()

    def _end_users(self) -> None:
        """Stop all users; a headless Locust then quits."""
        self._ender = gevent.getcurrent()
        runner = self._environment.runner
        runner.stop()
        namespace = self._environment.parsed_options
        quits = namespace.autostart and namespace.autoquit >= 0
        if quits:
            gevent.sleep(namespace.autoquit)
        if namespace.headless or quits or self._signals:
            runner.quit()
            if self._environment.web_ui:
                self._environment.web_ui.stop()

    def _may_end_users(self) -> bool:
        """Whether the calling greenlet may end the users: no run is active, or this greenlet ends the run."""
        controller = self._controller
        return controller is None or controller.abandoned or gevent.getcurrent() is self._ender

    def _cut_short(self, call: str) -> None:
        if self._controller:
            self._controller.cut_short(call)

    def on_test_stopping(self, environment: Any, **_: Any) -> None:
        if not self._may_end_users():
            self._cut_short("an event test_stopping")
            if not isinstance(environment.runner, MasterRunner):  # a master may have to read messages of its workers
                self._idle.wait()
            return
        if self._controller:
            self._controller.drain()

    def on_test_stop(self, environment: Any, **_: Any) -> None:
        if not self._may_end_users():
            self._cut_short("an event test_stop")
            return
        controller = self._controller
        if controller is None:
            return
        if locust_log.unhandled_greenlet_exception:
            controller.run_record.warning(FAILED_LISTENER)
        try:
            controller.finish()
            self._end_with(controller.exit_status)
        finally:
            self._end_push()
            self._controller = None
            self._last = controller
            self._idle.set()

    def _end_with(self, status: int) -> None:
        self._environment.process_exit_code = self._status = status

    # -- the end -------------------------------------------------------------------------------------------------------

    def on_ctrl_c(self) -> None:
        """End the load and report it on the first Ctrl-C; take everything down at once on the second."""
        self._signals += 1
        controller = self._controller
        if controller is None:
            if self._web:
                self._end_with(0)  # its runs have reported their verdicts
            raise KeyboardInterrupt  # reaches Locust's main greenlet
        if self._signals == 1 and (controller.over or controller.info.aborts):
            what = "is over" if controller.over else "was aborted"
            log.warning("Ctrl-C: the load %s and the run is being reported; press again to take everything down", what)
            return
        if self._signals == 1:
            log.warning("Ctrl-C: ending the load and reporting the results so far; press again to take everything down")
            gevent.spawn(controller.interrupt)  # taking brokers down blocks, a signal handler must not
            return
        log.warning("Ctrl-C again: taking everything down")
        self._end_with(EXIT_STATUS["interrupted"])
        controller.abandon()
        self._end_push(timeout_s=ABANDONED_PUSH_S)
        raise SystemExit(EXIT_STATUS["interrupted"])

    def on_quitting(self, environment: Any, **_: Any) -> None:
        if self._controller:
            self._controller.abandon()
            self._end_with(EXIT_STATUS["interrupted"])
        self._end_push()

    def on_quit(self, **_: Any) -> None:
        """Print the last lines on the terminal, after Locust's tables."""
        reported = self._last or (self._shown if self._shown and self._shown.info.phases.load_began_ns else None)
        if reported:  # or stopped during the analysis; the lines then say how to continue
            for line in (*jobs.final_lines(reported.directory), *filter(None, [reported.stored])):
                print(line)
        failure = self._last.failure if self._last else self.refusal
        if failure and not self._web:  # the web UI has shown why
            self._print_at_exit(_failed(failure))
        if not self._environment.parsed_options.processes:
            self.print_last()

    def _print_at_exit(self, line: str) -> None:
        """Print the line once the workers that `--processes` forked have ended, after their last lines."""
        self._last_line = line
        _silence_locust("Bad response code from worker children", logger="root")

    def print_last(self) -> None:
        if self._last_line:
            print(self._last_line, flush=True)
        self._last_line = ""


def _failed(failure: str) -> str:
    first_line, *more_lines = failure.splitlines()
    return f"Failed:  {first_line.rstrip(':')}{'; the lines above have more' if more_lines else ''}"


def _silence_locust(words: str, logger: str = "locust.main") -> None:
    logging.getLogger(logger).addFilter(lambda record: words not in record.getMessage())
