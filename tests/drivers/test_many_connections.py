"""More connections in one process than select() could wait for, under gevent as in Locust."""

from pathlib import Path

import pytest

from tests.support.under_gevent import under_gevent


@pytest.mark.brokers
@pytest.mark.nightly
def test_the_test_of_many_connections_passes_under_gevent() -> None:
    under_gevent(Path(__file__).parent, ["many_under_gevent.py", "--timeout=230"])
