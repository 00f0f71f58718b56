"""What do so many users cost in this process? One Locust runner with COUNT producers of 1 message/s and a consumer.

``python -m benchmarks.connections_users PROTOCOL URI COUNT``, with the password on standard input; prints a Markdown
row. What a first connection takes with it (a JVM, libraries) is there before memory is measured.
"""

from locust.env import Environment  # isort: skip  # first: it has gevent patch what the others import

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import gevent
import psutil

from benchmarks.stomp_users import GROUP, QUEUE, Receiver
from benchmarks.stopwatch import USER
from drivers import java_vm
from drivers.habits import ONE
from drivers.protocols import Spoken, connectors_of
from drivers.session import Go, Network, Session, Window, attach
from drivers.users import ProducerUser
from records.buckets import upper_ns
from records.rundir import RunDirectory
from records.writer import Recorder
from scenarios.java_parts import find_java_parts
from topologies.endpoints import Credentials
from topologies.trust import Trust

MEASURED_S, SETTLING_S, GIVE_UP_S, SPAWNED_PER_S = 10.0, 3.0, 120.0, 500
NS_PER_MS = 1e6


class EachSecond(ProducerUser):
    group, destination = GROUP, QUEUE
    body_bytes, durable, sends_per_second = 1_024, False, 1.0


def session_for(protocol: str, uri: str, password: str, recorder: Recorder) -> Session:
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
        process_index=0,
        clock=time.perf_counter_ns,
    )


def cpu_share() -> float:
    """CPU of this process over the time measured, as a share of one core."""
    began_s, cpu_s = time.perf_counter(), time.process_time()
    gevent.sleep(MEASURED_S)
    return (time.process_time() - cpu_s) / (time.perf_counter() - began_s)


def lag_ms(session: Session, share: float) -> float:
    """The lag below which this share of the sends was, to the upper edge of its bucket."""
    left = share * session.tally.lag.total()
    for bucket, sends in sorted(session.tally.lag.items()):
        left -= sends
        if left <= 0:
            return upper_ns(bucket) / NS_PER_MS
    raise ValueError("nothing was sent")


def wait(session: Session, done: Callable[[], bool]) -> None:
    ends_s = time.monotonic() + GIVE_UP_S
    while not done():
        assert not session.problems, session.problems
        assert time.monotonic() < ends_s, session.tally
        gevent.sleep(0.01)


def measure(protocol: str, uri: str, password: str, count: int, recorder: Recorder) -> str:
    EachSecond.fixed_count = count
    runner = Environment(user_classes=[EachSecond, Receiver]).create_local_runner()
    session = session_for(protocol, uri, password, recorder)
    attach(runner.environment, session)
    first = session.seat("producer", GROUP, ONE)
    first.open()
    before_bytes, began_s = psutil.Process().memory_info().rss, time.perf_counter()
    runner.start(count + 1, spawn_rate=SPAWNED_PER_S)
    wait(session, lambda: session.tally.ready.total() == count + 1)
    connected_s = time.perf_counter() - began_s
    each_kib = (psutil.Process().memory_info().rss - before_bytes) / (count + 1) / 1_024
    idle = cpu_share()
    now_ns, load_ns = time.perf_counter_ns(), round((SETTLING_S + MEASURED_S + 1) * 1e9)
    session.go(Go(Window(now_ns, now_ns, now_ns + load_ns)))
    gevent.sleep(SETTLING_S)
    session.tally.lag.clear()  # of first messages, for which links are attached and code is compiled
    busy = cpu_share()
    wait(session, lambda: session.tally.finished_producers == count and session.tally.received == session.tally.sent)
    assert session.tally.missed == 0, session.tally
    lags = f"{lag_ms(session, 0.5):.2f} ms | {lag_ms(session, 0.99):.2f} ms"
    runner.stop()
    first.close()
    cost = f"{each_kib:.0f} KiB | {idle:.1%} of a core | {busy:.1%} of a core"
    return f"| `{protocol}` | {count + 1:,} | {connected_s:.1f} s | {cost} | {lags} |"


def main(protocol: str, uri: str, count: int) -> None:
    password = sys.stdin.readline().strip()
    java_vm.use(find_java_parts)
    with tempfile.TemporaryDirectory() as folder:
        recorder = Recorder(RunDirectory.create(Path(folder), "run"), "main")
        recorder.start()
        print(measure(protocol, uri, password, count, recorder))
        recorder.close()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
