"""Checks that each benchmark has help, rejects an invalid argument in one sentence, and runs at a small size."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from benchmarks.generate_events import write_run

ROOT = Path(__file__).parents[2]
TRIAL_OPTIONS = ("--size", "0.01", "--pairs", "1")
TIMEOUT_S = 150

ANSWERS = """
import contextlib, io, runpy, sys

module, *wrong = sys.argv[1:]

def status_and_output(*arguments):
    sys.argv = [module, *arguments]
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        try:
            runpy.run_module(f"benchmarks.{module}", run_name="__main__", alter_sys=True)
        except SystemExit as end:
            return end.code, output.getvalue()
    return "none", output.getvalue()

print((status_and_output("--help"), status_and_output(*wrong)))
"""
"""Prints the exit status and the output of a module's help, and of the module with wrong arguments."""

PAIRS_OF_X = ("--pairs x", "argument --pairs: 'x' is not a whole number of at least 1: give one")
KIND_OF_X = (
    "stomp://127.0.0.1:1 5 durabel",
    "argument KIND: 'durabel' is none of durable, non-durable; did you mean 'durable'?: give one of them",
)
WRONG = {
    "amqp_bare": KIND_OF_X,
    "amqp_speed": ("proton", "argument WHAT: 'proton' is none of proton-non-durable, proton-durable, perf-non-durable"),
    "analysis_scale": (
        "--messages 5 many",
        "argument --messages: 'many' is not a whole number of at least 1: give one",
    ),
    "analysis_session": ("--runs 1.5", "argument --runs: '1.5' is not a whole number of at least 1: give one"),
    "around_a_run": ("--runtime docker", "argument --runtime: 'docker' is none of processes, containers: give one"),
    "connections": ("mqtt", "argument PROTOCOL: 'mqtt' is none of stomp, amqp, openwire, core: give one of them"),
    "connections_users": ("stomp uri 0 1", "argument COUNT: '0' is not a whole number of at least 1: give one"),
    "core_speed": PAIRS_OF_X,
    "duckdb_answers": ("nonesuch .", "argument RUN: nonesuch: there is no such folder: give the folder of a run"),
    "earlier_commit": (
        "tests",
        "argument EARLIER: 'tests' is not a checkout of this project: create it with git worktree",
    ),
    "generate_events": ("nonesuch", "argument PARENT: 'nonesuch' is not a folder: give the path of one"),
    "jfr_cost": PAIRS_OF_X,
    "java_users": ("stomp uri 5 durable 1 0 0", "argument PROTOCOL: 'stomp' is none of openwire, core"),
    "openwire_speed": ("--size 0", "argument --size: '0' is not a number above 0: give one"),
    "pacing": ("--protocol stomp,mqtt", "argument --protocol: 'mqtt' is none of stomp, amqp, openwire, core"),
    "stomp_bare": KIND_OF_X,
    "stomp_speed": ("--pair=5", "unrecognized arguments: --pair=5"),
    "stomp_users": ("recorded uri 5 durable fast", "argument RATE: 'fast' is not a number of at least 0: give one"),
    "sync_cost": ("always", "argument WHAT: 'always' is none of periodic, never, NIO, ASYNCIO: give one of them"),
}
"""Arguments with one mistake, and the beginning of the error, by script."""


@dataclass(frozen=True)
class Trial:
    """A run of a benchmark. ``expected``: a part of the output."""

    arguments: tuple[str, ...]
    expected: str


TRIALS = {
    "amqp_speed": Trial(("perf-durable", *TRIAL_OPTIONS), "| CPU per message |"),
    "analysis_session": Trial(("--runs", "1", "--messages", "500"), "| 1 | "),
    "connections": Trial(("--count", "5", "--for", "1"), "| `stomp` | 6 | "),
    "core_speed": Trial(("durable", "store", *TRIAL_OPTIONS), "| syncs of the disk per second |"),
    "earlier_commit": Trial((str(ROOT), "core-durable", *TRIAL_OPTIONS), "| CPU per message |"),
    "openwire_speed": Trial(("durable", *TRIAL_OPTIONS), "| CPU per message |"),
    "pacing": Trial(("--protocol", "stomp", "--for", "2"), "| `stomp` | 120/s | normal | 0 |"),
    "stomp_speed": Trial(("durable", *TRIAL_OPTIONS), "| CPU per message |"),
    "sync_cost": Trial(("never", *TRIAL_OPTIONS), "single, 16 producers: every write synced (A), never (B)"),
}

