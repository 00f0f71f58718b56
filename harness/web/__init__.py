"""Adds brokerbench to Locust's web UI: a tab, a page of its own, and care for Start and Stop.

    GET  /brokerbench                      the page: phase, brokers, bridges, clients, faults, reports
    GET  /brokerbench/now                  the same as JSON, asked for once a second
    GET  /brokerbench/metrics              its figures for Prometheus
    GET  /brokerbench/runs/<id>/report     a finished report
    POST /swarm, /stop                     Locust's own buttons, answered here while they concern a run of ours
    POST /user                             Locust's settings of user classes: refused

Locust's tab can show one table of text and is not refreshed while a run is analysed, so a small script puts the page
below that table. This module answers Start itself. Locust would accept a wrong value or a field that its form does not
show, convert a part of it or show an error page, and it would start its clock while brokers come up. This module also
answers Stop, because a run must not be ended twice at the same time. It refuses to change user classes (/user), because
they are the scenario's. Requests of other sites' pages do not get here (`harness.web.guard`).
"""

from argparse import Namespace
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol

import gevent
from flask import Blueprint, Response, abort, jsonify, request, send_file, send_from_directory
from locust.runners import STATE_RUNNING, STATE_SPAWNING, MasterRunner

from harness.run.snapshot import Snapshot
from harness.web import form
from harness.web.finished import ReportFolder
from harness.web.guard import Guard, tell_refusal
from harness.web.history import History
from harness.web.metrics import CONTENT_TYPE, metrics
from harness.web.view import phase, summary_rows, view
from records.errors import UserError
from topologies.model.spelling import shortened

STATIC = Path(__file__).parent / "static"
TAB = "brokerbench"
WATCH_EVERY_S = 1.0
POLICY = "default-src 'self'; frame-ancestors 'self'; base-uri 'none'; form-action 'none'"
SCRIPT = b'<script src="./brokerbench/static/tab.js"></script>\n  </body>'


class Bench(Protocol):
    """The part of the lifecycle that the web UI needs (`harness.lifecycle.Lifecycle`)."""

    refusal: str  # why the last start did not lead to a run

    @property
    def busy(self) -> bool:
        """From the start of a run until its report is written."""

    def snapshot(self) -> Snapshot | None:
        """The snapshot of the present run, or of the last one."""

    def check(self, namespace: Namespace) -> Mapping[str, int]:
        """The users that a run of these options has, by class. Raises UserError."""

    def start(self, namespace: Namespace, users: int) -> None:
        """Begin a run and return at once."""

    def stop(self) -> None:
        """End the load, or the coming up of brokers; returns when the run is over, its report written."""


class Web:
    """Our part of one Locust web UI."""

    def __init__(self, environment: Any, bench: Bench, runs: Path) -> None:
        self._environment = environment
        self._bench = bench
        self._report_folder = ReportFolder(runs)
        self._base: Namespace = copy(environment.parsed_options)
        self._shown = form.OWN_FIELDS | {*environment.web_ui.template_args["extra_options"]}
        self._fields: frozenset[str] = frozenset()  # the form's values of the present run
        self._history = History()

    def command(self, command: tuple[str, ...]) -> tuple[str, ...]:
        """The line that makes the present run again, the form's fields included."""
        return form.again(command, self._base, self._environment.parsed_options, self._fields)

    # -- Locust's own buttons --------------------------------------------------------------------------------------

    def swarm(self) -> Response:
        """Start, or the reason why not; nothing has changed then. Edit and Start are refused during a run."""
        if self._bench.busy:
            return self._answer(False, self._under_way())
        try:
            namespace = self._chosen()
        except UserError as error:
            self._bench.refusal = tell_refusal(shortened(str(error)), error)
            return self._answer(False, self._bench.refusal)
        vars(self._environment.parsed_options).update(vars(namespace))
        self._bench.start(namespace, namespace.num_users)
        return self._answer(True, "Swarming started")

    def _chosen(self) -> Namespace:
        runner = self._environment.runner
        if isinstance(runner, MasterRunner) and not runner.worker_count:
            raise UserError("no worker is connected: start one with --worker and the same locustfile")
        fields = request.form.to_dict()
        form.require_shown(fields, self._shown, self._base)
        namespace = form.namespace_of(fields, self._base)
        counts = self._bench.check(namespace)
        shown = (self._base.num_users, self._environment.parsed_options.num_users)
        form.check_users(fields.get("user_count"), shown, counts)
        namespace.num_users = sum(counts.values())
        self._fields = frozenset(fields) & frozenset(vars(self._base)) - {"spawn_rate", "host"}
        return namespace

    def _under_way(self) -> str:
        snapshot = self._bench.snapshot()
        doing = phase(snapshot) if snapshot and not snapshot.over else "it begins"
        return f"a run is under way ({doing}) and cannot be changed: stop it, or wait for its end, then start another"

    def _answer(self, success: bool, message: str) -> Response:
        return jsonify({"success": success, "message": message, "host": self._environment.host})

    def stop(self) -> Response | None:
        """Stop; None, for Locust's own answer, when no run is under way."""
        if not self._bench.busy:
            return None
        self._bench.stop()
        return jsonify({"success": True, "message": "Test stopped"})

    def user(self) -> Response:
        """Locust would set any attribute of a user class, here and in all workers."""
        refusal = "user classes are as the scenario has them; change their number and messages by the form's fields"
        return Response(f"{refusal}\n", 400, content_type="text/plain; charset=utf-8")

    # -- what is shown ---------------------------------------------------------------------------------------------

    def keep_watching(self) -> None:
        """Keep the last two minutes, whether a page asks or not. Never returns."""
        while True:
            self._history.note(self._bench.snapshot())
            gevent.sleep(WATCH_EVERY_S)

    def now(self) -> Response:
        snapshot = self._bench.snapshot()
        shown = asdict(view(snapshot, self._bench.refusal))
        reports = [asdict(finished) for finished in self._report_folder.finished()]
        history = self._history.as_json(snapshot.faults if snapshot else ())
        return jsonify({**shown, "history": history, "reports": reports})

    def metrics(self) -> Response:
        last = self._history.moments[-1] if self._history.moments else None
        return Response(metrics(self._bench.snapshot(), last), content_type=CONTENT_TYPE)

    def report(self, run_id: str) -> Response:
        path = self._report_folder.report(run_id)
        if path is None:
            abort(404, f"no report of a run named {run_id!r}")
        return send_file(path, max_age=0)

    def statistics(self, response: Response) -> Response:
        """Locust's own answer with our rows, and busy as long as a run is: its page stops asking otherwise."""
        report = response.get_json()
        shown = view(self._bench.snapshot(), self._bench.refusal)
        report["extended_stats"] = [{"key": TAB, "data": summary_rows(shown)}]
        if self._bench.busy and report.get("state") not in (STATE_SPAWNING, STATE_RUNNING):
            report["state"] = STATE_RUNNING
        return jsonify(report)

    def index(self, response: Response) -> Response:
        """Locust's page with our script, and without its advice to fill in a host: the topology says where to go."""
        page = response.get_data().replace(b'"missing_host_warning": true', b'"missing_host_warning": false')
        response.set_data(page.replace(b"</body>", SCRIPT, 1))
        return response


