"""How fast are this project's own OpenWire users? A process of its own: Locust with one producer and one consumer.

``python -m benchmarks.openwire_users URI COUNT durable|non-durable IN_FLIGHT RATE``, with the password on standard
input; prints one JSON line: `benchmarks.stopwatch`, and the lag, which means something at a RATE (messages a second; 0:
all is due at once). Only at a rate there is a warm-up: the tools beside which this stands have none.
"""

from benchmarks.stomp_users import AT_ONCE_PER_S, GROUP, Receiver, Sender, messages_through  # isort: skip  # patches

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from locust.env import Environment

from benchmarks.stopwatch import USER
from drivers import java_vm
from drivers.openwire import OpenWireConnector
from drivers.protocols import Spoken
from drivers.session import Network, Session
from records.reader import read_events, seal
from records.rundir import RunDirectory
from records.writer import Recorder
from scenarios.java_parts import find_java_parts
from topologies.endpoints import Credentials

PACED_WARM_UP_S = 5


def session_for(uri: str, password: str, recorder: Recorder) -> Session:
    network = Network(
        spoken=Spoken.parse("openwire"),
        credentials=Credentials(USER, password),
        failover_uris={"openwire": {GROUP: f"failover:({uri})"}},
        broker_names={uri.partition("://")[2]: "broker"},
    )
    return Session(
        network=network,
        connectors={"openwire": OpenWireConnector()},
        recorder=recorder,
        run_number=1,
        seed=1,
        process_index=0,
        clock=time.perf_counter_ns,
    )


def lag_ms(directory: RunDirectory) -> dict[str, Any]:
    """How late messages were sent: p50, p99, p99.9 in ms; and how many rows there are of each table."""
    seal(directory)
    sends, receipts = read_events(directory, "sends"), read_events(directory, "receipts")
    late = (sends["sent_ns"].to_numpy() - sends["due_ns"].to_numpy()) / 1e6
    quantiles = {f"lag_p{q:g}_ms": float(np.percentile(late, q)) for q in (50, 99, 99.9)}
    return {**quantiles, "sends": len(sends), "receipts": len(receipts)}


def main(uri: str, count: int, durable: bool, in_flight: int, rate: float) -> None:
    password = sys.stdin.readline().strip()
    java_vm.use(find_java_parts)
    Sender.durable, Sender.in_flight, Sender.sends_per_second = durable, in_flight, rate or AT_ONCE_PER_S
    runner = Environment(user_classes=[Sender, Receiver]).create_local_runner()
    with tempfile.TemporaryDirectory() as folder:
        if rate:
            measured(runner, uri, password, Path(folder) / "warm-up", int(rate * PACED_WARM_UP_S))
        print(json.dumps(measured(runner, uri, password, Path(folder) / "load", count)))


def measured(runner: Any, uri: str, password: str, folder: Path, count: int) -> dict[str, Any]:
    """So many messages, recorded in that folder."""
    directory = RunDirectory.create(folder, "run")
    recorder = Recorder(directory, "main")
    recorder.start()
    figures = json.loads(messages_through(runner, session_for(uri, password, recorder), count))
    recorder.close()
    return {**figures, **lag_ms(directory)}


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3] == "durable", int(sys.argv[4]), float(sys.argv[5]))
