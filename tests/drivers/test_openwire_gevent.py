"""The same tests of the OpenWire clients in a process that gevent has patched, as Locust does before anything else."""

from pathlib import Path

import pytest

from tests.support.under_gevent import under_gevent

HERE = Path(__file__).parent
pytestmark = [pytest.mark.brokers, pytest.mark.nightly]


@pytest.mark.parametrize(
    "tests",
    [
        pytest.param(["test_openwire_client.py"], id="clients of a load by openwire"),
        pytest.param(["test_java_many.py"], id="hundreds that wait for a frozen broker"),
    ],
)
def test_openwire_clients_keep_their_word_under_gevent(tests: list[str]) -> None:
    under_gevent(HERE, tests, timeout_s=1_200)
