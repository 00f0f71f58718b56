"""Checks the files in the run folder after a killed process or a full disk."""

import subprocess
import sys
from pathlib import Path

import pytest

from records.store.reader import read_events, seal
from records.store.rundir import RunDirectory
from tests.records.rows import new_run
from tests.support.waiting import until

RECORD_UNTIL_KILLED = """
import mmap, os, sys, time
if sys.argv[2] == "gevent":
    from gevent import monkey
    monkey.patch_all()
from pathlib import Path
from records.store.rundir import RunDirectory
from records.store.writer import Recorder
from tests.support.event_rows import send_row

recorder = Recorder(RunDirectory(Path(sys.argv[1])), "worker-1")
recorder.start()
print("recording", flush=True)
recorded = mmap.mmap(os.open(sys.argv[3], os.O_RDWR), 8)  # which outlives the process
for seq in range(10**9):
    now_ns = time.perf_counter_ns()
    recorder.send(send_row(seq, now_ns, settled_ns=None, outcome="in_doubt"))
    recorded[:] = (seq + 1).to_bytes(8, "little")
    time.sleep(0.001)
"""
A_SECOND = 1_000  # rows: at most one per millisecond

RECORD_UNTIL_FULL = """
import resource, signal, sys
from pathlib import Path
from records.tables.connection_events import ConnectionEvent
from records.store.rundir import RunDirectory
from records.store.writer import Recorder
from tests.support.event_rows import send_row

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
recorder = Recorder(RunDirectory(Path(sys.argv[1])), "worker-1")
recorder.connection(1, "producers", "stomp", ConnectionEvent(None, "attempt", 1, ""))
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))
for seq in range(3_000):
    recorder.send(send_row(seq, seq))
    if seq % 100 == 99:
        recorder.flush()
recorder.close()
print(recorder.problem)
print(recorder.counts["sends"], recorder.dropped["sends"], recorder.counts["connections"])
"""


def _seqs(run: RunDirectory) -> list[int]:
    return [int(seq) for seq in read_events(run, "sends").column("seq").to_pylist()]


@pytest.mark.parametrize("threads", ["plain", "gevent"])
def test_a_killed_process_loses_at_most_its_last_second(tmp_path: Path, threads: str) -> None:
    run, counter = new_run(tmp_path), tmp_path / "recorded"
    counter.write_bytes(bytes(8))

    def recorded() -> int:
        return int.from_bytes(counter.read_bytes(), "little")

    command = [sys.executable, "-c", RECORD_UNTIL_KILLED, str(run.path), threads, str(counter)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "recording\n"
        until(lambda: recorded() > 1.5 * A_SECOND)
        process.kill()
    sealing = seal(run)
    seqs = _seqs(run)
    assert seqs == list(range(len(seqs)))
    assert -1 <= recorded() - len(seqs) <= A_SECOND, "a row is counted once it is recorded"
    assert len(sealing.problems) == 1
    assert "worker-1 was killed" in sealing.problems[0]


def test_a_full_disk_keeps_what_was_written_and_counts_the_rest(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    command = [sys.executable, "-c", RECORD_UNTIL_FULL, str(run.path)]
    process = subprocess.run(command, capture_output=True, text=True, check=True)
    problem, counts = process.stdout.splitlines()
    written, dropped, connections = (int(number) for number in counts.split())
    assert problem == (
        f"{run.streams('sends') / 'worker-1.arrows'} cannot be written: File too large; raise the limit on file sizes "
        f"(ulimit -f) and run again ({dropped} rows dropped, the rows before them are kept)"
    )
    assert written > 0
    assert dropped > 0
    assert written + dropped == 3_000
    assert connections == 1
    sealing = seal(run)
    assert _seqs(run) == list(range(written))
    assert len(sealing.problems) == 1
    assert "has no end mark" in sealing.problems[0], "a batch that did not fit was taken back whole"


def test_a_disk_that_is_full_while_sealing_keeps_the_streams(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    command = [sys.executable, "-c", SEAL_ON_A_FULL_DISK, str(run.path)]
    process = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "events cannot be sealed" in process.stdout
    assert "the streams are kept: raise the limit on file sizes" in process.stdout
    assert (run.streams("sends") / "worker-1.arrows").exists()
    assert not list(run.events("sends").iterdir())
    assert seal(run).rows["sends"] == 20_000
    assert _seqs(run) == list(range(20_000))


SEAL_ON_A_FULL_DISK = """
import random, resource, signal, sys
from pathlib import Path
from records.errors import RunUnwritable
from records.store.reader import seal
from records.store.rundir import RunDirectory
from records.store.writer import Recorder
from tests.support.event_rows import send_row

run = RunDirectory(Path(sys.argv[1]))
recorder = Recorder(run, "worker-1")
for seq in range(20_000):
    recorder.send(send_row(seq, seq, due_ns=random.getrandbits(60)))
recorder.close()
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, resource.RLIM_INFINITY))
try:
    seal(run)
except RunUnwritable as error:
    print(error)
"""
