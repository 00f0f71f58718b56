"""Checks the run-queue wait against a planted one: two busy processes on one core."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psutil
import pytest

from topologies.management import core_waits
from topologies.management.core_waits import CoreWaits

LASTS_S = 1.5
COUNTED_HERE = Path("/proc/self/schedstat").exists()
BUSY = "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\nwhile True: pass"


@contextmanager
def busy() -> Iterator[int]:
    """Run a busy process on the first core. Returns its pid."""
    with subprocess.Popen([sys.executable, "-c", BUSY]) as process:
        try:
            yield process.pid
        finally:
            process.kill()


@pytest.mark.skipif(not COUNTED_HERE, reason="only Linux counts these waits")
def test_what_a_busy_process_did_not_run_it_waited_for_its_core() -> None:
    with ExitStack() as stack:
        pid, _ = stack.enter_context(busy()), stack.enter_context(busy())
        waits, process = CoreWaits(pid), psutil.Process(pid)
        time.sleep(0.5)  # until both have started
        waited_ns, ran_s, began_s = waits.total_ns(), process.cpu_times().user, time.monotonic()
        time.sleep(LASTS_S)
        later_ns, later_ran_s, took_s = waits.total_ns(), process.cpu_times().user, time.monotonic() - began_s
    assert waited_ns is not None
    assert later_ns is not None
    waited_s = (later_ns - waited_ns) / 1e9
    assert waited_s > 0.2 * took_s
    assert waited_s + (later_ran_s - ran_s) == pytest.approx(took_s, rel=0.3), "a wait counts once it is over"


def test_a_process_that_is_gone_has_no_figure() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    assert CoreWaits(process.pid).total_ns() is None


class Threads:
    """The /proc files of a process whose threads have these wait times, in ns by thread id."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        self._folder = folder
        monkeypatch.setattr(core_waits, "_tasks_of", lambda _pid: str(folder))

    def wait(self, **waited_ns: int) -> None:
        for old in self._folder.iterdir():
            (old / "schedstat").unlink()
            old.rmdir()
        for thread, each_ns in waited_ns.items():
            (self._folder / thread).mkdir()
            (self._folder / thread / "schedstat").write_text(f"77 {each_ns} 5\n", encoding="ascii")


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Threads:
    return Threads(monkeypatch, tmp_path)


def test_the_waits_of_threads_add_up_and_stay_when_a_thread_ends(threads: Threads) -> None:
    waits = CoreWaits(os.getpid())
    threads.wait(a=10, b=5)
    assert waits.total_ns() == 15
    threads.wait(a=12)
    assert waits.total_ns() == 17
    threads.wait(a=12, c=3)
    assert waits.total_ns() == 20


def test_a_thread_with_the_number_of_one_that_ended_counts_from_its_own_beginning(threads: Threads) -> None:
    waits = CoreWaits(os.getpid())
    threads.wait(a=100)
    waits.total_ns()
    threads.wait(a=30)
    assert waits.total_ns() == 130


def test_of_a_process_with_very_many_threads_there_is_no_figure(
    threads: Threads, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(core_waits, "MOST_THREADS", 1)
    threads.wait(a=1, b=1)
    assert CoreWaits(os.getpid()).total_ns() is None
