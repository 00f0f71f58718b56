"""States the verdict in words, and the answer to the scenario's question."""

from dataclasses import dataclass

from records.run import RunInfo
from records.summary import Latency, Summary
from reports.numbers import sentence, significant
from reports.views.connections import connections_sentence
from reports.views.destinations import destinations_sentence
from reports.views.fate import fate_sentence
from reports.views.mirror import mirror_sentences
from reports.views.recovery import recovery_sentences
from reports.views.regions import regions_sentence
from reports.views.shares import shares_sentences
from reports.views.steps import held_step, step_name, steps_sentence
from reports.views.unplanned import unplanned_sentences

MEANING = {
    "pass": ("Passed", "Every check held, and every message is accounted for."),
    "fail": ("Failed", "At least one check did not hold, or nothing arrived."),
    "unknown": ("Unknown", "At least one check could not be decided: this is not a pass."),
    "invalid": ("Invalid", "No result: the reasons say why. The figures below serve diagnosis only."),
    "interrupted": ("Interrupted", "The run was stopped before its planned end. The figures cover what was run."),
}


@dataclass(frozen=True)
class Headline:
    verdict: str
    word: str
    meaning: str
    reasons: tuple[str, ...]
    answer: str
    question: tuple[str, ...]
    timing: str = ""  # which figures not to rely on, and why


def headline(run: RunInfo, summary: Summary) -> Headline:
    verdict, rate = summary["verdict"], summary["offered_rate"]
    word, meaning = MEANING[verdict]
    reasons = tuple(map(sentence, summary["reasons"]))
    of_faults = recovery_sentences(summary["recovery"], summary["timing"]["doubtful"], rate["held"])
    faults = f"{of_faults} {unplanned_sentences(summary['unplanned'])}".strip()
    first = f"{rate['note']} {faults}".strip()
    first = f"{first} {mirror_sentences(summary['mirror'])}".strip()
    first = f"{first} {_steps(summary)}".strip()
    first = f"{first} {connections_sentence(summary.get('connections'))}".strip()
    told = f"{first} {answer(summary)}".strip()
    return Headline(verdict, word, meaning, reasons, told, question(run), summary["timing"]["note"])


def _steps(summary: Summary) -> str:
    return steps_sentence(summary["steps"], summary["throughput"]["held_per_s"], summary["limit"])


def question(run: RunInfo) -> tuple[str, ...]:
    """The scenario's docstring by paragraphs, its line breaks undone."""
    paragraphs = (" ".join(paragraph.split()) for paragraph in run.question.split("\n\n"))
    return tuple(paragraph for paragraph in paragraphs if paragraph)


def answer(summary: Summary) -> str:
    """A few sentences with the figures that answer most questions."""
    if not summary["messages"]["sent"]:
        return "No message was sent, so this run answers nothing."
    told = (
        fate_sentence(summary),
        shares_sentences(summary["consumers"]),
        destinations_sentence(summary["destinations"]),
        regions_sentence(summary.get("regions"), summary["timing"]["doubtful"]),
        latency_sentence(summary),
    )
    return " ".join(filter(None, told))


def latency_sentence(summary: Summary) -> str:
    """Of a load in steps: at the highest rate that was held, as all steps together would say nothing."""
    held = held_step(summary["steps"], summary["throughput"]["held_per_s"])
    if held is not None:
        return f"At {step_name(held)}: {_latency_words(held['due_to_received_ms'], everything=True).lower()}"
    latency: Latency | None = summary["latency_ms"].get("due_to_received")
    if latency is None or not latency["count"]:
        return "No latency was measured."
    if trip := _round_trip(summary["latency_ms"].get("round_trip")):
        return trip
    everything = summary["messages"]["received"] >= summary["messages"]["expected"]
    return _latency_words(latency, everything=everything)


def _round_trip(latency: Latency | None) -> str:
    """'' of a run whose messages are no requests, or without a median. Latencies of one way would answer less."""
    if latency is None or latency["p50"] is None:
        return ""
    half = f"Half of the replies came within {significant(latency['p50'])} ms of the time their requests were due"
    return f"{half}{_tail(latency)}."


def _latency_words(latency: Latency, *, everything: bool) -> str:
    if latency["p50"] is None:
        return "Too few arrived for a median latency."
    half = "Half arrived" if everything else "Of those that arrived, half came"
    return f"{half} within {significant(latency['p50'])} ms of the time they were due{_tail(latency)}."


def _tail(latency: Latency) -> str:
    return "" if latency["p99"] is None else f", 99 % within {significant(latency['p99'])} ms"
