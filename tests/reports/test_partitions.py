"""Checks that the parts that a sentence of counts names add up to the whole that it names, for any summary."""

import json
import re
from pathlib import Path
from typing import Any, cast
from xml.etree import ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st

from analysis.run.verdict import Evidence, judge
from records.figures.clients import Rebalance
from records.figures.faults import FaultRecovery
from records.figures.latency import Lag
from records.figures.messages import KINDS, NOT_RECEIVED, KindCounts, LeftBehind, Messages
from records.figures.summary import Summary
from reports.clients.moves import moves_sentences
from reports.faults import fault_sentences
from reports.inputs import read_results
from reports.messages import kinds_sentences, kinds_table, outcome_sentence, places
from reports.nightly.judging import FAIL, INVALID, PASS, UNDECIDED, GateResult, Night, NightlyCell, answer
from reports.run.doubts import in_doubt_sentence
from reports.run.for_ci import junit, run_markdown
from reports.run.page import page
from tests.reports.run_folder import RunPlan, summary, write_run_folder

PLAN = RunPlan(load_s=2, per_s=10)
MADE_UP = summary(PLAN)
COUNT = st.integers(0, 12_000)
NAMES = st.sampled_from(["north", "south", "east", "west"])  # no digits, as a test reads numbers
NUMBER = re.compile(r"[\d,]*\d")


@st.composite
def summaries(draw: st.DrawFn) -> Any:
    """Any counts that a run may have: each message that subscriptions were owed is received, or one of NOT_RECEIVED."""
    parts = {name: draw(COUNT | st.just(0)) for name in NOT_RECEIVED}
    owed, beyond = draw(COUNT), draw(st.just(0) | COUNT)
    expected = owed + sum(parts.values())
    other_names = [name for name in Messages.__annotations__ if name not in parts]
    messages = {name: draw(st.just(0) | COUNT) for name in other_names}
    sent = expected if draw(st.booleans()) else draw(st.integers(1, 12_000))
    failed = parts["failed_not_received"] if draw(st.booleans()) else draw(COUNT)
    refused = draw(st.dictionaries(NAMES, st.integers(1, 50), max_size=4)) if failed else {}
    messages |= parts | {"expected": expected, "sent": max(sent, 1), "failed": failed}
    messages |= {"received": owed + beyond, "unowed_yet_received": beyond}
    row = st.tuples(NAMES, NAMES, st.sampled_from([*NOT_RECEIVED]), st.integers(1, 9_000))
    left_behind = [
        LeftBehind(queue=q, broker=b, outcome=o, messages=n) for q, b, o, n in draw(st.lists(row, max_size=4))
    ]
    return {**MADE_UP, "messages": messages, "refused": refused, "left_behind": left_behind}


def numbers(text: str) -> list[int]:
    return [int(number.replace(",", "")) for number in NUMBER.findall(text)]


def without_places(text: str) -> str:
    """Nor with how many brokers refused messages."""
    return re.sub(r" \([^)]*\)| by \d+ brokers", "", text)


def first_sentence(text: str) -> str:
    return without_places(text).partition(". ")[0]


def check_fate(text: str, made_up: Summary) -> None:
    """The whole is the expected messages. One part is the received messages; each nonzero count is another part."""
    messages: dict[str, int] = {**cast(dict[str, int], made_up["messages"])}
    sentence = first_sentence(text)
    whole, *parts = numbers(sentence)
    if "no subscription was owed any" in sentence:
        assert messages["expected"] == 0
        return
    assert whole == messages["expected"]
    if not sentence.startswith("Of "):
        assert sum(messages[name] for name in NOT_RECEIVED) == 0
        return
    parts = parts[1:] if " receptions of " in sentence else parts  # of so many messages
    assert sum(parts) == whole, text
    assert len(parts) >= 1 + sum(messages[name] > 0 for name in NOT_RECEIVED)


@given(summaries())
def test_the_parts_of_what_became_of_the_messages_add_up_to_the_messages(made_up: Any) -> None:
    check_fate(outcome_sentence(made_up), made_up)


