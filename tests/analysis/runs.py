"""Makes run folders of planted events: a thousand messages in ten seconds, and their outcomes."""

from collections.abc import Callable
from pathlib import Path

from analysis.jobs import analyse
from records.figures.summary import Summary
from records.run import Phases, ProcessInfo, RunInfo
from records.store.rundir import RunDirectory
from records.store.writer import Recorder
from tests.support.event_rows import receipt_row, send_row

MS, S = 1_000_000, 1_000_000_000
LOAD_NS = 100 * S
QUEUE = "queue://orders"
INFO = RunInfo(
    run_id="planted",
    scenario="steady",
    topology="mesh",
    runtime="memory",
    protocol="memory",
    state="ended",
    phases=Phases(LOAD_NS - S, LOAD_NS, LOAD_NS + 10 * S, LOAD_NS + 11 * S, LOAD_NS + 12 * S),
    processes=(ProcessInfo("master", 0, "here", monotonic_ns=LOAD_NS, wall_ns=1_767_225_600 * S),),
    durations_s={"up": 4.5},
)
Plant = Callable[[Recorder], None]


def make(parent: Path, plant: Plant, info: RunInfo = INFO) -> RunDirectory:
    """Create a run folder with the events that ``plant`` records."""
    directory = RunDirectory.create(parent, "planted")
    directory.write_run(info)
    recorder = Recorder(directory, "master")
    plant(recorder)
    recorder.close()
    return directory


def send(
    to: Recorder,
    seq: int,
    due_ns: int,
    *,
    outcome: str = "acked",
    attempt: int = 1,
    late_ns: int = 0,
    ready_ns: int | None = None,
) -> None:
    """``late_ns``: delay after it was ready, or by default, after it was due."""
    ready_ns = due_ns if ready_ns is None else ready_ns
    sent_ns = ready_ns + late_ns
    settled_ns = sent_ns + 2 * MS if outcome == "acked" else None
    times = {"ready_ns": ready_ns, "sent_ns": sent_ns, "settled_ns": settled_ns}
    to.send(send_row(seq, due_ns, attempt=attempt, outcome=outcome, **times))


def receive(
    to: Recorder, seq: int, at_ns: int, *, attempt: int = 1, integrity: str = "intact", again: bool = False
) -> None:
    to.receipt(receipt_row(seq, at_ns, attempt=attempt, redelivered=again, integrity=integrity))


def quietly(run: Path) -> Summary:
    return analyse(run, progress=lambda _: None)


def due_of(seq: int) -> int:
    """Messages are due every 10 ms from the start of the load."""
    return LOAD_NS + seq * 10 * MS


def healthy(recorder: Recorder) -> None:
    """1,000 messages in 10 s; each takes 5 ms."""
    for seq in range(1_000):
        send(recorder, seq, due_of(seq))
        receive(recorder, seq, due_of(seq) + 5 * MS)