def register(environment: Any, bench: Bench, runs: Path) -> Web:
    """Add all of it to the web UI of a Locust environment, before that begins to serve."""
    web_ui = environment.web_ui
    web = Web(environment, bench, runs)
    web_ui.app.jinja_env.policies["json.dumps_kwargs"] = {"sort_keys": False}  # the form has options as declared
    guarded = web_ui.auth_required_if_enabled
    web_ui.template_args |= {
        "extended_tabs": [{"title": "Brokers", "key": TAB}],
        "extended_tables": [
            {"key": TAB, "structure": [{"key": "what", "title": "What"}, {"key": "now", "title": "Now"}]}
        ],
        "extended_csv_files": [{"href": "./brokerbench", "title": "Reports of brokerbench"}],
    }
    web_ui.app.register_blueprint(_pages(web, guarded), url_prefix=f"{environment.parsed_options.web_base_path}/{TAB}")
    buttons: dict[str, Callable[[], Response | None]] = {  # by POST: a browser asks by OPTIONS whether it may
        "locust.swarm": web.swarm,
        "locust.stop": web.stop,
        "locust.update_user": web.user,
    }
    pages = {"locust.index": web.index, "locust.request_stats": web.statistics}

    def before() -> Response | None:
        action = buttons.get(request.endpoint or "") if request.method == "POST" else None
        return guarded(action)() if action else None

    def after(response: Response) -> Response:
        change = pages.get(request.endpoint or "")
        return change(response) if change and response.status_code == 200 else response

    gevent.spawn(web.keep_watching)
    web_ui.app.before_request(before)
    web_ui.app.after_request(after)
    web_ui.app.wsgi_app = Guard(web_ui.app.wsgi_app, web_ui.host)
    return web


def _pages(web: Web, guarded: Callable[[Callable[..., Any]], Callable[..., Any]]) -> Blueprint:
    pages = Blueprint(TAB, __name__)
    views: dict[str, tuple[str, Callable[..., Any]]] = {
        "page": ("", lambda: send_from_directory(STATIC, "page.html", max_age=0)),
        "static_file": ("/static/<name>", lambda name: send_from_directory(STATIC, name, max_age=0)),
        "now": ("/now", web.now),
        "metrics": ("/metrics", web.metrics),
        "report": ("/runs/<run_id>/report", web.report),
    }
    for name, (rule, answer) in views.items():
        pages.add_url_rule(rule, name, guarded(answer))

    @pages.after_request
    def harden(response: Response) -> Response:
        response.headers["X-Content-Type-Options"] = "nosniff"
        if request.endpoint != f"{TAB}.report":  # a report holds its own styles and scripts
            response.headers["Content-Security-Policy"] = POLICY
        return response

    return pages
