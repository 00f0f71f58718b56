"""Lists the exact configuration, the machine, and the command that repeats the run."""

import shlex
from collections.abc import Mapping
from datetime import datetime, timedelta

from records.figures.summary import Summary
from records.loads.arrivals import CLOSED, FIXED, POISSON
from records.run import RunInfo
from reports.parts.numbers import ABSENT, bytes_text, counted, seconds_text
from reports.parts.values import Cell, Column, Table
from reports.run.doubts import load_length_s, warm_up_length_s

WARM_UP_ENDS = {
    "settled": ", until the median latency had settled",
    "not_settled": ": the median latency did not settle",
    "no_latency": ": too few latencies were known to see whether they settle",
}
UNITS = {"s": "s", "ms": "ms", "mb": "MB", "bytes": "bytes"}
NAME_VALUE = (Column("Name"), Column("Value"))
OVERLAY_FILE = "overlay/"
"""How the name of a run's overlay begins among its rendered files."""
MOST_RENDERED_CHARACTERS = 240_000


def command(run: RunInfo) -> str:
    """Return the command line that repeats the run; empty if run.json does not have it."""
    return shlex.join(run.command)


def facts(run: RunInfo, summary: Summary) -> Table:
    rows: tuple[tuple[Cell, ...], ...] = (
        ("Run", run.run_id),
        ("Load began", moment(summary["wall"]) or ABSENT),
        ("Scenario", run.scenario),
        ("Topology", run.topology),
        ("Protocol", run.protocol),
        ("Arrivals", ARRIVALS_TEXT[run.arrivals]),
        ("Connections", "; ".join(connection_modes(run)) or ABSENT),
        ("Runtime", run.runtime + (f": {run.runtime_reason}" if run.runtime_reason else "")),
        ("Seed", str(run.seed)),
        ("State", run.state),
        ("Recorded by", recorders(run)),
    )
    return Table("The run", NAME_VALUE, rows)


ARRIVALS_TEXT = {
    FIXED: "fixed: sends are due at equal intervals",
    POISSON: "Poisson: sends are due at random intervals",
    CLOSED: "closed: each producer sends as soon as its last send is answered",
}
CONNECTION_MODES = {"one": "one each", "per-message": "one for each message"}


def connection_modes(run: RunInfo) -> tuple[str, ...]:
    """Return how each kind of user held its connections: ``producer: one each``. Older runs did not record it."""
    modes = {(user.role, _connection_mode(user.settings)): None for user in run.users if "connections" in user.settings}
    return tuple(f"{role}s: {mode}" for role, mode in modes)


def _connection_mode(settings: Mapping[str, object]) -> str:
    mode = str(settings["connections"])
    pool = f"{settings.get('pool_size')} shared by each group in each process"
    return pool if mode == "pooled" else CONNECTION_MODES.get(mode, mode)


def recorders(run: RunInfo) -> str:
    """Return the number of recording processes, without host names, as reports may be published."""
    hosts = len({process.host for process in run.processes})
    processes = counted(len(run.processes), "process", "processes")
    return f"{processes} on {counted(hosts, 'host')}" if hosts else ABSENT


def moment(iso: str) -> str:
    """Return 2026-11-21T14:32:41.5+00:00 as ``2026-11-21 14:32:41 UTC``; any other text stays as it is."""
    try:
        at = datetime.fromisoformat(iso)
    except ValueError:
        return iso
    return at.strftime("%Y-%m-%d %H:%M:%S") + (" UTC" if at.utcoffset() == timedelta(0) else f" {at:%z}".rstrip())


def in_a_line(run: RunInfo, summary: Summary) -> str:
    """Return the line below the title: the kind of run, and its time."""
    lasted_s = load_length_s(run, summary)
    odd = {str(user.settings.get("connections", "one")) for user in run.users} - {"one"}
    parts = (
        f"{run.protocol} clients" + "".join(f", connections {mode}" for mode in sorted(odd)),
        f"{counted(len(run.brokers), 'broker')} as {run.runtime}",
        {POISSON: "Poisson arrivals", CLOSED: "closed load"}.get(run.arrivals, ""),
        f"{seconds_text(lasted_s)} of load" if lasted_s else "",
        moment(summary["wall"]),
    )
    return " · ".join(part for part in parts if part)


def phases(run: RunInfo, summary: Summary) -> Table:
    marked = {"warm_up": warm_up_length_s(run, summary), "load": load_length_s(run, summary)}
    lengths = {name: marked.get(name, value) for name, value in summary["phases"].items()}
    ended = {"warm_up": WARM_UP_ENDS.get(summary["warm_up"]["end"], "")}
    rows = tuple((name.replace("_", "-"), seconds_text(value) + ended.get(name, "")) for name, value in lengths.items())
    return Table("Duration of each phase", (Column("Phase"), Column("Duration")), rows)


def users(run: RunInfo) -> Table:
    columns = tuple(Column(title) for title in ("User", "Role", "Group", "Destination", "Count", "Settings"))
    rows = tuple((u.name, u.role, u.group, u.destination, str(u.count), _settings(u.settings)) for u in run.users)
    return Table("Users", columns, rows, "run.json names no users.")


def _settings(settings: Mapping[str, object]) -> str:
    return ", ".join(f"{name} {_shown(name, value)}" for name, value in settings.items() if value != "")


def groups(run: RunInfo) -> Table:
    columns = (Column("Group"), Column("Enters at"), Column("Failover URI"))
    rows = tuple((g.name, ", ".join(g.enter_at), g.failover_uri or ABSENT) for g in run.groups)
    return Table("Client groups", columns, rows, "This topology has no client groups.")


def named(caption: str, values: Mapping[str, object]) -> Table:
    """Return settings, versions or the machine: all values of run.json that are set."""
    set_values = {name: value for name, value in values.items() if value is not None and value != ""}
    rows = tuple((readable(name), _shown(name, value)) for name, value in set_values.items())
    return Table(caption, NAME_VALUE, rows, "run.json has no entry.")


def readable(name: str) -> str:
    """Return ``drain_timeout_s`` as ``drain timeout (s)``."""
    words = name.split("_")
    unit = UNITS.get(words[-1]) if len(words) > 1 else None
    return " ".join(words) if unit is None else f"{' '.join(words[:-1])} ({unit})"


def _shown(name: str, value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if name == "memory_bytes" and isinstance(value, int | float):
        return f"{value:,} ({bytes_text(value)})"
    return str(value)


def rendered_files(run: RunInfo) -> tuple[tuple[tuple[str, str], ...], int]:
    """Return the rendered configuration files, and the number left out to keep the report small."""
    shown: list[tuple[str, str]] = []
    room = MOST_RENDERED_CHARACTERS
    for name, text in run.rendered.items():
        room -= len(text)
        if room >= 0:
            shown.append((name, text))
    return tuple(shown), len(run.rendered) - len(shown)
