"""Runs topics of the analysis without Spark: their questions are answered in this process, part by part."""

from collections.abc import Mapping, Sequence

import pyarrow as pa

from analysis.events.questions import Answers, Question
from analysis.events.run import Ask, Results, Run, Topic
from analysis.jobs import TOPICS, conclude
from analysis.messages.part import Part, RunFacts
from records.reader import inspect, seal
from records.rundir import RunDirectory


def results_of(directory: RunDirectory, parts: int = 1, topics: Sequence[Topic] = TOPICS) -> Results:
    """What the topics find in a run that is divided into so many parts."""

    def ask(questions: Mapping[str, Question]) -> Answers:
        answers = Answers(questions)
        for number in range(parts):
            part = Part(RunFacts.from_run(run), number)
            answers.add({name: question.packed(part) for name, question in questions.items()})
        return answers

    run = _run(directory, parts, ask)
    results = conclude(run, lambda _line: None, topics)
    results.tables |= {name: pa.concat_tables(pieces) for name, pieces in results.long_tables.items()}
    return results


def facts_of(directory: RunDirectory, parts: int) -> RunFacts:
    """What each part of a run is told."""
    return RunFacts.from_run(_run(directory, parts, Answers))


def _run(directory: RunDirectory, parts: int, ask: Ask) -> Run:
    seal(directory)
    sealing = inspect(directory)
    return Run(directory, directory.read_run(), sealing, parts, ask)
