"""Shares running brokers with all tests, and stops Locust from patching the tests' process with gevent.

Property tests have no deadline: a busy machine may pause for seconds during any example.
"""

import os

os.environ["LOCUST_SKIP_MONKEY_PATCH"] = "1"  # importing Locust would turn every socket of the tests to gevent

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.support.brokers import running
from topologies.runtimes.contract import Runtime
from topologies.runtimes.prepared import render_for_topics

pytest_plugins = ["tests.support.tiers", "tests.support.hiding"]

if (Path(__file__).parents[1] / "build" / "no-registry").exists():  # .ci/docker-engine.sh could pull no image
    os.environ["TESTCONTAINERS_RYUK_DISABLED"] = "true"  # Ryuk is an image

settings.register_profile("busy", settings.default, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy")


@pytest.fixture(scope="session")
def single_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runtime]:
    """The catalogue's ``single``, for all tests that leave it running; its broker is named ``broker-1``.

    Use queues and topics of your own. It stamps no path on messages, as topics have several subscribers here. A test
    that kills it has a broker of its own (`tests.support.brokers.running`).
    """
    with running("single", tmp_path_factory.mktemp("single"), renderer=render_for_topics) as runtime:
        yield runtime


@pytest.fixture(scope="session")
def single_artemis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runtime]:
    """The same of Artemis: the catalogue's ``artemis-single``."""
    with running("artemis-single", tmp_path_factory.mktemp("artemis")) as runtime:
        yield runtime
