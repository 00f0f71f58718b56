"""The top of a report: verdict in words, answer to the scenario's question, ten key figures, and checks."""

from dataclasses import dataclass, replace

from records.figures.declaration import declared, titles
from records.figures.latency import Latency
from records.figures.messages import Messages
from records.figures.summary import Summary
from records.run import RunInfo
from reports.clients.consumers import shares_sentences
from reports.clients.moves import moves_sentences
from reports.faults import probable_cause, recovery_sentences, unplanned_sentences
from reports.latency.main_measure import DUE, main_measure
from reports.latency.places import latency_sentence, regions_sentence
from reports.load import connections_sentence, cost_sentence, rate_sentence, steps_sentence
from reports.messages import destinations_sentence, kinds_sentences, outcome_sentence
from reports.network.links import mirror_sentences
from reports.parts.numbers import ABSENT, joined, sentence, significant, whole
from reports.parts.values import ANY, Columns, KeyFigure, Table, table_of

MEANING = {
    "pass": ("Passed", "Every check held, and every message is accounted for."),
    "fail": ("Failed", "At least one check did not hold, no message arrived, or a received message was corrupted."),
    "unknown": ("Unknown", "At least one check could not be decided: this is not a pass."),
    "invalid": (
        "Invalid",
        "The run has no valid result; the reasons are listed below. Use its figures for diagnosis only.",
    ),
    "interrupted": ("Interrupted", "The run was stopped before its planned end. The figures cover the part before."),
}

ABORTED = "The load was aborted by --abort-on: this is not a pass. The figures cover the part before."

ODD = titles(
    Messages,
    "lost",
    "missing_unconfirmed",
    "stranded",
    "left_unconfirmed",
    "dead_lettered",
    "unaccounted",
    "duplicated",
    "reordered",
    "corrupted",
    "unexpected",
    "unknown_attempts",
    "foreign",
)
"""Counts that must all be 0 before a page says that every message is accounted for."""


@dataclass(frozen=True)
class Headline:
    verdict: str
    word: str
    meaning: str
    reasons: tuple[str, ...]
    answer: str
    further: tuple[str, ...]
    question: tuple[str, ...]
    timing: tuple[str, ...] = ()  # which figures not to rely on, and why: one line per measure


ONLY_FIRST = ("moves", "cost", "rate")
"""Subjects that are mentioned only if they answer the scenario's question."""


def headline(run: RunInfo, summary: Summary) -> Headline:
    verdict = summary["verdict"]
    word, meaning = MEANING[verdict]
    if summary["aborted"]:
        meaning = ABORTED
    if verdict == "pass":
        meaning = _meaning_of_a_pass(summary["messages"]) or meaning
    reasons = tuple(map(sentence, summary["reasons"]))
    answer, further = _answer_and_further(run, summary)
    return Headline(verdict, word, meaning, reasons, answer, further, question(run), _timing(summary))


def _meaning_of_a_pass(messages: Messages) -> str:
    """Return the meaning of a pass with irregular messages that no check forbids; empty without irregular messages."""
    odd = [f"{messages[name]:,} {words}" for name, words in ODD.items() if messages[name]]  # type: ignore[literal-required]
    return f"Every check held. Also observed, and not forbidden by any check: {joined(odd)}." if odd else ""


def _answer_and_further(run: RunInfo, summary: Summary) -> tuple[str, tuple[str, ...]]:
    """Return the answer to the scenario's question, with a missed rate first, and the remaining sentences."""
    rate, answered_by = summary["offered_rate"], run.answered_by
    about = {
        "unplanned": unplanned_sentences(summary["unplanned"]),
        "mirror": mirror_sentences(summary["mirror"]),
        "steps": _steps(summary),
        "connections": connections_sentence(summary["connections"]),
        **_answers(summary, share_alike="shares" in answered_by),
        "moves": moves_sentences(summary["rebalance"], summary["recovery"]["faults"]) if "moves" in answered_by else "",
        "cost": cost_sentence(summary),
        "rate": rate_sentence(summary),
    }
    if not _have_several(run) and summary["destinations"]["all_flow_s"] is not None:
        about["destinations"] = ""  # a class each: which one came last is of no interest
    unaccounted = summary["messages"]["unaccounted"]
    faults = recovery_sentences(
        summary["recovery"], summary["timing"]["doubtful"], rate["held"], unaccounted=unaccounted
    )
    texts_by_subject = {"faults": faults, **{name: (text,) for name, text in about.items() if text}}
    further = [
        text for name, texts in texts_by_subject.items() for text in texts if name not in (*answered_by, *ONLY_FIRST)
    ]
    further += filter(None, [probable_cause(run, summary)])
    answering = [
        text
        for text in (rate["note"], *(text for name in answered_by for text in texts_by_subject.get(name, ())))
        if text
    ]
    return " ".join(answering or further[:1]), tuple(further if answering else further[1:])


def _timing(summary: Summary) -> tuple[str, ...]:
    """Split the note on timing into measures. Each part ends with its reason in parentheses."""
    note = summary["timing"]["note"]
    return tuple(note.replace("); ", ");\n").split("\n")) if note else ()


def _have_several(run: RunInfo) -> bool:
    """Return whether the users of a class have several destinations."""
    return any(len(user.destinations) > 1 for user in run.users)


def _steps(summary: Summary) -> str:
    return steps_sentence(summary["steps"], summary["throughput"]["held_per_s"], summary["limit"])


def question(run: RunInfo) -> tuple[str, ...]:
    """Return the paragraphs of the scenario's docstring, without its line breaks."""
    paragraphs = (" ".join(paragraph.split()) for paragraph in run.question.split("\n\n"))
    return tuple(paragraph for paragraph in paragraphs if paragraph)


