"""Turns Locust's form into options: for each run, the form's fields replace options of the command line.

A field that the form leaves out has the command line's value, not the value of the previous run. Only Locust's fields
are converted here; `run_options.read` reads all others as text, like values of the command line.
"""

import math
from argparse import Namespace
from collections.abc import Container, Iterable, Mapping
from typing import Any

from locust.util.timespan import parse_timespan

from records.errors import UserError

FASTEST_SPAWN_RATE = 100.0  # beyond it Locust warns
OWN_FIELDS = {"user_count", "spawn_rate", "run_time", "host", "profile", "user_classes", "shape_class"}
"""Fields in Locust's form that are not options."""


def require_shown(fields: Iterable[str], shown: Container[str], base: Namespace) -> None:
    """Raise UserError if a field sets an option that the form does not show, such as the folder of the runs."""
    for name in fields:
        if name in vars(base) and name not in shown:
            option = f"--{name.replace('_', '-')}"
            raise UserError(f"field {name}: not a field of the form; use {option} when you start Locust")


def namespace_of(form: Mapping[str, str], base: Namespace) -> Namespace:
    """Return the next run's options: the command line (``base``), changed by the form's fields. Raises UserError."""
    values = dict(vars(base))
    for name, text in form.items():
        if name == "run_time":
            values[name] = _run_time_s(text)
        elif name == "spawn_rate":
            values[name] = _spawn_rate(text)
        elif name in values:
            values[name] = text == "true" if isinstance(values[name], bool) else text
    return Namespace(**values)


def _run_time_s(text: str) -> float | None:
    if not text.strip():
        return None
    try:
        return float(parse_timespan(text))
    except (ValueError, OverflowError):
        raise UserError(f"run time {text!r}: write it as 20, 20s, 3m, 2h or 1h20m") from None


def _spawn_rate(text: str) -> float:
    try:
        rate = float(text)
    except ValueError:
        rate = math.nan
    if not 0 < rate <= FASTEST_SPAWN_RATE:  # also true for NaN
        raise UserError(f"ramp up {text!r}: must be a number of users per second, at most {FASTEST_SPAWN_RATE:g}")
    return rate


def check_users(text: str | None, shown: Iterable[int], counts: Mapping[str, int]) -> None:
    """Raise UserError unless the form's number of users is a number that it showed, or the right one."""
    wanted = sum(counts.values())
    if text is None or text in {str(count) for count in (*shown, wanted)}:
        return
    counts_by_class = ", ".join(f"{count} {name}" for name, count in counts.items())
    raise UserError(
        f"number of users {text!r}: this run has {wanted} ({counts_by_class}); leave it at {wanted}, "
        "and use the fields producers and consumers to change it"
    )


def repeating_command(
    command: Iterable[str], base: Namespace, chosen: Namespace, fields: Iterable[str]
) -> tuple[str, ...]:
    """Return the command line that repeats a run of the form; of two equal options, the last one counts."""
    arguments = [*command, "--headless"]
    for name in sorted(fields):
        value = getattr(chosen, name, None)
        if _is_asked_for(value) and str(value) != str(getattr(base, name)):
            arguments += _argument(name, value)
    return tuple(arguments)


def _is_asked_for(value: Any) -> bool:
    return value not in (None, "", "None", False)


def _argument(name: str, value: Any) -> tuple[str, ...]:
    option = f"--{name.replace('_', '-')}"
    return (option,) if value is True else (option, f"{value:g}" if isinstance(value, float) else str(value))
