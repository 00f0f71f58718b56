"""What exactly was run, on what, and how is it run again?"""

import shlex
from collections.abc import Mapping
from datetime import datetime, timedelta

from records.run import RunInfo
from records.summary import Summary
from reports.numbers import ABSENT, bytes_text, seconds_text
from reports.values import Cell, Column, Table

NAME_VALUE = (Column("Name"), Column("Value"))
MOST_RENDERED_CHARACTERS = 240_000


def command(run: RunInfo) -> str:
    """The command line that runs it again; empty when run.json does not have it."""
    return shlex.join(run.command)


def facts(run: RunInfo, summary: Summary) -> Table:
    rows: tuple[tuple[Cell, ...], ...] = (
        ("Run", run.run_id),
        ("Load began", moment(summary["wall"]) or ABSENT),
        ("Scenario", run.scenario),
        ("Topology", run.topology),
        ("Protocol", run.protocol),
        ("Runtime", run.runtime + (f": {run.runtime_reason}" if run.runtime_reason else "")),
        ("Seed", str(run.seed)),
        ("State", run.state),
        ("Recording processes", ", ".join(f"{p.name} on {p.host}" for p in run.processes) or ABSENT),
    )
    return Table("The run", NAME_VALUE, rows)


def moment(iso: str) -> str:
    """2026-11-21T14:32:41.5+00:00 -> 2026-11-21 14:32:41 UTC; what is no such moment stays as it is."""
    try:
        at = datetime.fromisoformat(iso)
    except ValueError:
        return iso
    return at.strftime("%Y-%m-%d %H:%M:%S") + (" UTC" if at.utcoffset() == timedelta(0) else f" {at:%z}".rstrip())


def phases(summary: Summary) -> Table:
    rows = tuple((name.replace("_", "-"), seconds_text(value)) for name, value in summary["phases"].items())
    return Table("How long each phase took", (Column("Phase"), Column("Duration")), rows)


def users(run: RunInfo) -> Table:
    columns = tuple(Column(title) for title in ("User", "Role", "Group", "Destination", "Count", "Settings"))
    rows = tuple(
        (u.name, u.role, u.group, u.destination, str(u.count), ", ".join(f"{k}={v}" for k, v in u.settings.items()))
        for u in run.users
    )
    return Table("Users", columns, rows, "run.json names no users.")


def groups(run: RunInfo) -> Table:
    columns = (Column("Group"), Column("Enters at"), Column("Failover URI"))
    rows = tuple((g.name, ", ".join(g.enter_at), g.failover_uri or ABSENT) for g in run.groups)
    return Table("Client groups", columns, rows, "This topology has no client groups.")


def named(caption: str, values: Mapping[str, object]) -> Table:
    """Settings, versions or the machine: whatever run.json holds."""
    rows = tuple((name.replace("_bytes", "").replace("_", " "), _shown(name, values[name])) for name in values)
    return Table(caption, NAME_VALUE, rows, "run.json says nothing of it.")


def _shown(name: str, value: object) -> str:
    if name.endswith("_bytes") and isinstance(value, int | float) and not isinstance(value, bool):
        return bytes_text(value)
    return ABSENT if value is None or value == "" else str(value)


def rendered(run: RunInfo) -> tuple[tuple[tuple[str, str], ...], int]:
    """The configuration files as they were rendered, and how many were left out to keep the report small."""
    kept: list[tuple[str, str]] = []
    room = MOST_RENDERED_CHARACTERS
    for name, text in run.rendered.items():
        room -= len(text)
        if room >= 0:
            kept.append((name, text))
    return tuple(kept), len(run.rendered) - len(kept)
