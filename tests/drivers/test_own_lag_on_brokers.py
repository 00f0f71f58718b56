"""Checks on a real broker that a producer that waits for its connection is not late."""

import random
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from drivers.client.contract import NoStatistics, ProducerSettings
from drivers.failover.uri import FailoverUri
from drivers.jvm import vm
from drivers.protocols import connector_of
from harness.java_parts import find_java_parts
from records.loads.send_schedule import Schedule
from records.store.reader import read_events, seal
from records.store.rundir import RunDirectory
from records.store.writer import Recorder
from tests.drivers.doubles import Control
from tests.drivers.java_bench import BROKER, RUN, SOON, address
from tests.support.relay import Relay
from tests.support.stomp_clients import queue
from tests.support.waiting import until
from topologies.model.trust import Trust
from topologies.runtimes.contract import Runtime

pytestmark = pytest.mark.brokers
vm.use(find_java_parts)
RATE_PER_S, MESSAGES, BEFORE, FAILED_ATTEMPTS = 200, 400, 40, 10


def with_an_outage(runtime: Runtime, protocol: str, folder: Path) -> dict[str, list[dict[str, Any]]]:
    """The events of a producer that loses its connection and fails to connect some times."""
    directory = RunDirectory.create(folder, "run")
    recorder = Recorder(directory, "main")
    host, _, port = address(runtime, BROKER, protocol).rpartition(":")
    with Relay((host, int(port))) as relay:
        scheme = "tcp" if protocol in SOON else protocol
        client = connector_of(protocol, Trust()).client(
            number=1,
            group="producers",
            uri=FailoverUri.parse(
                f"failover:({scheme}://127.0.0.1:{relay.port}){SOON.get(protocol, SOON['openwire'])}"
            ),
            brokers={f"127.0.0.1:{relay.port}": BROKER},
            credentials=runtime.credentials(),
            recorder=recorder,
            statistics=NoStatistics(),
            rng=random.Random(1),
            clock=time.perf_counter_ns,
        )
        client.open()
        producer = client.producer(queue("held"), ProducerSettings(100, MESSAGES), run=RUN)
        schedule = Schedule(time.perf_counter_ns(), RATE_PER_S, 0, MESSAGES)
        keep = threading.Thread(target=producer.run, args=(schedule, Control()), daemon=True)
        keep.start()
        until(lambda: producer.begun > BEFORE)
        relay.hang_ups = FAILED_ATTEMPTS
        relay.cut()
        keep.join(60)
        client.close()
    recorder.close()
    seal(directory)
    return {name: read_events(directory, name).to_pylist() for name in ("sends", "connections")}


# Core takes 30 s for an attempt that hangs up: jvm/test_own_lag.py has its rule.
@pytest.mark.parametrize("protocol", ["stomp", pytest.param("amqp", marks=pytest.mark.amqp), "openwire"])
def test_what_was_due_while_there_was_no_connection_is_ready_with_the_next_one(
    single_broker: Runtime, tmp_path: Path, protocol: str
) -> None:
    tables = with_an_outage(single_broker, protocol, tmp_path)
    at_ns = {
        name: [row["at_ns"] for row in tables["connections"] if row["event"] == name] for name in ("lost", "connected")
    }
    lost_ns, back_ns = at_ns["lost"][0], at_ns["connected"][-1]
    first_attempts = [row for row in tables["sends"] if row["attempt"] == 1]
    waited = [row for row in first_attempts if lost_ns < row["due_ns"] < back_ns < row["sent_ns"]]
    assert waited
    later = waited[len(waited) // 2 :]  # the first ones may have been due before their producer woke late
    assert all(back_ns <= row["ready_ns"] <= row["sent_ns"] for row in later)
    assert all(row["ready_ns"] <= row["sent_ns"] for row in first_attempts)
