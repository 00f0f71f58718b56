"""Serves the Brokers page and the metrics of a run without a web UI: ``--live`` and ``--metrics-port``.

Both listen on loopback only, and both only read. They serve from the start of the process until it ends, so a scrape
after the load gets the final counts.
"""

import logging
import os
from pathlib import Path

from flask import Flask, redirect
from gevent.pywsgi import WSGIServer

from harness.live.guard import Guard
from harness.live.model import LiveModel
from harness.live.pages import PREFIX, metrics_response, pages
from records.errors import UserError
from topologies.model.launch import LOOPBACK

log = logging.getLogger("brokerbench")


def serve_page(live: LiveModel, port: int, runs: Path) -> WSGIServer:
    """Serve the Brokers page of ``--live``. Raises UserError if the port is taken."""
    app = Flask(__name__, static_folder=None)
    app.register_blueprint(pages(live, runs, read_only=True), url_prefix=f"/{PREFIX}")
    app.add_url_rule("/", "root", lambda: redirect(f"/{PREFIX}"))
    return _serve(app, "--live", port, f"/{PREFIX}")


def serve_metrics(live: LiveModel, port: int) -> WSGIServer:
    """Serve ``/metrics`` of ``--metrics-port``. Raises UserError if the port is taken."""
    app = Flask(__name__, static_folder=None)
    app.add_url_rule("/metrics", "metrics", lambda: metrics_response(live))
    return _serve(app, "--metrics-port", port, "/metrics")


def _serve(app: Flask, option: str, port: int, path: str) -> WSGIServer:
    server = WSGIServer((LOOPBACK, port), Guard(app, LOOPBACK), log=None)
    try:
        server.start()
    except OSError as error:
        why = os.strerror(error.errno or 0)
        raise UserError(f"{option} {port}: cannot listen on {LOOPBACK}:{port} ({why}); choose another port") from None
    log.info("%s: http://%s:%d%s", option, LOOPBACK, port, path)
    return server
