"""Checks that answers of parts are added up as they come, and that Spark asks every part once."""

from functools import partial
from pathlib import Path

import polars as pl
import pytest
from pyspark import SparkContext

from analysis import spark as asking
from analysis.events.run import Question, same
from analysis.messages.part import Known, Part
from tests.analysis.runs import due_of, make, receive, send
from tests.analysis.topics import known_of


def total(counts: pl.DataFrame) -> pl.DataFrame:
    return counts.group_by("name").agg(pl.sum("count")).sort("name")


@pytest.mark.parametrize("most_pending", [0, 3, 1_000])
def test_answers_are_the_same_however_many_wait_to_be_added_up(
    monkeypatch: pytest.MonkeyPatch, most_pending: int
) -> None:
    monkeypatch.setattr(asking, "MOST_PENDING_ROWS", most_pending)
    answer = asking.Answer(Question(same, total))
    for number in range(20):
        answer.add(asking._packed(pl.DataFrame({"name": ["all", f"own {number % 7}"], "count": [1, number]})))
    assert len(answer.pending) < 20 or most_pending == 1_000
    told = dict(answer.of_run().iter_rows())
    assert told["all"] == 20
    assert sum(count for name, count in told.items() if name != "all") == sum(range(20))


def numbered(part: Part, told: str) -> pl.DataFrame:
    return pl.DataFrame({"told": [told], "number": [part.number], "received": [part.receipts.height]})


@pytest.mark.spark
def test_each_part_is_asked_once_and_sees_its_own_rows(
    spark: SparkContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking, "AT_ONCE_A_CORE", 1)  # so that there are several rounds

    def plant(recorder) -> None:  # type: ignore[no-untyped-def]
        for block in range(64):
            send(recorder, block * 16_384, due_of(block))
            receive(recorder, block * 16_384, due_of(block) + 1_000_000)

    known: Known = known_of(make(tmp_path, plant), parts=8)
    questions = {"who": Question(partial(numbered, told="hello"), same)}
    told = asking.ask(spark, known, lambda _line: None, questions)["who"].sort("number")
    assert told.rows() == [("hello", number, 8) for number in range(8)]
    assert asking.ask(spark, known, lambda _line: None, {}) == {}
