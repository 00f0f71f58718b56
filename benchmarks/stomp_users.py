"""Measures the STOMP users of this project: a Locust runner with one producer and one consumer.

It reads the password from standard input, and prints one line of JSON (`benchmarks.stopwatch`). The users work as in a
scenario, including Locust's request events and statistics. They connect to a broker that is already running. Proving
paths, draining queues and the analysis are left out. With a RATE of 0 all messages are due at once, so the producer is
always late and sends as fast as it can. ``unrecorded``: the recorder discards everything.
"""

from locust.env import Environment  # isort: skip  # first: it makes gevent patch the modules that the others import

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import gevent

from benchmarks.arguments import Parser, number, one_of
from benchmarks.stopwatch import BODY_BYTES, IN_FLIGHT, PREFETCH, USER, WARM_UP, Stopwatch
from drivers.protocols import Spoken, connectors_of
from drivers.users.locust_users import ConsumerUser, ProducerUser
from drivers.users.session import Go, Network, Session, Window, attach
from records.store.rundir import RunDirectory
from records.store.writer import Recorder
from topologies.model.endpoints import Credentials
from topologies.model.trust import Trust

MODES = ("recorded", "unrecorded")
AT_ONCE_PER_S = 10_000_000.0
GROUP = "benchmark"
QUEUE = f"queue://benchmark.{time.time_ns()}"
GIVE_UP_S = 120.0


class Sender(ProducerUser):
    group, destination, fixed_count = GROUP, QUEUE, 1
    body_bytes, in_flight = BODY_BYTES, IN_FLIGHT


class Receiver(ConsumerUser):
    group, destination, fixed_count = GROUP, QUEUE, 1
    prefetch: ClassVar[int] = PREFETCH


class Forgetful(Recorder):
    """A recorder that discards everything. The time saved is the cost of recording."""

    def send(self, *_: Any) -> None:
        """Discard the send."""

    def receipt(self, *_: Any) -> None:
        """Discard the receipt."""


def session_for(protocol: str, uri: str, password: str, recorder: Recorder, process_index: int = 0) -> Session:
    """Return a session for users of `GROUP` on the broker at ``uri``."""
    spoken = Spoken.parse(protocol)
    network = Network(
        spoken=spoken,
        credentials=Credentials(USER, password),
        failover_uris={protocol: {GROUP: f"failover:({uri})"}},
        broker_names={uri.partition("://")[2].partition("?")[0]: "broker"},
    )
    return Session(
        network=network,
        connectors=connectors_of(spoken, Trust()),
        recorder=recorder,
        run_number=1,
        seed=1,
        process_index=process_index,
        clock=time.perf_counter_ns,
    )


def messages_through(runner: Any, session: Session, count: int) -> str:
    """Start the users, wait until ``count`` messages were sent and received, and stop them.

    Returns the output of `Stopwatch.stop`.
    """
    attach(runner.environment, session)
    runner.start(2, spawn_rate=2)
    _wait(session, lambda: len(session.tally.ready) == 2)
    now_ns = time.perf_counter_ns()
    stopwatch = Stopwatch()
    session.go(Go(Window(now_ns, now_ns, None), count, {Sender.__name__: 1}, {Sender.__name__: 0}))
    _wait(session, lambda: session.tally.received >= count)
    figures = stopwatch.stop(count)
    runner.stop()
    return figures


def _wait(session: Session, is_done: Callable[[], bool]) -> None:
    ends_s = time.monotonic() + GIVE_UP_S
    while not is_done():
        assert not session.problems, session.problems
        assert time.monotonic() < ends_s, session.tally
        gevent.sleep(0.002)


def main(mode: str, uri: str, count: int, durable: bool, rate: float) -> None:
    password = sys.stdin.readline().strip()
    Sender.durable, Sender.sends_per_second = durable, rate or AT_ONCE_PER_S
    runner = Environment(user_classes=[Sender, Receiver]).create_local_runner()
    with tempfile.TemporaryDirectory() as folder:
        kind = Recorder if mode == "recorded" else Forgetful
        recorder = kind(RunDirectory.create(Path(folder), "run"), "main")
        recorder.start()
        protocol = uri.partition("://")[0]
        messages_through(runner, session_for(protocol, uri, password, recorder), WARM_UP)
        print(messages_through(runner, session_for(protocol, uri, password, recorder, process_index=1), count))
        recorder.close()


if __name__ == "__main__":
    parser = Parser("stomp_users", __doc__)
    parser.add_argument("mode", type=one_of(MODES), metavar="MODE", help=" or ".join(MODES))
    parser.add_broker_load()
    parser.add_argument("rate", type=number, metavar="RATE", help="messages per second; 0: all are due at once")
    options = parser.parse_args()
    main(options.mode, options.uri, options.count, options.kind == "durable", options.rate)
