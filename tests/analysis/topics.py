"""Runs topics of the analysis without Spark: their questions are answered in this process, part by part."""

from collections.abc import Mapping, Sequence

import polars as pl

from analysis.events.run import Answers, Ask, Found, Question, Run, Topic
from analysis.jobs import TOPICS, find
from analysis.messages.part import Known, Part
from records.reader import inspect, seal
from records.rundir import RunDirectory


def found_in(directory: RunDirectory, parts: int = 1, topics: Sequence[Topic] = TOPICS) -> Found:
    """What the topics find in a run that is divided into so many parts."""

    def ask(questions: Mapping[str, Question]) -> Answers:
        of_parts = [Part(Known.of(run), number) for number in range(parts)]
        return {name: _answer(question, of_parts) for name, question in questions.items()}

    run = _run(directory, parts, ask)
    return find(run, lambda _line: None, topics)


def known_of(directory: RunDirectory, parts: int) -> Known:
    """What each part of a run is told."""
    return Known.of(_run(directory, parts, lambda _questions: {}))


def _run(directory: RunDirectory, parts: int, ask: Ask) -> Run:
    seal(directory)
    sealing = inspect(directory)
    return Run(directory, directory.read_run(), sealing.rows, sealing.problems, parts, ask)


def _answer(question: Question, parts: Sequence[Part]) -> pl.DataFrame:
    """Answers are added up one after the other, as those of a large run are."""
    whole = question.of_run(question.of_part(parts[0]))
    for part in parts[1:]:
        whole = question.of_run(pl.concat([whole, question.of_part(part)]))
    return whole