NIGHTLY_TRIALS = ("core_speed", "earlier_commit", "pacing")
"""They share their measuring code with the other trials, and take 20 s or more each."""


def output_of(module: str, *arguments: str) -> str:
    command = [sys.executable, "-W", "ignore", "-m", f"benchmarks.{module}", *arguments]
    environment = {name: value for name, value in os.environ.items() if name != "LOCUST_SKIP_MONKEY_PATCH"}
    process = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )
    assert process.returncode == 0, process.stdout + process.stderr
    return process.stdout


def test_every_script_is_tested_here() -> None:
    scripts = {path.stem for path in (ROOT / "benchmarks").glob("*.py") if '__name__ == "__main__"' in path.read_text()}
    assert scripts == set(WRONG)


@pytest.mark.parametrize(
    "module", [pytest.param(name, marks=pytest.mark.amqp if name == "amqp_bare" else ()) for name in WRONG]
)
def test_a_script_has_help_and_refuses_a_wrong_argument_in_one_sentence(module: str) -> None:
    wrong, expected = WRONG[module]
    command = [sys.executable, "-W", "ignore", "-c", ANSWERS, module, *wrong.split()]
    process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    assert process.returncode == 0, process.stderr
    (help_status, help_text), (status, refusal) = eval(process.stdout)
    assert help_status == 0
    assert help_text.startswith(f"usage: python -m benchmarks.{module} ")
    assert status == 2, refusal
    assert refusal.splitlines()[-1].startswith(f"python -m benchmarks.{module}: {expected}")
    assert len(refusal.splitlines()) == 1
    assert refusal.endswith(f": see python -m benchmarks.{module} --help\n")


@pytest.mark.brokers
@pytest.mark.parametrize(
    "module",
    [
        pytest.param(
            name,
            marks=[pytest.mark.amqp] * (name == "amqp_speed") + [pytest.mark.nightly] * (name in NIGHTLY_TRIALS),
        )
        for name in TRIALS
    ],
)
def test_a_script_runs_at_a_small_size(module: str) -> None:
    trial = TRIALS[module]
    assert trial.expected in output_of(module, *trial.arguments)


@pytest.mark.brokers
@pytest.mark.amqp
@pytest.mark.nightly
def test_amqp_users_run_next_to_proton_at_a_small_size() -> None:
    assert "| CPU per message |" in output_of("amqp_speed", "proton-durable", *TRIAL_OPTIONS)


@pytest.mark.brokers
@pytest.mark.spark
@pytest.mark.nightly
def test_the_time_around_a_run_is_measured_by_steps() -> None:
    assert "| analysis | " in output_of("around_a_run", "--runs", "1", "--for", "2")


@pytest.mark.spark
def test_the_analysis_and_duckdb_say_the_same_of_a_generated_run() -> None:
    output = output_of("analysis_scale", "--messages", "100000", "--pairs", "1", "--no-warm-up")
    assert "answers equal" in output


def test_duckdb_finds_each_kind_of_missing_message_in_a_generated_run(tmp_path: Path) -> None:
    output_of("duckdb_answers", str(write_run(tmp_path, 400_000)), str(tmp_path))
    (row,) = pq.read_table(tmp_path / "accounting.parquet").to_pylist()
    kinds = ("lost", "stranded", "dead_lettered", "expired")
    assert all(row[kind] for kind in kinds), row
    assert row["unselected"] == 0
    assert row["sent"] == row["received"] + sum(row[kind] for kind in kinds)
