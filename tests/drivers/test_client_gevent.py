"""Clients live in Locust, where threads are greenlets: their tests pass there too."""

from pathlib import Path

from tests.support.under_gevent import under_gevent

NAMES = ("client", "producer", "consumer", "memory", "transacted", "redirects")


def test_the_tests_of_clients_pass_under_gevent() -> None:
    under_gevent(Path(__file__).parent, [*(f"test_{name}.py" for name in NAMES), "--timeout=120"])
