"""Compares docs/drivers.md with the code: protocols, connection modes, and failover options with their defaults."""

import re
from pathlib import Path

from drivers.client.connection_modes import CONNECTION_MODES
from drivers.contract import Outcome
from drivers.failover.core_options import SUPPORTED
from drivers.failover.uri import OPENWIRE, OPTION_FIELDS, written
from drivers.protocols import PROTOCOLS

PAGE = (Path(__file__).parents[2] / "docs" / "drivers.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in row.split("|")[1:-1]]
    for row in PAGE.splitlines()
    if row.startswith("|") and not row.startswith("|---")
]
BY_FIRST = {name: row for row in ROWS for name in re.findall(r"`([^`]+)`", row[0])}
ANY = "updateURIsSupported"  # also honoured by other protocols, if it is false


def test_every_option_of_a_failover_uri_is_there() -> None:
    assert [name for name in OPTION_FIELDS if name not in BY_FIRST] == []


def test_options_have_the_defaults_that_the_page_says() -> None:
    ours = {name: own for name, own in OPTION_FIELDS.items() if own.metadata["by"] != OPENWIRE or name == ANY}
    defaults = {name: BY_FIRST[name][1].strip("`") for name in ours}
    assert defaults == {name: written(own.default) or "none" for name, own in ours.items()}


def test_options_of_openwire_alone_are_said_to_be() -> None:
    alone = [name for name, own in OPTION_FIELDS.items() if own.metadata["by"] == OPENWIRE and name != ANY]
    assert [name for name in alone if "only OpenWire" not in BY_FIRST[name][2]] == []


def test_options_that_core_refuses_are_marked() -> None:
    by = {name: own.metadata["by"] for name, own in OPTION_FIELDS.items()}
    refused = [name for name in OPTION_FIELDS if "core" not in by[name] and by[name] != OPENWIRE]
    assert [name for name in OPTION_FIELDS if "Core ✗" in BY_FIRST[name][2]] == refused


def test_every_option_of_cores_own_is_there() -> None:
    assert [name for name in sorted(SUPPORTED) if f"`{name}`" not in PAGE] == []


def test_every_protocol_connection_mode_and_outcome_has_a_row() -> None:
    wanted = (*PROTOCOLS, *CONNECTION_MODES, *Outcome)
    assert [name for name in wanted if name not in BY_FIRST] == []
