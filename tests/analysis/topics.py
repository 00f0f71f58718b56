"""Runs topics of the analysis without Spark: their questions are answered in this process, part by part."""

from collections.abc import Callable, Mapping, Sequence

import polars as pl

from analysis.events.run import Answers, Found, Question, Run
from analysis.jobs import TOPICS, Topic, find
from analysis.messages.part import Known, Part
from records.reader import inspect, seal
from records.rundir import RunDirectory

Told = Callable[[Part], None]


def found_in(directory: RunDirectory, parts: int = 1, topics: Sequence[Topic] = TOPICS) -> Found:
    """What the topics find in a run that is divided into so many parts."""
    seal(directory)
    sealing = inspect(directory)

    def ask(questions: Mapping[str, Question]) -> Answers:
        known = Known.of(run)
        of_parts = [Part(known, number) for number in range(parts)]
        return {name: _answer(question, of_parts) for name, question in questions.items()}

    run = Run(directory, directory.read_run(), sealing.rows, sealing.problems, parts, ask)
    return find(run, lambda _line: None, topics)


def _answer(question: Question, parts: Sequence[Part]) -> pl.DataFrame:
    """Answers are added up one after the other, as those of a large run are."""
    whole = question.of_run(question.of_part(parts[0]))
    for part in parts[1:]:
        whole = question.of_run(pl.concat([whole, question.of_part(part)]))
    return whole