@given(summaries())
def test_no_place_has_more_of_the_messages_left_behind_than_there_are(made_up: Any) -> None:
    for outcome in NOT_RECEIVED:
        count = made_up["messages"][outcome]
        where = places(made_up["left_behind"], outcome, count) if count else ""
        if "of them" in where or "(all" in where:
            assert sum(numbers(where)) <= count
        if "(all" in where:
            assert sum(row["messages"] for row in made_up["left_behind"] if row["outcome"] == outcome) == count


def test_every_rendering_of_a_run_has_the_sentence_whose_parts_add_up(tmp_path: Path) -> None:
    folder = write_run_folder(tmp_path, PLAN)
    parts = {name: number for number, name in enumerate(NOT_RECEIVED, start=1)}
    counted = {**MADE_UP["messages"], **parts, "expected": 120, "received": 120 - sum(parts.values()), "duplicated": 9}
    (folder / "summary.json").write_text(json.dumps({**MADE_UP, "messages": counted}), encoding="utf-8")
    results = read_results(folder)
    top, text = page(results).headline, run_markdown(results, Path("report.html")).replace("\\", "")
    for rendered in ("\n".join((top.answer, *top.further)), text):
        fate = next(line for line in rendered.splitlines() if "Of 120 messages" in line)
        check_fate(fate[fate.index("Of 120 messages") :].strip("*"), results.summary)
        assert fate.endswith("not received. Also: 9 duplicated.")


@given(summaries(), st.integers(1, 12_000))
def test_the_parts_of_what_was_confirmed_and_never_received_add_up(made_up: Any, acked: int) -> None:
    """In the verdict's reason, which JUnit's XML has too."""
    messages = {**made_up["messages"], "acked": acked, "unowed_yet_received": 0, "received": 0, "unexpected": 0}
    messages["expected"] = sum(messages[name] for name in NOT_RECEIVED)
    lag = Lag(p50=0.1, p99=0.2, p99_9=0.3, max=0.4, blocked_slots=0)
    reasons = judge(Evidence("ended", (), (), cast(Messages, messages), lag, ())).reasons
    sentences = [reason for reason in reasons if "though brokers confirmed" in reason]
    xml = junit({**made_up, "verdict": "fail", "reasons": list(reasons), "checks": []})
    case = ET.fromstring(xml).find(".//testcase[@name='verdict']/failure")
    assert case is not None
    for reason in sentences:
        confirmed, whole, *parts = numbers(reason)
        assert (confirmed, whole) == (acked, sum(parts))
        assert reason[1:] in str(case.get("message"))


@given(st.integers(0, 500), st.integers(0, 500), st.integers(0, 500))
def test_of_messages_in_doubt_no_more_were_received_than_there_were(
    in_doubt: int, recovered: int, missing: int
) -> None:
    messages = {"in_doubt": in_doubt, "recovered": recovered, "in_doubt_not_received": missing}
    stayed, *receptions = numbers(in_doubt_sentence(cast(Messages, messages)))
    assert stayed == in_doubt
    assert receptions in ([recovered], [recovered + missing, recovered])
    assert recovered <= [in_doubt, *receptions[:-1]][-1]


@given(st.integers(0, 60), st.integers(0, 60), st.data())
def test_no_more_clients_were_cut_off_than_there_were_and_no_more_of_them_for_good(
    clients: int, cut_off: int, data: st.DataObject
) -> None:
    never = data.draw(st.integers(0, cut_off))
    fault = {**MADE_UP["recovery"]["faults"][0], "target": "north", "began_s": 7.0, "backlog_highest": 0}
    fault |= {"clients": clients, "cut_off": cut_off, "never_back": never, "outage_ms": {"p50": None, "max": None}}
    clause = fault_sentences(cast(FaultRecovery, fault)).partition(": ")[2].partition(". ")[0]
    whole = [clients] if cut_off <= clients else []  # the others were connected only later
    assert numbers(clause) == ([cut_off, *whole, *([never] if never else [])] if cut_off else [])


