"""The same tests of the Java clients in a process that gevent has patched, as Locust does before anything else."""

from pathlib import Path

import pytest

from tests.support.under_gevent import under_gevent

DRIVERS = Path(__file__).parents[1]
PATIENCE_S = 1_200  # a busy machine takes minutes; each test within has a limit of its own
pytestmark = [pytest.mark.brokers, pytest.mark.nightly, pytest.mark.timeout(PATIENCE_S + 60)]


@pytest.mark.parametrize(
    "tests",
    [
        pytest.param(["jvm/test_core_client.py"], id="clients of a load by core"),
        pytest.param(["jvm/test_loads.py", "-k", "core", "-m", "brokers"], id="the contract by core"),
        pytest.param(["jvm/test_openwire_client.py"], id="clients of a load by openwire"),
        pytest.param(["jvm/test_many.py"], id="hundreds that wait for a frozen broker"),
    ],
)
def test_java_clients_keep_their_word_under_gevent(tests: list[str]) -> None:
    under_gevent(DRIVERS, tests, timeout_s=PATIENCE_S)
