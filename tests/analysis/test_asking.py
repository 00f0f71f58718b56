"""Checks that answers of parts are added up as they come, and that Spark asks every part once."""

from functools import partial
from pathlib import Path

import polars as pl
import pytest
from pyspark import SparkContext

from analysis import spark as asking
from analysis.events import questions as asked
from analysis.events.questions import Answers, Question, same
from analysis.messages.part import Part, RunFacts
from records.parts import SEQS_PER_BLOCK
from tests.analysis.runs import due_of, make, receive, send
from tests.analysis.topics import facts_of


def total(counts: pl.DataFrame) -> pl.DataFrame:
    return counts.group_by("name").agg(pl.sum("count")).sort("name")


@pytest.mark.parametrize("most_pending", [0, 3, 1_000])
def test_answers_are_the_same_however_many_wait_to_be_added_up(
    monkeypatch: pytest.MonkeyPatch, most_pending: int
) -> None:
    monkeypatch.setattr(asked, "MOST_PENDING_ROWS", most_pending)
    question = Question(own_and_common, total)
    answers = Answers({"counts": question})
    for number in range(20):
        answers.add({"counts": question.packed(number)})
    count = dict(answers["counts"].iter_rows())
    assert count.pop("all") == 20
    assert sum(count.values()) == sum(range(20))


def own_and_common(number: int) -> pl.DataFrame:
    return pl.DataFrame({"name": ["all", f"own {number % 7}"], "count": [1, number]})


def test_a_long_answer_is_added_up_range_by_range_in_the_order_of_their_names() -> None:
    question = Question(own_and_common, total, ranges=("name",))
    answers = Answers({"counts": question})
    for number in range(20):
        answers.add({"counts": question.packed(number)})
    ranges = [rows.rows() for rows in answers.ranges("counts")]
    assert ranges[0] == [("all", 20)]
    assert ranges[1:] == [[(f"own {own}", sum(range(own, 20, 7)))] for own in range(7)]
    assert answers["counts"].height == 8  # and once more, as a whole


def test_a_long_answer_without_rows_is_one_empty_range() -> None:
    question = Question(nothing, total, ranges=("name",))
    answers = Answers({"counts": question})
    answers.add({"counts": question.packed(0)})
    assert [rows.columns for rows in answers.ranges("counts")] == [["name", "count"]]
    assert answers["counts"].is_empty()


def nothing(number: int) -> pl.DataFrame:
    return own_and_common(number).clear()


def numbered(part: Part, greeting: str) -> pl.DataFrame:
    return pl.DataFrame({"told": [greeting], "number": [part.number], "received": [part.receipts.height]})


@pytest.mark.spark
def test_each_part_is_asked_once_and_sees_its_own_rows(
    spark: SparkContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking, "AT_ONCE_A_CORE", 1)  # so that there are several rounds

    def plant(recorder) -> None:  # type: ignore[no-untyped-def]
        for block in range(64):
            send(recorder, block * SEQS_PER_BLOCK, due_of(block))
            receive(recorder, block * SEQS_PER_BLOCK, due_of(block) + 1_000_000)

    facts: RunFacts = facts_of(make(tmp_path, plant), parts=8)
    questions = {"who": Question(partial(numbered, greeting="hello"), same)}
    rows = asking.ask(spark, facts, lambda _line: None, questions)["who"].sort("number")
    assert rows.rows() == [("hello", number, 8) for number in range(8)]
    asking.ask(spark, facts, lambda _line: None, {})  # no question takes no pass
