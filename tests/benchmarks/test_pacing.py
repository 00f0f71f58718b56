"""Checks how the pacing benchmark evaluates a run's events, the bare loop's times and the aims."""

import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.pacing import (
    Measured,
    PacedRun,
    aim_results,
    aim_runs,
    bare_loop,
    lateness_ms,
    locust_options,
    measured,
    row,
)
from harness.options.declarations import NORMAL, REALTIME
from records.run import Phases, RunInfo
from records.store.reader import seal
from records.store.rundir import RunDirectory
from records.store.writer import Recorder
from tests.support.event_rows import receipt_row, send_row

MS, S = 1_000_000, 1_000_000_000
UNCONFIRMED = {"outcome": "unconfirmed", "settled_ns": None}
RUN = PacedRun("stomp", "2000", NORMAL, 10)
ONE = Measured((0.1, 0.5, 0.9), (0.05, 0.4, 0.6), (1.0, 2.0, 3.0), 1_000, 1_000)


def paced(folder: Path) -> RunDirectory:
    """Return 100 messages in a load of 1 s, each sent 2 ms late and received 5 ms later; more before and after."""
    directory = RunDirectory.create(folder, "run")
    phases = Phases(0, S, 2 * S, 3 * S, 4 * S)
    directory.write_run(RunInfo("run", "paced", "single", "memory", "memory", phases=phases, warnings=("others",)))
    recorder = Recorder(directory, "master")
    for seq in range(300):
        due_ns = seq * 10 * MS
        ready_ns = due_ns + 50 * MS  # until then a broker blocked it
        sent_ns = ready_ns + (2 * MS if 100 <= seq < 200 else 900 * MS)
        recorder.send(send_row(seq, due_ns, ready_ns=ready_ns, sent_ns=sent_ns, **UNCONFIRMED))
        recorder.receipt(receipt_row(seq, sent_ns + 5 * MS))
    recorder.send(send_row(150, 1500 * MS, attempt=2, ready_ns=0, sent_ns=9 * S, **UNCONFIRMED))
    recorder.close()
    seal(directory)
    return directory


def test_own_lag_and_transit_are_those_of_first_attempts_that_were_due_in_the_load(tmp_path: Path) -> None:
    times = tmp_path / "bare"
    np.array([[999 * MS, 1900 * MS], [S, S + MS], [2 * S, 3 * S]], dtype=">i8").tofile(times)
    run = measured(paced(tmp_path), times)
    assert run.own_lag == pytest.approx((2, 2, 2))
    assert run.bare == pytest.approx((1, 1, 1))
    assert run.sent_to_received == pytest.approx((5, 5, 5))
    assert (run.sent, run.received, run.remarks, run.ratio) == (100, 100, (), 2)


def test_a_run_that_gave_its_priority_back_is_marked(tmp_path: Path) -> None:
    directory, times = paced(tmp_path), tmp_path / "bare"
    np.array([[S, S + MS]], dtype=">i8").tofile(times)
    warning = "the load generator gave up its real-time priority: it used most of a core, and brokers would starve"
    directory.write_run(replace(directory.read_run(), warnings=(warning,), problems=("planted",)))
    run = measured(directory, times)
    assert run.remarks == ("priority given back", "invalid")
    assert row(RUN, 2, [run]).endswith("| 1 | invalid, priority given back |")


def test_a_row_has_the_medians_of_the_runs_and_the_messages_of_all() -> None:
    other_runs = [replace(ONE, own_lag=(lag, 0.5, 0.9)) for lag in (0.3, 0.7)]
    assert row(RUN, 0, [ONE, *other_runs]).split(" | ")[:6] == ["| `stomp`", "2,000/s", "normal", "0", "0.300", "0.500"]
    assert row(RUN, 0, [ONE, *other_runs]).endswith(" | 3,000 | 3,000 | 3 |  |")


def test_each_aim_tells_how_many_runs_met_it_and_which_did_not() -> None:
    raised = replace(RUN, priority=REALTIME)
    late = replace(ONE, own_lag=(0.25, 1.2, 3.0))
    runs = [(RUN, ONE), (replace(RUN, protocol="core", rate="120"), late), (raised, ONE), (raised, late)]
    assert list(aim_results(runs)) == [
        "- own lag p50 below 0.2 ms: 1 of 2, not `core` at 120/s",
        "- with real-time priority, next to 2 busy loops: own lag p99 below 1 ms: 1 of 2, not `stomp` at 2,000/s",
        "- with real-time priority, next to 2 busy loops: own lag p99 within 1.5 × of a bare loop: 1 of 2, "
        "not `stomp` at 2,000/s",
    ]


def test_the_aims_are_about_both_rates_of_every_protocol() -> None:
    normal = [paced_run for paced_run, busy in aim_runs(["stomp", "core"]) if paced_run.priority == NORMAL and not busy]
    assert {(paced_run.protocol, paced_run.rate) for paced_run in normal} == {
        (protocol, rate) for protocol in ("stomp", "core") for rate in ("120", "2000")
    }
    assert all("--warm-up" in locust_options(paced_run) for paced_run in normal)


@pytest.mark.java
def test_the_bare_loop_wakes_at_its_rate_and_never_early_until_it_is_told_to_end(tmp_path: Path) -> None:
    times = tmp_path / "bare"
    with bare_loop("100", NORMAL, times):
        time.sleep(1.5)
        began_ns = time.perf_counter_ns()
        time.sleep(0.5)
        ended_ns = time.perf_counter_ns()
    late_ms = lateness_ms(times, began_ns, ended_ns)
    assert len(late_ms) in (49, 50, 51), "by this process's clock, which Java uses too"
    assert late_ms.min() >= 0
