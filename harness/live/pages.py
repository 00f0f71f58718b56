"""Routes of the Brokers page.

All of them are read-only:

    GET  /brokerbench                      the page: phase, brokers, bridges, clients, faults, reports
    GET  /brokerbench/now                  the same as JSON; the page requests it every second
    GET  /brokerbench/metrics              the figures for Prometheus
    GET  /brokerbench/runs/<id>/report     a finished report
"""

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from flask import Blueprint, Response, abort, jsonify, request, send_file, send_from_directory

from harness.live.finished import ReportFolder
from harness.live.metrics import CONTENT_TYPE, metrics
from harness.live.model import LiveModel

STATIC = Path(__file__).parent / "static"
PREFIX = "brokerbench"
POLICY = "default-src 'self'; frame-ancestors 'self'; base-uri 'none'; form-action 'none'"

View = Callable[..., Any]


def pages(
    live: LiveModel,
    runs: Path,
    *,
    guarded: Callable[[View], View] = lambda view: view,
    refusal: Callable[[], str] = lambda: "",
    read_only: bool = False,
) -> Blueprint:
    """Return the routes, each passed through ``guarded`` (a login, for example).

    ``runs``: the folder whose reports are listed. ``refusal``: returns why the last start led to no run. ``read_only``:
    there is no web UI of Locust next to the page, so the page has no link to it.
    """
    reports = ReportFolder(runs)

    def now() -> Response:
        finished = [asdict(run) for run in reports.finished()]
        return jsonify({**live.as_json(refusal()), "reports": finished, "read_only": read_only})

    def report(run_id: str) -> Response:
        path = reports.report(run_id)
        if path is None:
            abort(404, f"no report of a run named {run_id!r}")
        return send_file(path, max_age=0)

    views: dict[str, tuple[str, View]] = {
        "page": ("", lambda: send_from_directory(STATIC, "page.html", max_age=0)),
        "static_file": ("/static/<name>", lambda name: send_from_directory(STATIC, name, max_age=0)),
        "now": ("/now", now),
        "metrics": ("/metrics", lambda: metrics_response(live)),
        "report": ("/runs/<run_id>/report", report),
    }
    blueprint = Blueprint(PREFIX, __name__)
    for name, (rule, answer) in views.items():
        blueprint.add_url_rule(rule, name, guarded(answer))

    @blueprint.after_request
    def harden(response: Response) -> Response:
        response.headers["X-Content-Type-Options"] = "nosniff"
        if request.endpoint != f"{PREFIX}.report":  # a report holds its own styles and scripts
            response.headers["Content-Security-Policy"] = POLICY
        return response

    return blueprint


def metrics_response(live: LiveModel) -> Response:
    return Response(metrics(live.snapshot(), live.last_moment()), content_type=CONTENT_TYPE)
