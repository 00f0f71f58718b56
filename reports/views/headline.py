"""What is the verdict, in words, and what is the answer to the scenario's question?"""

from dataclasses import dataclass

from records.run import RunInfo
from records.summary import Latency, Summary
from reports.numbers import counted, joined, sentence, significant

MEANING = {
    "pass": ("Passed", "Every check held and the measurement is valid."),
    "fail": ("Failed", "The measurement is sound and at least one check did not hold."),
    "unknown": ("Unknown", "At least one check could not be decided: this is not a pass."),
    "invalid": ("Invalid", "The measurement cannot be trusted. The figures below serve diagnosis only."),
    "interrupted": ("Interrupted", "The run was stopped before its planned end. The figures cover what was run."),
}
FATES = (
    ("lost", "lost"),
    ("stranded", "left on a queue"),
    ("dead_lettered", "sent to a dead-letter queue"),
    ("duplicated", "duplicated"),
    ("reordered", "out of order"),
    ("corrupted", "corrupted"),
    ("unexpected", "received without a known send"),
)


@dataclass(frozen=True)
class Headline:
    verdict: str
    word: str
    meaning: str
    reasons: tuple[str, ...]
    answer: str
    question: tuple[str, ...]


def headline(run: RunInfo, summary: Summary) -> Headline:
    verdict = summary["verdict"]
    word, meaning = MEANING[verdict]
    return Headline(verdict, word, meaning, tuple(map(sentence, summary["reasons"])), answer(summary), question(run))


def question(run: RunInfo) -> tuple[str, ...]:
    """The scenario's docstring by paragraphs, its line breaks undone."""
    paragraphs = (" ".join(paragraph.split()) for paragraph in run.question.split("\n\n"))
    return tuple(paragraph for paragraph in paragraphs if paragraph)


def answer(summary: Summary) -> str:
    """One or two sentences with the figures that answer most questions."""
    if not summary["messages"]["sent"]:
        return "No message was sent, so this run answers nothing."
    return f"{fate_sentence(summary)} {latency_sentence(summary)}".strip()


def fate_sentence(summary: Summary) -> str:
    messages = summary["messages"]
    bad = [f"{counts[key]:,} {word}" for counts in (dict(messages),) for key, word in FATES if counts[key]]
    sent = counted(messages["sent"], "message")
    received = f"{messages['received']:,}"
    if bad:
        return f"Of {sent} sent, {received} were received; {joined(bad)}."
    if messages["received"] == messages["sent"]:
        return f"All {sent} sent were received, each exactly once."
    return f"Of {sent} sent, {received} receptions; none lost, none duplicated."


def latency_sentence(summary: Summary) -> str:
    latency: Latency | None = summary["latency_ms"].get("due_to_received")
    if latency is None or latency["p50"] is None:
        return "No latency was measured."
    tail = f", 99 % within {significant(latency['p99'])} ms" if latency["p99"] is not None else ""
    return f"Half arrived within {significant(latency['p50'])} ms of the time they were due{tail}."
