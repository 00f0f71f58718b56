"""Checks that runs pass on unchanged brokers from their archives, with the commands of docs/own-broker.md."""

from collections.abc import Iterator

import pytest

from tests.support.locust_run import make_run, nothing_left
from tests.support.stock_brokers import StockBroker, stock_artemis, stock_classic

pytestmark = [pytest.mark.brokers, pytest.mark.spark]
AMQP = pytest.param("amqp", marks=pytest.mark.amqp)
SHORT = ("-t", "4s", "--warm-up", "1", "--producers", "4", "--consumers", "4", "--rate", "200")


@pytest.fixture(scope="module")
def classic(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StockBroker]:
    with stock_classic(tmp_path_factory.mktemp("classic")) as broker:
        yield broker


@pytest.fixture(scope="module")
def artemis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StockBroker]:
    with stock_artemis(tmp_path_factory.mktemp("artemis")) as broker:
        yield broker


def steady_passes(broker: StockBroker, topology: str, protocol: str) -> None:
    runs = broker.brokers_file.parent / f"runs-{protocol}"
    where = ("--runtime", "external", "--brokers-file", str(broker.brokers_file), "--topology", topology)
    outcome = make_run("scenarios/steady.py", *where, *SHORT, "--protocol", protocol, runs=runs)
    assert (outcome.summary["verdict"], outcome.status) == ("pass", 0), outcome.output
    messages = outcome.summary["messages"]
    assert (messages["duplicated"], messages["received"]) == (0, messages["sent"])
    assert messages["sent"] > 700
    assert broker.runs()
    assert nothing_left(runs)


def failover_passes(broker: StockBroker, topology: str, protocol: str) -> None:
    """The user's own script kills the broker and starts it again in the background."""
    runs = broker.brokers_file.parent / f"runs-failover-{protocol}"
    where = ("--runtime", "external", "--brokers-file", str(broker.brokers_file), "--topology", topology)
    fault = ("--fault", f"command({broker.restart}, target=broker-1, at=4, expect=60)", "-t", "24s", "--warm-up", "1")
    outcome = make_run("scenarios/failover.py", *where, *fault, "--protocol", protocol, runs=runs)
    assert (outcome.summary["verdict"], outcome.status) == ("pass", 0), outcome.output
    (recovery,) = outcome.summary["recovery"]["faults"]
    assert (recovery["kind"], recovery["cut_off"], recovery["clients"]) == ("command", 36, 36)
    assert outcome.summary["messages"]["lost"] == 0
    assert broker.runs(), "it runs on after the script, and after the run"
    assert nothing_left(runs)


def test_a_stock_artemis_delivers_each_message_once(artemis: StockBroker) -> None:
    """By STOMP, although its acceptor has no prefixes that distinguish queues from topics."""
    steady_passes(artemis, "artemis-single", "stomp")


@pytest.mark.nightly
@pytest.mark.parametrize("protocol", ["openwire", "core", AMQP])
def test_a_stock_artemis_by_every_protocol(artemis: StockBroker, protocol: str) -> None:
    steady_passes(artemis, "artemis-single", protocol)


@pytest.mark.nightly
@pytest.mark.parametrize("protocol", ["stomp", "openwire", AMQP])
def test_a_stock_classic_by_every_protocol(classic: StockBroker, protocol: str) -> None:
    steady_passes(classic, "single", protocol)


@pytest.mark.nightly  # test_external.py has a fault by a command
def test_a_stock_classic_that_its_user_restarts(classic: StockBroker) -> None:
    failover_passes(classic, "single", "stomp")


@pytest.mark.nightly
@pytest.mark.parametrize("protocol", ["openwire", AMQP])
def test_a_restarted_stock_classic_by_every_protocol(classic: StockBroker, protocol: str) -> None:
    failover_passes(classic, "single", protocol)


@pytest.mark.nightly
@pytest.mark.parametrize("protocol", ["stomp", "openwire", "core", AMQP])
def test_a_restarted_stock_artemis(artemis: StockBroker, protocol: str) -> None:
    failover_passes(artemis, "artemis-single", protocol)
