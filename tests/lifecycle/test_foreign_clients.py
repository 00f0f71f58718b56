"""Checks the report about clients outside the run, planted with stomp.py on existing brokers."""

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import stomp

from tests.lifecycle.test_external import run_on, write_brokers_file
from tests.support.brokers import running, stomp_upstream
from tests.support.waiting import until
from topologies.catalogue.lookup import build
from topologies.runtimes.contract import Runtime

pytestmark = [pytest.mark.brokers, pytest.mark.spark]
QUEUE = {"single": "/queue/steady", "artemis-single": "steady"}
TOPOLOGIES = pytest.mark.parametrize("entry", QUEUE)


class ForeignClient(stomp.ConnectionListener):  # type: ignore[misc]
    """A client without brokerbench."""

    def __init__(self, broker: Runtime, entry: str) -> None:
        self._queue = QUEUE[entry]
        self._to_queue = {"destination-type": "ANYCAST"} if entry == "artemis-single" else {}
        self._as_subscriber = {"subscription-type": "ANYCAST"} if entry == "artemis-single" else {}
        self.received = 0
        login = broker.credentials()
        self._connection = stomp.Connection12([stomp_upstream(broker, "broker-1")])
        self._connection.set_listener("stranger", self)
        self._connection.connect(login.username, login.password, wait=True, headers={"client-id": "stranger"})

    def send(self, count: int) -> None:
        for number in range(count):
            self._connection.send(self._queue, f"hello {number}", headers=self._to_queue, receipt=str(number))

    def listen(self) -> None:
        self._connection.subscribe(self._queue, id="1", ack="auto", headers=self._as_subscriber)

    def on_message(self, frame: object) -> None:
        self.received += 1

    def leave(self) -> None:
        self._connection.disconnect()


def in_load(folder: Path, act: Callable[[], None]) -> threading.Thread:
    """Do something once the run has begun to send."""

    def wait_and_act() -> None:
        until(lambda: any(path.stat().st_size > 20_000 for path in (folder / "runs").glob("*/streams/receipts/*")))
        act()

    thread = threading.Thread(target=wait_and_act)
    thread.start()
    return thread


@pytest.mark.nightly  # harness/test_occupied.py and analysis/test_planted_errors.py cover the parts
@TOPOLOGIES
def test_messages_of_another_client_are_foreign_and_disturb_the_run(entry: str, tmp_path: Path) -> None:
    """50 wait on the queue before the run, which is rejected until they may be removed. 40 are sent during the load."""
    with running(entry, tmp_path, memory_mb=200) as broker:
        stranger, file = ForeignClient(broker, entry), write_brokers_file(broker, build(entry), tmp_path)
        stranger.send(50)
        rejected = run_on(file, entry)
        assert rejected.status == 2, rejected.output
        assert "queue 'steady' of broker-1 holds 50 messages; the run would receive" in rejected.output
        (tmp_path / "runs").rename(tmp_path / "rejected")
        sending = in_load(tmp_path, lambda: stranger.send(40))
        outcome = run_on(file, entry, "--empty-queues", "-t", "6s")
        sending.join()
        stranger.leave()
    messages = outcome.summary["messages"]
    assert (messages["foreign"], messages["corrupted"], messages["lost"]) == (40, 0, 0), outcome.output
    assert messages["received"] == messages["acked"]
    assert outcome.summary["verdict"] == "unknown"
    (reason,) = outcome.summary["reasons"]
    assert "40 received from queue://steady at broker-1" in reason
    assert (
        "a foreign message was received from queue://steady at broker-1: b'hello 0' (7 bytes)"
        in outcome.info["warnings"]
    )


@pytest.mark.nightly  # harness/test_other_consumers.py and analysis/test_accounting.py cover the parts
@TOPOLOGIES
def test_messages_that_another_consumer_takes_are_not_lost(entry: str, tmp_path: Path) -> None:
    with running(entry, tmp_path, memory_mb=200) as broker:
        strangers: list[ForeignClient] = []

        def take_some() -> None:
            strangers.append(ForeignClient(broker, entry))
            strangers[0].listen()
            time.sleep(2.5)
            strangers[0].leave()

        taking = in_load(tmp_path, take_some)
        outcome = run_on(write_brokers_file(broker, build(entry), tmp_path), entry, "-t", "8s")
        taking.join()
    messages = outcome.summary["messages"]
    assert strangers[0].received > 20, outcome.output
    assert (messages["lost"], messages["unaccounted"]) == (0, strangers[0].received)
    assert outcome.summary["verdict"] == "unknown"
    reasons = " ".join(outcome.summary["reasons"])
    assert "clients outside this run consumed from its queues" in reasons
    assert "'stranger' at " in reasons
    assert "127.0.0.1:" in reasons
    assert "of queue 'steady' on broker-1" in reasons


@pytest.mark.nightly
@TOPOLOGIES
def test_two_runs_do_not_share_a_queue(entry: str, tmp_path: Path) -> None:
    """The second one is rejected, and the first one passes."""
    with running(entry, tmp_path, memory_mb=200) as broker:
        for name in ("first", "second"):
            (tmp_path / name).mkdir()
        files = [write_brokers_file(broker, build(entry), tmp_path / name) for name in ("first", "second")]
        second = []
        starting = in_load(tmp_path / "first", lambda: second.append(run_on(files[1], entry)))
        first = run_on(files[0], entry, "-t", "30s")
        starting.join()
    assert second[0].status == 2, second[0].output
    assert "queue 'steady' of broker-1 has the consumer 'brokerbench-" in second[0].output
    assert (first.summary["verdict"], first.status) == ("pass", 0), first.output
