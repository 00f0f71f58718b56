"""Adds brokerbench to Locust's web UI: a tab, a separate page, and the handlers of Start and Stop.

    GET  /brokerbench, /brokerbench/…      the page, its data and the reports (`harness.live.pages`)
    POST /swarm, /stop                     Locust's buttons, handled here while they concern a run
    POST /user                             Locust's settings of user classes: rejected

Locust's tab can show one table of text and is not refreshed while a run is analyzed, so a small script adds the page
below that table. This module handles Start, because Locust would start its clock while brokers come up. Locust would
also accept an invalid value or a field that its form does not show, and convert some values or show an error page. This
module also handles Stop, because a run must not be ended twice at the same time. It rejects changes of user classes
(/user), because the scenario defines them. Requests from pages of other sites do not get here (`harness.live.guard`).
"""

from argparse import Namespace
from collections.abc import Callable, Mapping
from copy import copy
from pathlib import Path
from typing import Any, Protocol

from flask import Response, jsonify, request
from locust.runners import STATE_RUNNING, STATE_SPAWNING, MasterRunner

from harness.live.guard import Guard, report_refusal
from harness.live.model import LiveModel
from harness.live.pages import PREFIX, pages
from harness.live.view import phase, summary_rows
from harness.web import fields, form
from records.errors import UserError
from topologies.model.spelling import shortened

SCRIPT = b'<script src="./brokerbench/static/tab.js"></script>\n  </body>'


class RunControl(Protocol):
    """The part of the lifecycle that the web UI needs (`harness.lifecycle.Lifecycle`)."""

    refusal: str  # why the last start did not lead to a run

    @property
    def busy(self) -> bool:
        """Whether this process makes a run: from its start until its report is written."""

    def check(self, namespace: Namespace) -> Mapping[str, int]:
        """Return the number of users by class for a run with these options. Raises UserError."""

    def start(self, namespace: Namespace, users: int) -> None:
        """Begin a run and return at once."""

    def stop(self) -> None:
        """End the load or the start of brokers. Returns when the run is over and its report is written."""


class Web:
    """The additions to one Locust web UI."""

    def __init__(self, environment: Any, bench: RunControl, live: LiveModel) -> None:
        self._environment = environment
        self._bench = bench
        self._live = live
        self._base: Namespace = copy(environment.parsed_options)
        self._shown = form.OWN_FIELDS | {*environment.web_ui.template_args["extra_options"]}
        self._fields: frozenset[str] = frozenset()  # names of the form's fields in the current run

    def command(self, command: tuple[str, ...]) -> tuple[str, ...]:
        """Return the command line that repeats the current run, with the form's fields."""
        return form.repeating_command(command, self._base, self._environment.parsed_options, self._fields)

    # -- Locust's own buttons --------------------------------------------------------------------------------------

    def swarm(self) -> Response:
        """Start a run, or return the reason why not, with nothing changed. During a run, Start is rejected."""
        if self._bench.busy:
            return self._answer(False, self._under_way())
        try:
            namespace = self._chosen()
        except UserError as error:
            self._bench.refusal = report_refusal(shortened(str(error)), error)
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
        snapshot = self._live.snapshot()
        doing = phase(snapshot) if snapshot and not snapshot.over else "it begins"
        return f"a run is active ({doing}) and cannot be changed: stop it or wait for its end, then start another"

    def _answer(self, success: bool, message: str) -> Response:
        return jsonify({"success": success, "message": message, "host": self._environment.host})

    def stop(self) -> Response | None:
        """Stop the run. Returns None if no run is active, so that Locust answers."""
        if not self._bench.busy:
            return None
        self._bench.stop()
        return jsonify({"success": True, "message": "Test stopped"})

    def user(self) -> Response:
        """Reject the request, as Locust would set any attribute of a user class, here and in all workers."""
        refusal = "the scenario defines the user classes; use the form's fields to change their number and messages"
        return Response(f"{refusal}\n", 400, content_type="text/plain; charset=utf-8")

    # -- what is shown ---------------------------------------------------------------------------------------------

    def statistics(self, response: Response) -> Response:
        """Add our rows to Locust's answer, and report a running state during a run, so that its page keeps polling."""
        report = response.get_json()
        shown = self._live.shown(self._bench.refusal)
        report["extended_stats"] = [{"key": PREFIX, "data": summary_rows(shown)}]
        if self._bench.busy and report.get("state") not in (STATE_SPAWNING, STATE_RUNNING):
            report["state"] = STATE_RUNNING
        return jsonify(report)

    def index(self, response: Response) -> Response:
        """Add our script and the form's style to Locust's page.

        Its advice to set a host goes, as the topology has the addresses.
        """
        page = response.get_data().replace(b'"missing_host_warning": true', b'"missing_host_warning": false')
        style = fields.style(self._environment.web_ui.template_args["extra_options"]).encode()
        page = page.replace(b"</head>", style + b"</head>", 1)
        response.set_data(page.replace(b"</body>", SCRIPT, 1))
        return response


def _arrange_fields(web_ui: Any) -> None:
    """Rearrange the form's fields for each page, as Locust reads its options again each time."""
    read = web_ui.update_template_args

    def update() -> None:
        read()
        web_ui.template_args["extra_options"] = fields.arranged(web_ui.template_args["extra_options"])

    web_ui.update_template_args = update


def register(environment: Any, bench: RunControl, live: LiveModel, runs: Path) -> Web:
    """Extend the web UI of a Locust environment, before it begins to serve."""
    web_ui = environment.web_ui
    web = Web(environment, bench, live)
    web_ui.app.jinja_env.policies["json.dumps_kwargs"] = {
        "sort_keys": False
    }  # the form has options in their declared order
    _arrange_fields(web_ui)
    guarded = web_ui.auth_required_if_enabled
    web_ui.template_args |= {
        "extended_tabs": [{"title": "Brokers", "key": PREFIX}],
        "extended_tables": [
            {"key": PREFIX, "structure": [{"key": "what", "title": "What"}, {"key": "now", "title": "Now"}]}
        ],
        "extended_csv_files": [{"href": "./brokerbench", "title": "Reports of brokerbench"}],
    }
    blueprint = pages(live, runs, guarded=guarded, refusal=lambda: bench.refusal)
    web_ui.app.register_blueprint(blueprint, url_prefix=f"{environment.parsed_options.web_base_path}/{PREFIX}")
    buttons: dict[str, Callable[[], Response | None]] = {  # for POST only: a browser sends OPTIONS first
        "locust.swarm": web.swarm,
        "locust.stop": web.stop,
        "locust.update_user": web.user,
    }
    changes = {"locust.index": web.index, "locust.request_stats": web.statistics}

    def before() -> Response | None:
        action = buttons.get(request.endpoint or "") if request.method == "POST" else None
        return guarded(action)() if action else None

    def after(response: Response) -> Response:
        change = changes.get(request.endpoint or "")
        return change(response) if change and response.status_code == 200 else response

    web_ui.app.before_request(before)
    web_ui.app.after_request(after)
    web_ui.app.wsgi_app = Guard(web_ui.app.wsgi_app, web_ui.host)
    return web
