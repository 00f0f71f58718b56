"""Checks that stalls of a JVM are recorded, as well as those of the Python in the same process."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jpype
import pytest

from drivers.client.contract import NoStatistics
from drivers.jvm import vm
from drivers.jvm.event_buffers import EventBuffers, JvmStallSampler
from drivers.jvm.hub import hub
from drivers.users.stall_sampler import LEAST_STALL_NS, PERIOD_NS
from harness.java_parts import find_java_parts
from records.store.reader import read_events, seal
from records.store.rundir import RunDirectory
from records.store.writer import Recorder
from tests.drivers.java_loading import classes
from tests.support.waiting import until

pytestmark = pytest.mark.java
vm.use(find_java_parts)
ROOT = Path(__file__).parents[3]
STOPPED_S = 0.15
WHOM, MS = 7, 1_000_000
THREAD = "stall-sampler"
STANDS_STILL = """
from gevent import monkey
monkey.patch_all()
import sys
from pathlib import Path
import gevent
from drivers.client.contract import NoStatistics
from drivers.jvm import vm
from drivers.jvm.event_buffers import EventBuffers
from drivers.jvm.hub import hub
from drivers.memory.connector import MemoryConnector
from drivers.memory.network import MemoryNetwork
from drivers.users.stall_sampler import StallSampler
from records.store.rundir import RunDirectory
from records.store.writer import Recorder
from harness.java_parts import find_java_parts

vm.use(find_java_parts)
recorder = Recorder(RunDirectory.create(Path(sys.argv[1]), "run"), "worker-3")
in_python = StallSampler(recorder, 3, {"memory": MemoryConnector(MemoryNetwork(["a"])), "openwire": object()})
in_java = EventBuffers(hub("openwire"), recorder, {}, NoStatistics(), 3)
in_python.start()
in_java.open()
print("watched", flush=True)
gevent.get_hub().threadpool.apply(sys.stdin.readline)
in_java.close()
in_python.stop()
recorder.close()
assert recorder.problem is None
"""
"""A process with clients in both, which is watched until it is given a line."""


@pytest.fixture(scope="module")
def java() -> Callable[[str], Any]:
    return classes("openwire")


@pytest.fixture
def java_hub(java: Callable[[str], Any]) -> Iterator[Any]:
    reading, writing = os.pipe()
    yield java("brokerbench.Hub")(writing)
    os.close(reading)
    os.close(writing)


@pytest.fixture
def recorder(tmp_path: Path) -> Iterator[Recorder]:
    opened = Recorder(RunDirectory.create(tmp_path, "run"), "worker-3")
    yield opened
    opened.close()


def rows(run: Path) -> list[dict[str, Any]]:
    directory = RunDirectory(run)
    seal(directory)
    return list(read_events(directory, "stalls").to_pylist())


def samplers() -> set[int]:
    """The threads of this process's JVM that sample it. Clients of other tests may have some."""
    threads = jpype.JClass("java.lang.Thread").getAllStackTraces().keySet()
    return {int(thread.getId()) for thread in threads if str(thread.getName()) == THREAD}


def stopped(process: subprocess.Popen[str]) -> tuple[int, int]:
    """The process was stopped, and goes on. Between which times it certainly stood still."""
    process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, process.pid, os.WSTOPPED)
    began_ns = time.perf_counter_ns()
    time.sleep(STOPPED_S)
    ended_ns = time.perf_counter_ns()
    process.send_signal(signal.SIGCONT)
    return began_ns, ended_ns


def test_the_jvm_is_sampled_as_often_as_pythons_loop(java: Callable[[str], Any]) -> None:
    assert int(java("brokerbench.StallSampler").PERIOD_NS) == PERIOD_NS


@pytest.mark.parametrize(("late_ns", "times"), [(LEAST_STALL_NS, 0), (LEAST_STALL_NS + 1, 1)])
def test_only_more_than_the_threshold_of_python_is_a_stall(
    java: Callable[[str], Any], java_hub: Any, late_ns: int, times: int
) -> None:
    stalls = java("brokerbench.Stalls")(java_hub, WHOM, MS, 0)
    stalls.woke(MS)
    stalls.woke(2 * MS + late_ns)
    assert list(stalls.take()) == [2 * MS, 2 * MS + late_ns][: 2 * times]
    assert [(int(whom), str(event)) for whom, event, *_ in java_hub.take()] == [(WHOM, "stalled")][:times]


def test_each_stall_is_taken_once_however_many_there_were(java: Callable[[str], Any], java_hub: Any) -> None:
    stalls, expected = java("brokerbench.Stalls")(java_hub, WHOM, MS, 0), []
    for seq in range(100):
        stalls.woke((seq + 1) * 100 * MS)
        expected += [seq * 100 * MS + MS, (seq + 1) * 100 * MS]
    assert list(stalls.take()) == expected
    assert list(stalls.take()) == []


def test_a_suspended_process_has_stalls_of_python_and_jvm(tmp_path: Path) -> None:
    command = [sys.executable, "-c", STANDS_STILL, str(tmp_path)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "watched\n"
        began_ns, ended_ns = stopped(process)
        process.stdin.write("\n")
    assert process.returncode == 0
    covering = [row for row in rows(tmp_path / "run") if row["began_ns"] < ended_ns <= row["ended_ns"]]
    assert sorted((row["process"], row["protocol"]) for row in covering) == [(3, "memory"), (3, "openwire")]
    assert max(row["began_ns"] for row in covering) <= began_ns + PERIOD_NS


def test_the_jvm_is_watched_while_it_has_clients(recorder: Recorder) -> None:
    buffers = EventBuffers(hub("openwire"), recorder, {}, NoStatistics(), 0)
    before = samplers()
    buffers.open()
    buffers.open()
    (of_them,) = samplers() - before
    buffers.close()
    assert of_them in samplers()
    buffers.close()
    until(lambda: of_them not in samplers())


class AlwaysStalled:
    """Replaces the hub and its StallSampler.java."""

    java, protocol = None, "openwire"

    def listen(self, _listener: object) -> int:
        return WHOM

    def forget(self, _number: int) -> None: ...

    def make(self, _name: str, *_what: object) -> "AlwaysStalled":
        return self

    def stop(self) -> None: ...

    def take(self) -> list[int]:
        return [MS, 20 * MS]


def test_a_stall_that_is_not_told_yet_when_the_last_client_goes_is_not_forgotten(
    recorder: Recorder, tmp_path: Path
) -> None:
    sampler = JvmStallSampler(AlwaysStalled(), recorder, 3)  # type: ignore[arg-type]
    sampler.start()
    sampler.stop()
    sampler.stop()
    recorder.close()
    assert [tuple(row.values()) for row in rows(tmp_path / "run")] == [(3, "openwire", MS, 20 * MS)]


def test_nothing_is_recorded_after_the_recorder_was_closed(recorder: Recorder) -> None:
    sampler = JvmStallSampler(AlwaysStalled(), recorder, 3)  # type: ignore[arg-type]
    sampler.start()
    recorder.close()
    sampler.stop()
    assert recorder.late_rows is None