@st.composite
def kinds(draw: st.DrawFn) -> dict[str, int]:
    counts_of_kind = {name: draw(st.just(0) | COUNT) for name in KindCounts.__annotations__}
    shown = ("lost", "missing_unconfirmed", "pending", "unaccounted")
    counts_of_kind["undelivered"] = sum(counts_of_kind[name] for name in shown) + draw(COUNT)
    beside = ("undelivered", "missed_away", "unselected", "failed_not_received", "in_doubt_not_received")
    counts_of_kind["expected"] = sum(counts_of_kind[name] for name in beside) + counts_of_kind["received"]
    counts_of_kind["received"] += counts_of_kind["unowed_yet_received"]
    return counts_of_kind


@given(st.dictionaries(st.sampled_from(KINDS), kinds(), min_size=1))
def test_each_kind_of_messages_adds_up_to_what_was_sent(by_kind: dict[str, dict[str, int]]) -> None:
    table = kinds_table(cast(Summary, {"kinds": by_kind}))
    for row in table.rows:
        shown = dict(zip((column.title for column in table.columns), row, strict=True))
        parts = ("Confirmed and lost", "Unconfirmed and missing", "Pending", "Unaccounted for", "Not owed")
        missing = sum(cast(int, shown[title]) for title in (*parts, "Not received otherwise"))
        received = cast(int, shown["Received"]) - cast(int, shown["Received beyond"])
        assert received + missing == shown["Sent"]


@given(st.dictionaries(st.sampled_from(KINDS), kinds(), min_size=2))
def test_the_parts_of_what_a_kind_of_messages_did_not_deliver_add_up(by_kind: dict[str, dict[str, int]]) -> None:
    sentence = kinds_sentences(cast(Summary, {"kinds": by_kind})).partition(". ")[0]
    parts = [numbers(text) for text in re.findall(r"\(([^)]*)\)", sentence)]
    incomplete = [kind for kind in by_kind.values() if kind["undelivered"]]
    assert [part[:2] for part in parts] == [[kind["undelivered"], kind["expected"]] for kind in incomplete]
    assert [sum(part[2:]) for part in parts] == [kind["undelivered"] for kind in incomplete]
    assert (
        numbers(sentence)[:2] == [len(incomplete), len(by_kind)] if incomplete else numbers(sentence) == [len(by_kind)]
    )


@given(st.tuples(*[st.tuples(COUNT, COUNT, st.just(0) | COUNT)] * 2))
def test_the_clients_at_each_moment_add_up_to_all_of_them(moments: tuple[tuple[int, int, int], ...]) -> None:
    clients = max(sum(moment) for moment in moments)
    rows = [
        {"moment": name, "connected": {"north": a, "south": b}, "off": clients - a - b}
        for name, (a, b, _) in zip(("begin", "end"), moments, strict=True)
    ]
    balance = {"moves": 1, "moved": 1, "clients": clients, "off_ms": {"p50": None, "max": None}, "not_settled": 0}
    balance |= {"settled_s": None, "groups": [{"group": "takers", "clients": clients, "moments": rows}]}
    whereabouts = moves_sentences(cast(Rebalance, balance), []).split(". ")
    for at_one_moment in (sentence for sentence in whereabouts if " had " in sentence):
        assert sum(numbers(at_one_moment.replace("/", " "))) == clients


@given(st.lists(st.sampled_from([PASS, FAIL, UNDECIDED, INVALID]), min_size=1, max_size=30))
def test_the_gates_of_a_night_by_outcome_add_up_to_all_of_them(outcomes: list[str]) -> None:
    cell = NightlyCell("steady", "mesh", (), (), None)
    night = Night(
        "tonight", "plan", (cell,), tuple(GateResult(cell, "arm", "gate", outcome) for outcome in outcomes), ""
    )
    last = answer(night).rpartition(". ")[2] if ". " in answer(night) else answer(night)
    passed, whole, *other_counts = numbers(last)
    assert whole == len(outcomes)
    assert passed + sum(other_counts) == whole
