"""Checks that the hunt for refused sends that arrive finds planted ones, and counts nothing else as one."""

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.amqp_refusals import WAYS, Counts, counted, every, options, planned, sound
from records.reader import seal
from records.run import RunInfo
from records.rundir import RunDirectory
from records.writer import Recorder

QUEUE = "queue://steady"


def send(to: Recorder, seq: int, outcome: str, attempt: int = 1) -> None:
    settled_ns = None if outcome == "in_doubt" else 20
    to.send(1, seq, attempt, QUEUE, "a", 10, 10, 10, settled_ns, outcome, 64, False)


def receive(to: Recorder, seq: int, *, redelivered: bool = False) -> None:
    to.receipt(7, "steady", 1, seq, 1, QUEUE, "b", 30, redelivered, "intact", 1)


def planted(folder: Path, unsearched: tuple[str, ...] = ()) -> Counts:
    directory = RunDirectory.create(folder, "run")
    directory.write_run(RunInfo("run", "steady", "mesh", "memory", "memory", unsearched=unsearched))
    recorder = Recorder(directory, "master")
    for seq in range(10):
        send(recorder, seq, "acked")
    for seq in (*range(8), 7):  # 7 came twice, 8 is left on a queue, 9 is nowhere
        receive(recorder, seq)
    receive(recorder, 6, redelivered=True)  # as it may be after its consumer's connection was lost
    recorder.leftover("a", "steady", False, 1, 8, 1, None)
    recorder.leftover("b", "steady", False, 1, 0, 1, None)  # a copy of one that was received
    for seq in (10, 11, 12):
        send(recorder, seq, "failed")
    receive(recorder, 12)  # refused, and yet there
    send(recorder, 13, "in_doubt")
    send(recorder, 13, "acked", attempt=2)
    receive(recorder, 13)
    receive(recorder, 13)  # as it may be after a resend
    recorder.close()
    seal(directory)
    return counted(directory)


def test_each_planted_message_is_counted_as_what_it_is(tmp_path: Path) -> None:
    assert planted(tmp_path) == Counts(
        sent=14,
        acked=11,
        refused=3,
        refused_yet_received=1,
        in_doubt_once=1,
        received=10,
        left=1,
        unaccounted=0,
        nowhere=1,
        repeated=1,
    )


def test_a_message_is_nowhere_only_if_the_run_looked_everywhere(tmp_path: Path) -> None:
    counts = planted(tmp_path, unsearched=("the drain ended while messages still moved",))
    assert (counts.left, counts.nowhere, counts.unaccounted) == (1, 0, 1)


def test_only_refused_messages_that_arrived_and_acknowledged_ones_that_did_not_are_wrong() -> None:
    fine = Counts(9, 5, 4, 0, 3, 4, 1, 2, 0, 1)
    assert sound(fine)
    assert not sound(replace(fine, refused_yet_received=1))
    assert not sound(replace(fine, nowhere=1))


@pytest.mark.parametrize(("messages", "runs"), [(1_000, [400, 400, 200]), (400, [400]), (0, [])])
def test_runs_are_made_until_there_are_enough_messages(messages: int, runs: list[int]) -> None:
    made = list(planned(list(WAYS), messages, 400, float("inf")))
    assert [count for _, count in made] == runs
    assert [way for way, _ in made] == list(WAYS)[: len(runs)]


def test_no_run_begins_once_the_time_is_up() -> None:
    assert list(planned(list(WAYS), 1_000, 400, 0.0)) == []


def test_faults_come_in_turn_to_the_end() -> None:
    assert every(100, ["cut(a, at={at})", "cut(b, at={at})"]) == "cut(a, at=100);cut(b, at=200)"


def test_the_drain_of_a_run_may_take_as_long_as_its_messages_need() -> None:
    waits_s = [float(options(count, "", 0)[-1].removeprefix("--drain-timeout=")) for count in (10_000, 200_000)]
    assert waits_s == [120, 1_000]
