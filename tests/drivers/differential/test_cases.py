"""Checks that each failover option of STOMP and AMQP clients is compared with the Java client."""

import pytest

from drivers.failover.uri import OPTION_FIELDS, OPTION_NAMES
from tests.drivers.differential.cases import QUICK, SLOW

COMPARED_OTHERWISE = {
    "warnAfterReconnectAttempts": "by what is logged, not by what is done: test_client.py",
    "rebalanceUpdateURIs": "switched off, all that is honoured of it, it asks for nothing",
    "reconnectSupported": "as that",
    "trackTransactionProducers": "as that",
}
URIS = [case.uri for case in (*QUICK, *SLOW)]
HONOURED = [
    name
    for name in OPTION_NAMES
    if not OPTION_FIELDS[name].metadata["openwire_only"] or OPTION_FIELDS[name].default is True
]


@pytest.mark.parametrize("name", [*HONOURED, "{nested}"])
def test_every_option_that_is_honoured_has_a_case(name: str) -> None:
    played = any(f"{name}=" in uri or (name == "{nested}" and name in uri) for uri in URIS)
    assert played != (name in COMPARED_OTHERWISE)


def test_no_two_cases_have_one_name() -> None:
    names = [case.name for case in (*QUICK, *SLOW)]
    assert len(names) == len(set(names)) > 25
