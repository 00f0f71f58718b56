"""Checks that each failover option of STOMP and AMQP clients is compared with the Java client."""

import pytest

from drivers.failover.uri import OPTION_FIELDS
from tests.drivers.differential.cases import QUICK, SLOW

LOGGED_ONLY = "warnAfterReconnectAttempts"  # test_client.py checks the log
OFF_FOR_ALL = "updateURIsSupported"  # only OpenWire supports true; false changes all clients
HONOURED_BY_BOTH = [name for name, own in OPTION_FIELDS.items() if own.metadata["by"] >= {"stomp", "amqp", "openwire"}]
URIS = [case.uri for case in (*QUICK, *SLOW)]


@pytest.mark.parametrize("name", [*HONOURED_BY_BOTH, OFF_FOR_ALL])
def test_every_option_that_both_honour_has_a_case(name: str) -> None:
    assert any(f"{name}=" in uri for uri in URIS) != (name == LOGGED_ONLY)


def test_nested_options_have_a_case() -> None:
    assert any("{nested}" in uri for uri in URIS)


def test_no_two_cases_have_one_name() -> None:
    names = [case.name for case in (*QUICK, *SLOW)]
    assert len(names) == len(set(names)) > 25
