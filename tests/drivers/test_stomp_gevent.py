"""The same tests of the driver in a process that gevent has patched, as Locust does before anything else."""

from pathlib import Path

import pytest

from tests.support.under_gevent import under_gevent

HERE = Path(__file__).parent
ON_BROKERS = [pytest.mark.brokers, pytest.mark.nightly]


@pytest.mark.parametrize(
    "tests",
    [
        pytest.param(["test_stomp_conversations.py"], id="by hand"),
        pytest.param(["test_stomp_transactions.py"], id="transactions"),
        pytest.param(["test_stomp_tls.py"], id="over TLS"),
        pytest.param(["test_stomp_brokers.py"], id="on a broker", marks=ON_BROKERS),
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
    under_gevent(HERE, tests)
