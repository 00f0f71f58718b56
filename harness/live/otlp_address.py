"""Rules for ``--otlp`` and for OpenTelemetry's variables, checked before anything starts.

Errors never show the value of a variable, or a part of an address that may be a password.
"""

import logging
import math
import re
from collections.abc import Iterator, Mapping
from importlib import import_module
from urllib.parse import urlsplit

from records.errors import has_password, without_user_info

EXPORTER = "opentelemetry.exporter.otlp.proto.http"
HEADERS = tuple(f"OTEL_EXPORTER_OTLP_{signal}HEADERS" for signal in ("", "METRICS_", "LOGS_"))
INTERVAL = "OTEL_METRIC_EXPORT_INTERVAL"
DEFAULT_INTERVAL_MS = 1000.0
OFF = "OTEL_SDK_DISABLED"
EXAMPLE = "http://127.0.0.1:4318"
_PASSWORD = f"contains a user name or a password, which process lists would show; set {HEADERS[0]} instead"
SIGNAL = re.compile(r"/v1/(metrics|logs|traces)/?$")


def otlp_refusals(address: str | None, environ: Mapping[str, str]) -> Iterator[str]:
    """Yield why nothing could be pushed to this address, each with the next step. None: nothing is to be pushed."""
    if address is None:
        return
    if why := _why_no_address(address):
        yield f"--otlp {_without_secrets(address)}: {why}"
    try:
        import_module(EXPORTER)
    except ImportError:
        yield (
            f"--otlp {_without_secrets(address)}: needs OpenTelemetry's exporter, which is not installed; run "
            "make install-otlp"
        )
        return
    yield from _variable_refusals(environ)


def interval_ms(environ: Mapping[str, str]) -> float:
    """Return the time between two pushes. Raises ValueError if the variable is not a number."""
    return float(environ.get(INTERVAL) or DEFAULT_INTERVAL_MS)


def _why_no_address(address: str) -> str:
    if has_password(address):  # first, as other errors show what they take for the port
        return _PASSWORD
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError as error:
        return f"{error}; write an address such as {EXAMPLE}"
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        return f"must be http://HOST:PORT or https://HOST:PORT; write an address such as {EXAMPLE}"
    if parts.username is not None or parts.password is not None:
        return _PASSWORD
    if parts.query or parts.fragment:
        return f"has a part after ? or #, which process lists would show; leave it out, and set {HEADERS[0]}"
    if named := SIGNAL.search(parts.path):
        return f"ends with {named[0]}, which the exporter adds itself; leave that part out"
    return ""


def _without_secrets(address: str) -> str:
    """Return an address for an error message: without user name, password and everything after the path."""
    return re.split(r"[?#]", without_user_info(address), maxsplit=1)[0]


def _variable_refusals(environ: Mapping[str, str]) -> Iterator[str]:
    if environ.get(OFF, "").strip().lower() == "true":
        yield f"{OFF}=true: OpenTelemetry would push nothing; unset it, or leave --otlp out"
    try:
        is_valid = 0 < interval_ms(environ) < math.inf
    except ValueError:
        is_valid = False
    if not is_valid:
        yield f"{INTERVAL}={environ[INTERVAL]}: must be a number of milliseconds above 0; unset it for 1000"
    for variable in HEADERS:
        for position, header in enumerate(environ.get(variable, "").split(","), 1):
            if header.strip() and not _is_header(header):
                yield (
                    f"{variable}: header {position} is not NAME=VALUE in printable ASCII, with other characters "
                    "percent-encoded; write headers such as api-key=SECRET, separated by commas"
                )


def _is_header(text: str) -> bool:
    """Whether OpenTelemetry reads this header, and HTTP can send it. Both would otherwise log its value."""
    parser = import_module("opentelemetry.util.re")
    logger = logging.getLogger(parser.__name__)
    was_disabled, logger.disabled = logger.disabled, True
    try:
        parsed = parser.parse_env_headers(text, liberal=True)
    finally:
        logger.disabled = was_disabled
    return bool(parsed) and all(value.isascii() and value.isprintable() for value in parsed.values())
