"""Locust's users live under gevent, as everything in Locust: their tests run in a process that it has patched."""

from pathlib import Path

from tests.support.under_gevent import under_gevent


def test_the_tests_of_users_and_of_their_connection_modes_pass_under_gevent() -> None:
    under_gevent(Path(__file__).parent, ["users_under_gevent.py", "test_connection_modes.py", "--timeout=120"])
