"""Checks the sampler in a process that gevent has patched; `tests/drivers/test_under_gevent.py` runs these."""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import gevent
import pytest
from gevent import monkey

from drivers.memory.connector import MemoryConnector
from drivers.memory.network import MemoryNetwork
from drivers.users.stall_sampler import LEAST_STALL_NS, PERIOD_NS, StallSampler
from records.store.reader import read_events, seal
from records.store.rundir import RunDirectory
from records.store.writer import Recorder

MS = 1_000_000
BLOCK_NS = 80 * MS
IN_PYTHON = {"memory": MemoryConnector(MemoryNetwork(["a"]))}


class SamplerRun:
    """A recorder, and its rows once it is closed."""

    def __init__(self, folder: Path) -> None:
        self.directory = RunDirectory.create(folder, "run")
        self.recorder = Recorder(self.directory, "worker-3")

    def stalls(self) -> list[tuple[int, str, int, int]]:
        self.recorder.close()
        assert self.recorder.problem is None
        seal(self.directory)
        return [tuple(row.values()) for row in read_events(self.directory, "stalls").to_pylist()]  # type: ignore[misc]


@pytest.fixture
def run(tmp_path: Path) -> Iterator[SamplerRun]:
    new_run = SamplerRun(tmp_path)
    yield new_run
    new_run.recorder.close()


def block(for_ns: int = BLOCK_NS) -> tuple[int, int]:
    """No greenlet of this process runs during this time. When it began and ended."""
    began_ns = time.perf_counter_ns()
    monkey.get_original("time", "sleep")(for_ns / 1e9)
    return began_ns, time.perf_counter_ns()


def clock(times_ns: Sequence[int]) -> Iterator[int]:
    """These times, then the last one for ever: nothing is late any more."""
    yield from times_ns
    while True:
        yield times_ns[-1]


def test_a_process_that_stands_still_has_that_on_record(run: SamplerRun) -> None:
    sampler = StallSampler(run.recorder, 3, IN_PYTHON)
    sampler.start()
    gevent.sleep(0.05)
    began_ns, ended_ns = block()
    gevent.sleep(0.05)
    sampler.stop()
    covering = [row for row in run.stalls() if row[2] < ended_ns <= row[3]]
    ((process, protocol, first_ns, last_ns),) = covering
    assert (process, protocol) == (3, "memory")
    assert first_ns <= began_ns + PERIOD_NS
    assert last_ns >= ended_ns


def test_every_pause_of_5_ms_is_on_record(run: SamplerRun) -> None:
    """Whenever it begins between two calls of the timer. A pause of 10 ms had no row before."""
    sampler = StallSampler(run.recorder, 0, IN_PYTHON)
    sampler.start()
    pauses = []
    for number in range(40):
        gevent.sleep(0.01 + number * 0.0001)
        pauses.append(block(PERIOD_NS + LEAST_STALL_NS + MS // 10))
    gevent.sleep(0.02)
    sampler.stop()
    rows = run.stalls()
    for _, ended_ns in pauses:
        assert any(began_ns < ended_ns <= recorded_ns for _, _, began_ns, recorded_ns in rows)


def test_a_stall_that_has_just_ended_when_the_run_is_over_is_not_forgotten(run: SamplerRun) -> None:
    sampler = StallSampler(run.recorder, 0, IN_PYTHON)
    sampler.start()
    gevent.sleep(0.03)
    _, ended_ns = block()
    sampler.stop()
    sampler.stop()
    assert [row for row in run.stalls() if row[2] < ended_ns <= row[3]]


@pytest.mark.parametrize(("late_ns", "rows"), [(LEAST_STALL_NS, 0), (LEAST_STALL_NS + 1, 1)])
def test_only_more_than_the_threshold_is_a_stall(run: SamplerRun, late_ns: int, rows: int) -> None:
    times = clock([0, PERIOD_NS + late_ns])
    sampler = StallSampler(run.recorder, 0, IN_PYTHON, lambda: next(times))
    sampler.start()
    gevent.sleep(0.1)
    sampler.stop()
    assert run.stalls() == [(0, "memory", PERIOD_NS, PERIOD_NS + late_ns)][:rows]


def test_clients_in_java_do_not_stand_still_with_the_loop(run: SamplerRun) -> None:
    java = {"openwire": object()}
    for connectors in (java, {**IN_PYTHON, **java}):
        times = clock([0, PERIOD_NS + 2 * LEAST_STALL_NS])
        sampler = StallSampler(run.recorder, 0, connectors, lambda times=times: next(times))  # type: ignore[arg-type, misc]
        sampler.start()
        gevent.sleep(0.1)
        sampler.stop()
    assert [row[1] for row in run.stalls()] == ["memory"]


def test_nothing_is_recorded_after_the_recorder_was_closed(run: SamplerRun) -> None:
    sampler = StallSampler(run.recorder, 0, IN_PYTHON)
    sampler.start()
    gevent.sleep(0.02)
    run.recorder.close()
    block()
    gevent.sleep(0.02)
    sampler.stop()
    assert run.recorder.late_rows is None
