"""States the verdict in words, and the answer to the scenario's question."""

from dataclasses import dataclass

from records.run import RunInfo
from records.summary import Summary
from reports.clients.connections import connections_sentence
from reports.clients.consumers import shares_sentences
from reports.clients.moves import moves_sentences
from reports.faults import probable_cause, recovery_sentences, unplanned_sentences
from reports.latency.places import latency_sentence, regions_sentence
from reports.load import cost_sentence, rate_sentence, steps_sentence
from reports.messages.fate import destinations_sentence, fate_sentence
from reports.messages.kinds import kinds_sentences
from reports.network.links import mirror_sentences
from reports.parts.numbers import sentence

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
    further: tuple[str, ...]
    question: tuple[str, ...]
    timing: tuple[str, ...] = ()  # which figures not to rely on, and why: a line a measure


ONLY_FIRST = ("moves", "cost", "rate")
"""What is told only where it answers the question."""


def headline(run: RunInfo, summary: Summary) -> Headline:
    verdict = summary["verdict"]
    word, meaning = MEANING[verdict]
    reasons = tuple(map(sentence, summary["reasons"]))
    answer, further = _told(run, summary)
    return Headline(verdict, word, meaning, reasons, answer, further, question(run), _timing(summary))


def _told(run: RunInfo, summary: Summary) -> tuple[str, tuple[str, ...]]:
    """Whether the rate was held, and what answers the scenario's question; then the rest, by what it is about."""
    rate, asked = summary["offered_rate"], run.answered_by
    about = {
        "unplanned": unplanned_sentences(summary["unplanned"]),
        "mirror": mirror_sentences(summary["mirror"]),
        "steps": _steps(summary),
        "connections": connections_sentence(summary["connections"]),
        **_answers(summary, share_alike="shares" in asked),
        "moves": moves_sentences(summary["rebalance"], summary["recovery"]["faults"]) if "moves" in asked else "",
        "cost": cost_sentence(summary),
        "rate": rate_sentence(summary),
    }
    if not _have_several(run) and summary["destinations"]["all_flow_s"] is not None:
        about["destinations"] = ""  # a class each, and nobody asks which one came last
    faults = recovery_sentences(summary["recovery"], summary["timing"]["doubtful"], rate["held"])
    told = {"faults": faults, **{name: (text,) for name, text in about.items() if text}}
    rest = [text for name, texts in told.items() for text in texts if name not in (*asked, *ONLY_FIRST)]
    rest += filter(None, [probable_cause(run, summary)])
    first = [text for text in (rate["note"], *(text for name in asked for text in told.get(name, ()))) if text]
    return " ".join(first or rest[:1]), tuple(rest if first else rest[1:])


def _timing(summary: Summary) -> tuple[str, ...]:
    """The note on timing by measures; of each it ends with the reason in brackets."""
    note = summary["timing"]["note"]
    return tuple(note.replace("); ", ");\n").split("\n")) if note else ()


def _have_several(run: RunInfo) -> bool:
    """Whether the users of a class have several destinations."""
    return any(len(user.destinations) > 1 for user in run.users)


def _steps(summary: Summary) -> str:
    return steps_sentence(summary["steps"], summary["throughput"]["held_per_s"], summary["limit"])


def question(run: RunInfo) -> tuple[str, ...]:
    """The scenario's docstring by paragraphs, its line breaks undone."""
    paragraphs = (" ".join(paragraph.split()) for paragraph in run.question.split("\n\n"))
    return tuple(paragraph for paragraph in paragraphs if paragraph)


def answer(summary: Summary) -> str:
    """A few sentences with the figures that answer most questions."""
    return " ".join(filter(None, _answers(summary).values()))


def _answers(summary: Summary, *, share_alike: bool = False) -> dict[str, str]:
    """By name. ``share_alike``: also of consumers that share evenly."""
    if not summary["messages"]["sent"]:
        return {"fate": "No message was sent, so this run answers nothing."}
    return {
        "fate": fate_sentence(summary),
        "kinds": kinds_sentences(summary),
        "shares": shares_sentences(summary["consumers"], also_even=share_alike),
        "destinations": destinations_sentence(summary["destinations"]),
        "regions": regions_sentence(summary["regions"], summary["timing"]["doubtful"]),
        "latency": latency_sentence(summary),
    }
