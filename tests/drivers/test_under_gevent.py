"""Runs tests of the drivers in a process that gevent has patched, as Locust does before anything else."""

from pathlib import Path

import pytest

from drivers.client.loop_waits import due_timer, let_others_run
from tests.support.under_gevent import under_gevent

NIGHTLY = pytest.mark.nightly
BROKERS_TIMEOUT_S = 1_200  # a busy machine takes minutes; each test within has a limit of its own
CLIENTS = ("client", "producer", "consumer", "memory", "transacted", "updated_uris")
SUITE = "conformance/test"
BY_HAND = ("amqp/test_conversations.py", "amqp/test_transactions.py", "amqp/test_redirects.py")
BY_AMQP = "amqp and not on-artemis and not amqp:stomp and not stomp:amqp"
BY_STOMP = "stomp and not on-artemis and not amqp and not openwire and not full"


@pytest.mark.parametrize(
    "tests",
    [
        pytest.param([f"test_{name}.py" for name in CLIENTS], id="clients"),
        pytest.param(["users_under_gevent.py", "test_connection_modes.py"], id="users"),
        pytest.param(["loop_waits_under_gevent.py"], id="loop waits"),
        pytest.param(["stall_sampler_under_gevent.py"], id="stalls"),
        pytest.param(["stomp/test_conversations.py"], id="stomp by hand"),
        pytest.param(
            ["stomp/test_transactions.py", f"{SUITE}_answers_to_transactions.py", "-k", "not amqp"],
            id="stomp transactions",
        ),
        pytest.param(["stomp/test_tls.py", f"{SUITE}_ports.py", "-k", "not amqp"], id="stomp over TLS"),
        pytest.param(
            [*BY_HAND, f"{SUITE}_answers_to_transactions.py", f"{SUITE}_ports.py", "-k", "not stomp"],
            id="amqp by hand",
            marks=NIGHTLY,  # the clients are in make test
        ),
    ],
)
def test_drivers_keep_their_word_under_gevent(tests: list[str]) -> None:
    under_gevent(Path(__file__).parent, [*tests, "--timeout=230"])


def test_without_gevents_patches_there_is_no_timer_and_a_turn_ends_at_once() -> None:
    assert due_timer() is None
    let_others_run()


@pytest.mark.brokers
@pytest.mark.nightly
@pytest.mark.timeout(BROKERS_TIMEOUT_S + 60)
@pytest.mark.parametrize(
    "tests",
    [
        pytest.param(["conformance", "-k", BY_STOMP, "-m", "brokers"], id="stomp suite"),
        pytest.param(["conformance", "-k", BY_AMQP, "-m", "brokers"], id="amqp suite"),
        # More connections in one process than select() could wait for.
        pytest.param(["many_under_gevent.py"], id="many amqp connections"),
        pytest.param(["jvm/test_core_client.py"], id="clients of a load by core"),
        # AMQP too, as bodies cross between it and Core.
        pytest.param(
            ["jvm/test_loads.py", "-k", "core", "-m", "brokers"], id="the contract by core", marks=pytest.mark.amqp
        ),
        pytest.param(["jvm/test_openwire_client.py"], id="clients of a load by openwire"),
        pytest.param(["jvm/test_many.py", "-k", "frozen"], id="hundreds that wait for a frozen broker"),
    ],
)
def test_drivers_keep_their_word_under_gevent_on_brokers_and_in_java(tests: list[str]) -> None:
    under_gevent(Path(__file__).parent, tests, timeout_s=BROKERS_TIMEOUT_S)