def answer(summary: Summary) -> str:
    """Return a few sentences with the figures that answer most questions."""
    return " ".join(filter(None, _answers(summary).values()))


def _answers(summary: Summary, *, share_alike: bool = False) -> dict[str, str]:
    """Return sentences by subject. ``share_alike``: also mention consumers that share evenly."""
    if not summary["messages"]["sent"]:
        return {"fate": "No message was sent, so this run does not answer its question."}
    return {
        "fate": outcome_sentence(summary),
        "kinds": kinds_sentences(summary),
        "shares": shares_sentences(summary["consumers"], also_even=share_alike),
        "destinations": destinations_sentence(summary["destinations"]),
        "regions": regions_sentence(summary["regions"], summary["timing"]["doubtful"]),
        "latency": latency_sentence(summary),
    }


MEANS = declared(Messages)
UNMEASURED: Latency = {
    "count": 0,
    "negative": 0,
    "min": None,
    "p50": None,
    "p90": None,
    "p99": None,
    "p99_9": None,
    "p99_99": None,
    "max": None,
}


def key_figures(summary: Summary) -> tuple[KeyFigure, ...]:
    """Return the key figures; an unknown one has no unit."""
    figures = (*_messages(summary), *_latency(summary), *_cost(summary))
    return tuple(replace(figure, unit="") if figure.value == ABSENT else figure for figure in figures)


def _messages(summary: Summary) -> tuple[KeyFigure, ...]:
    messages, throughput = summary["messages"], summary["throughput"]
    per_s = significant(throughput["received_per_s"])
    return (
        KeyFigure("Sent", whole(messages["sent"]), "messages", MEANS["sent"].means),
        KeyFigure("Received", whole(messages["received"]), "messages", MEANS["received"].means),
        _lost(summary),
        _irregular_count(summary, "Duplicated", "duplicated", messages["duplicated"]),
        KeyFigure("Throughput", per_s, "msg/s", "First deliveries, mean over the load phase."),
    )


def _lost(summary: Summary) -> KeyFigure:
    """Return the count of lost messages; a range if unaccounted messages may be lost, too."""
    messages = summary["messages"]
    figure = _irregular_count(summary, "Lost", "lost", messages["lost"])
    if not messages["unaccounted"]:
        return figure
    most = messages["lost"] + messages["unaccounted"]
    return replace(figure, value=f"{figure.value} to {whole(most)}", tone=figure.tone if messages["lost"] else "")


def _irregular_count(summary: Summary, label: str, name: str, count: int) -> KeyFigure:
    """Return a count, colored by its checks. Without a check, 0 is good and any other count is bad."""
    outcomes = {check["outcome"] for check in summary["checks"] if check["metric"] == f"messages.{name}"}
    bad = "fail" in outcomes or (count > 0 and "pass" not in outcomes)
    return KeyFigure(label, whole(count), "messages", MEANS[name].means, "bad" if bad else "" if count else "good")


def _latency(summary: Summary) -> tuple[KeyFigure, ...]:
    measure = main_measure(summary)
    latency = summary["latency_ms"].get(measure, UNMEASURED)
    note = f"From the time it was {'due' if measure == DUE else 'sent'} to its first receipt."
    return (
        _timed(summary, "Latency, median", "p50", latency["p50"], note),
        _timed(summary, "Latency, p99", "p99", latency["p99"], _one_in(latency, 100)),
        _timed(summary, "Latency, p99.9", "p99_9", latency["p99_9"], _one_in(latency, 1_000)),
    )


def _timed(summary: Summary, label: str, name: str, value_ms: float | None, note: str) -> KeyFigure:
    """Return a latency as a key figure. If it is doubtful, it is marked, and the note has the reason."""
    reason = summary["timing"]["doubtful"].get(f"latency_ms.{main_measure(summary)}.{name}")
    note_and_doubt = f"{note} Doubtful: {reason}." if reason else note
    return KeyFigure(label, significant(value_ms), "ms", note_and_doubt, "doubtful" if reason else "")


def _one_in(latency: Latency, share: int) -> str:
    if latency["count"] < 10 * share:
        return f"One message in {share:,} took longer. These are fewer than ten, so the figure is left out."
    return f"One message in {share:,} took longer."


def _cost(summary: Summary) -> tuple[KeyFigure, ...]:
    lag, throughput = summary["lag_ms"], summary["throughput"]
    brokers, generator = throughput["cpu_ms_per_message_brokers"], throughput["cpu_ms_per_message_generator"]
    waited = throughput["core_wait_ms_per_message_brokers"]
    cpu = "All brokers together."
    if generator is not None:
        cpu = f"All brokers together; the load generator took {significant(generator)} ms."
    if waited is not None:
        cpu += f" The brokers' threads also waited {significant(waited)} ms for a core."
    return (
        KeyFigure("Generator lag, p99", significant(lag["p99"]), "ms", "Send delay caused by the generator itself."),
        KeyFigure("CPU per message", significant(brokers), "ms", cpu),
    )


OUTCOME_WORDS = {"pass": "✓ held", "fail": "✗ failed", "unknown": "? undecided"}


def checks_table(summary: Summary) -> Table:
    columns: Columns = (
        ("Check", None, "name"),
        ("Outcome", None, lambda check: OUTCOME_WORDS.get(check["outcome"], check["outcome"])),
        ("Value", ANY, "value"),
        ("Rule", None, lambda check: f"{check['metric']} {_rule(check['rule'])}"),
    )
    return table_of("Checks", summary["checks"], columns, "This scenario has no checks.")


def _rule(rule: str) -> str:
    """Return ``<= 20`` as ``≤ 20``, with a nonbreaking space."""
    return rule.replace("<=", "≤").replace(">=", "≥").replace(" ", "\u00a0")
