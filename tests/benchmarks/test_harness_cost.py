"""Checks the parts of the benchmark of the harness's own cost: which run has what, and whose CPU and messages count."""

from pathlib import Path

import pytest

from benchmarks.harness_cost import BROKERS, GENERATOR, PARTS, PROXIES, Reading, part_of, received, sides_of
from records.reader import seal
from records.rundir import RunDirectory
from records.writer import Recorder


@pytest.mark.parametrize("what", ["sampling", "proxies", "faults"])
def test_both_sides_of_a_pair_are_the_same_but_for_one_thing(what: str) -> None:
    a, b = sides_of(what, "freeze(broker-1, at=5, for=1)")
    assert a != b
    assert b.options == ()
    assert a.environment == ()
    assert len(a.options) // 2 + len(b.environment) == 1


def test_a_fault_is_the_one_that_was_asked_for() -> None:
    assert sides_of("faults", "freeze(broker-1, at=5, for=1)")[0].options == (
        "--fault",
        "freeze(broker-1, at=5, for=1)",
    )


@pytest.mark.parametrize(
    ("name", "part"),
    [("java", BROKERS), ("toxiproxy-server", PROXIES), ("locust", GENERATOR), ("python3.11", GENERATOR)],
)
def test_each_process_of_a_run_belongs_to_one_part(name: str, part: str) -> None:
    assert part_of(name) == part


def test_only_processes_that_were_there_at_both_times_count() -> None:
    none: dict[str, dict[int, float]] = {part: {} for part in PARTS}
    first = Reading(1, none | {BROKERS: {7: 10.0, 8: 3.0}})
    last = Reading(2, none | {BROKERS: {7: 12.5, 9: 40.0}})
    assert last.used_s(first, BROKERS) == 2.5
    assert last.used_s(first, GENERATOR) == 0


def test_only_messages_between_both_readings_count(tmp_path: Path) -> None:
    directory = RunDirectory.create(tmp_path, "run")
    recorder = Recorder(directory, "master")
    for at_ns in (9, 10, 15, 19, 20):
        recorder.receipt(7, "cost", 1, at_ns, 1, "queue://cost", "a", at_ns, False, "intact", 0)
    recorder.close()
    seal(directory)
    assert received(directory, 10, 20) == 3
