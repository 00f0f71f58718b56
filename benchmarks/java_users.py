"""Measures the users of a Java client in this project: a Locust runner with one producer and one consumer.

It reads the password from standard input, and prints one line of JSON: the figures of `benchmarks.stopwatch` and the
lag. The lag is meaningful only with a RATE.
"""

from benchmarks.stomp_users import AT_ONCE_PER_S, Receiver, Sender, messages_through, session_for  # isort: skip  # patches

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from locust.env import Environment

from benchmarks.arguments import Parser, number, whole
from drivers.jvm import vm
from harness.java_parts import find_java_parts
from records.store.reader import read_events, seal
from records.store.rundir import RunDirectory
from records.store.writer import Recorder


def lag_ms(directory: RunDirectory) -> dict[str, Any]:
    """Return the lag of sends (p50, p99 and p99.9 in ms) and the number of sends and receipts."""
    seal(directory)
    sends, receipts = read_events(directory, "sends"), read_events(directory, "receipts")
    late = (sends["sent_ns"].to_numpy() - sends["due_ns"].to_numpy()) / 1e6
    quantiles = {f"lag_p{q:g}_ms": float(np.percentile(late, q)) for q in (50, 99, 99.9)}
    return {**quantiles, "sends": len(sends), "receipts": len(receipts)}


def main(protocol: str, uri: str, count: int, durable: bool, in_flight: int, rate: float, warm_up: int) -> None:
    password = sys.stdin.readline().strip()
    vm.use(find_java_parts)
    Sender.durable, Sender.in_flight, Sender.sends_per_second = durable, in_flight, rate or AT_ONCE_PER_S
    runner = Environment(user_classes=[Sender, Receiver]).create_local_runner()

    def measured(folder: Path, messages: int) -> dict[str, Any]:
        directory = RunDirectory.create(folder, "run")
        recorder = Recorder(directory, "main")
        recorder.start()
        figures = json.loads(messages_through(runner, session_for(protocol, uri, password, recorder), messages))
        recorder.close()
        return {**figures, **lag_ms(directory)}

    with tempfile.TemporaryDirectory() as folder:
        if warm_up:
            measured(Path(folder) / "warm-up", warm_up)
        print(json.dumps(measured(Path(folder) / "load", count)))


if __name__ == "__main__":
    parser = Parser("java_users", __doc__)
    parser.add_protocol(("openwire", "core"))
    parser.add_broker_load()
    parser.add_argument("in_flight", type=whole(1), metavar="IN_FLIGHT", help="limit of unanswered durable sends")
    parser.add_argument("rate", type=number, metavar="RATE", help="messages per second; 0: all are due at once")
    parser.add_argument("warm_up", type=whole(0), metavar="WARM_UP", help="messages sent before the measurement")
    options = parser.parse_args()
    load = options.kind == "durable", options.in_flight, options.rate, options.warm_up
    main(options.protocol, options.uri, options.count, *load)
