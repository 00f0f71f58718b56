"""The same tests of the driver in a process that gevent has patched, as Locust does before anything else."""

from pathlib import Path

import pytest

from tests.support.under_gevent import under_gevent

DRIVERS = Path(__file__).parents[1]


@pytest.mark.parametrize(
    "tests",
    [
        pytest.param(
            [
                "amqp/test_conversations.py",
                "amqp/test_troubles.py",
                "amqp/test_transactions.py",
                "amqp/test_redirects.py",
            ],
            id="by hand",
            marks=pytest.mark.nightly,  # test_client_gevent.py has the clients
        ),
        pytest.param(["amqp/test_brokers.py"], id="on a broker", marks=[pytest.mark.brokers, pytest.mark.nightly]),
        pytest.param(
            ["conformance", "-k", "amqp and not on-artemis and not amqp:stomp and not stomp:amqp", "-m", "brokers"],
            id="the whole suite",
            marks=[pytest.mark.brokers, pytest.mark.nightly],
        ),
    ],
)
def test_the_driver_keeps_its_word_under_gevent(tests: list[str]) -> None:
    under_gevent(DRIVERS, tests)
