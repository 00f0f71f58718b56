"""The same tests of the driver in a process that gevent has patched, as Locust does before anything else."""

from pathlib import Path

import pytest

from tests.support.under_gevent import under_gevent

DRIVERS = Path(__file__).parents[1]
ON_BROKERS = [pytest.mark.brokers, pytest.mark.nightly]


@pytest.mark.parametrize(
    "tests",
    [
        pytest.param(["stomp/test_conversations.py"], id="by hand"),
        pytest.param(["stomp/test_transactions.py"], id="transactions"),
        pytest.param(["stomp/test_tls.py"], id="over TLS"),
        pytest.param(["stomp/test_brokers.py"], id="on a broker", marks=ON_BROKERS),
        pytest.param(
            [
                "conformance",
                "-k",
                "stomp and not on-artemis and not amqp and not openwire and not full",
                "-m",
                "brokers",
            ],
            id="the whole suite",
            marks=ON_BROKERS,
        ),
    ],
)
def test_the_driver_keeps_its_word_under_gevent(tests: list[str]) -> None:
    under_gevent(DRIVERS, tests)
