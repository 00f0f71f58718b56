"""Runs COUNT producers of 1 message/s and a consumer in this process, and prints their memory, CPU and lag.

It reads the password from standard input, and prints a Markdown row. Before memory is measured, a first connection
loads the JVM or the libraries. Lag is computed from the recorded sends, without the first seconds, in which links are
attached and code is compiled.
"""

from records.units import NS_PER_MS

from locust.env import Environment  # isort: skip  # first: it makes gevent patch the modules that the others import

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gevent
import numpy as np
import psutil

from benchmarks.arguments import Parser, above_0, whole
from benchmarks.one_broker import REAL_PROTOCOLS
from benchmarks.stomp_users import GROUP, QUEUE, Receiver, session_for
from drivers.client.connection_modes import ONE
from drivers.jvm import vm
from drivers.users.locust_users import ProducerUser
from drivers.users.session import Go, Session, Window, attach
from harness.java_parts import find_java_parts
from records.store.reader import read_events, seal
from records.store.rundir import RunDirectory
from records.store.writer import Recorder

SETTLING_S, GIVE_UP_S, SPAWNED_PER_S = 3.0, 120.0, 500


class EachSecond(ProducerUser):
    group, destination = GROUP, QUEUE
    body_bytes, durable, sends_per_second = 1_024, False, 1.0


def cpu_share(for_s: float) -> float:
    """CPU of this process over the next ``for_s`` seconds, as a share of one core."""
    began_s, cpu_s = time.perf_counter(), time.process_time()
    gevent.sleep(for_s)
    return (time.process_time() - cpu_s) / (time.perf_counter() - began_s)


def lags_ms(due_ns: Any, sent_ns: Any, attempt: Any, from_ns: int) -> Any:
    """Return the lag (ms) of first attempts that were due at ``from_ns`` or later. All arrays have one row per send.

    A message that was due earlier does not count even if it was written later: its lag belongs to the start.
    """
    counted = (attempt == 1) & (due_ns >= from_ns)
    return (sent_ns[counted] - due_ns[counted]) / NS_PER_MS


def lags_of(directory: RunDirectory, from_ns: int) -> str:
    """Return the median and p99 lag of the recorded sends, as two cells of the row."""
    seal(directory)
    sends = read_events(directory, "sends")
    columns = (sends[name].to_numpy() for name in ("due_ns", "sent_ns", "attempt"))
    p50, p99 = np.percentile(lags_ms(*columns, from_ns), (50, 99))
    return f"{p50:.2f} ms | {p99:.2f} ms"


def wait(session: Session, is_done: Callable[[], bool]) -> None:
    ends_s = time.monotonic() + GIVE_UP_S
    while not is_done():
        assert not session.problems, session.problems
        assert time.monotonic() < ends_s, session.tally
        gevent.sleep(0.01)


def measure(protocol: str, uri: str, password: str, count: int, for_s: float, recorder: Recorder) -> tuple[str, int]:
    """Return the row without its lag cells, and the time (ns) from which on messages count for the lag."""
    EachSecond.fixed_count = count
    runner = Environment(user_classes=[EachSecond, Receiver]).create_local_runner()
    session = session_for(protocol, uri, password, recorder)
    attach(runner.environment, session)
    first_client = session.pooled_client("producer", GROUP, ONE)
    first_client.open()
    before_bytes, began_s = psutil.Process().memory_info().rss, time.perf_counter()
    runner.start(count + 1, spawn_rate=SPAWNED_PER_S)
    wait(session, lambda: session.tally.ready.total() == count + 1)
    connected_s = time.perf_counter() - began_s
    each_kib = (psutil.Process().memory_info().rss - before_bytes) / (count + 1) / 1_024
    idle = cpu_share(for_s)
    now_ns, load_ns = time.perf_counter_ns(), round((SETTLING_S + for_s + 1) * 1e9)
    session.go(Go(Window(now_ns, now_ns, now_ns + load_ns)))
    gevent.sleep(SETTLING_S)
    busy = cpu_share(for_s)
    wait(session, lambda: session.tally.finished_producers == count and session.tally.received == session.tally.sent)
    assert session.tally.missed == 0, session.tally
    runner.stop()
    first_client.close()
    cost = f"{each_kib:.0f} KiB | {idle:.1%} of a core | {busy:.1%} of a core"
    return f"| `{protocol}` | {count + 1:,} | {connected_s:.1f} s | {cost}", now_ns + round(SETTLING_S * 1e9)


def main(protocol: str, uri: str, count: int, for_s: float) -> None:
    password = sys.stdin.readline().strip()
    vm.use(find_java_parts)
    with tempfile.TemporaryDirectory() as folder:
        directory = RunDirectory.create(Path(folder), "run")
        recorder = Recorder(directory, "main")
        recorder.start()
        row, from_ns = measure(protocol, uri, password, count, for_s, recorder)
        recorder.close()
        print(f"{row} | {lags_of(directory, from_ns)} |")


if __name__ == "__main__":
    parser = Parser("connections_users", __doc__)
    parser.add_protocol(REAL_PROTOCOLS)
    parser.add_argument("uri", metavar="URI", help="the broker's URI, such as stomp://127.0.0.1:61613")
    parser.add_argument("count", type=whole(1), metavar="COUNT", help="producers")
    parser.add_argument("for_s", type=above_0, metavar="SECONDS", help="duration of each measurement, idle and busy")
    options = parser.parse_args()
    main(options.protocol, options.uri, options.count, options.for_s)
