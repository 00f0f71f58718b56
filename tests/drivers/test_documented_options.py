"""Compares docs/drivers.md with the code: protocols, connection modes, outcomes, and Core's own failover options."""

import re
from pathlib import Path

from drivers.client.connection_modes import CONNECTION_MODES
from drivers.contract import Outcome
from drivers.failover.core_options import SUPPORTED
from drivers.protocols import PROTOCOLS

PAGE = (Path(__file__).parents[2] / "docs" / "drivers.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in row.split("|")[1:-1]]
    for row in PAGE.splitlines()
    if row.startswith("|") and not row.startswith("|---")
]
BY_FIRST = {name: row for row in ROWS for name in re.findall(r"`([^`]+)`", row[0])}


def test_every_option_of_cores_own_is_there() -> None:
    assert [name for name in sorted(SUPPORTED) if f"`{name}`" not in PAGE] == []


def test_every_protocol_connection_mode_and_outcome_has_a_row() -> None:
    wanted = (*PROTOCOLS, *CONNECTION_MODES, *Outcome)
    assert [name for name in wanted if name not in BY_FIRST] == []
