"""Checks the report of faults: the first sentence, the dots and the tables."""

from pathlib import Path
from typing import Any, cast

import pytest

from records.figures.faults import TRAITS, FaultRecovery, Recovery
from reports.build import render
from reports.faults import fault_sentences, outage_rows, outages_table, recovery_sentences, recovery_table
from reports.inputs import read_results
from tests.reports.run_folder import RunPlan, summary, write_run_folder


def fault(**changes: Any) -> FaultRecovery:
    some = summary()["recovery"]["faults"][0] | {"kind": "kill", "target": "broker-2", "began_s": 10.004}
    back = {"cut_off": 34, "clients": 100, "never_back": 0, "outage_ms": {"p50": 300.0, "max": 1_900.0}}
    none_waited = {"backlog_highest": 3, "backlog_drained_s": 0.0, "drain_per_s": 900.0}
    usual = {"lost": 0, "duplicated": 12, "restored_s": 25.0}
    return cast(FaultRecovery, some | back | none_waited | usual | changes)


@pytest.mark.parametrize(
    ("changes", "sentences"),
    [
        (
            {},
            "broker-2 was killed at 10 s: 34 of 100 clients were cut off, the slowest for 1.9 s. "
            "No acknowledged message was lost, 12 were delivered twice.",
        ),
        (
            {"kind": "power-loss", "lost": 5_000, "duplicated": 0, "cut_off": 0}
            | {
                "at_risk": 6_000,
                "gone": 5_000,
                "lost_whole": 4,
                "lost_tails": 1,
                "lost_holes": 0,
                "oldest_lost_s": 4.42,
            },
            "broker-2 lost power at 10 s: no client was cut off. 5,000 acknowledged messages were lost, none was "
            "delivered twice. Of 6,000 messages that waited at broker-2, 5,000 are gone: 4 sequences lost everything "
            "and 1 sequence lost the last messages; the oldest of them was confirmed 4.42 s before the fault.",
        ),
        (
            {"restored_s": None, "cut_off": 0},
            "broker-2 was killed at 10 s and never came back: no client was cut off. "
            "No acknowledged message was lost, 12 were delivered twice.",
        ),
        (
            {"kind": "cut", "restored_s": None, "cut_off": 0},
            "broker-2 was cut at 10 s and stayed so: no client was cut off. "
            "No acknowledged message was lost, 12 were delivered twice.",
        ),
        (
            {"kind": "join", "restored_s": 25.6, "duplicated": 0},
            "broker-2 joined at 10 s and left at 25.6 s: 34 of 100 clients were cut off, the slowest for 1.9 s. "
            "No acknowledged message was lost, none was delivered twice.",
        ),
        (
            {"kind": "join", "restored_s": None, "cut_off": 0, "duplicated": 0},
            "broker-2 joined at 10 s: no client was cut off. "
            "No acknowledged message was lost, none was delivered twice.",
        ),
        (
            {"kind": "full-store", "restored_s": 14.13, "cut_off": 0, "duplicated": 0},
            "broker-2 had a full store from 10 s to 14.1 s: no client was cut off. "
            "No acknowledged message was lost, none was delivered twice.",
        ),
        (
            {"kind": "cut", "cut_off": 0, "duplicated": 0, "backlog_highest": 1_800, "backlog_drained_s": 18.25},
            "broker-2 was cut at 10 s: no client was cut off. "
            "No acknowledged message was lost, none was delivered twice. "
            "Up to 1,800 messages waited, and had arrived 18.2 s after the fault began, at 900 messages per second.",
        ),
        (
            {"kind": "away", "target": "consumers", "restored_s": 25.0, "duplicated": 0, "cut_off": 0}
            | {"backlog_highest": 1_800, "backlog_drained_s": 18.25, "drain_per_s": None},
            "consumers were away from 10 s to 25 s: no acknowledged message was lost, none was delivered twice. "
            "Up to 1,800 messages waited, and had arrived 18.2 s after the fault began.",
        ),
        (
            {"kind": "stop", "never_back": 0, "cut_off": 0, "duplicated": 0, "backlog_drained_s": None},
            "broker-2 was stopped at 10 s: no client was cut off. "
            "No acknowledged message was lost, none was delivered twice.",
        ),
        (
            {"kind": "freeze", "cut_off": 0, "duplicated": 0},
            "broker-2 was frozen at 10 s: no client was cut off. "
            "No acknowledged message was lost, none was delivered twice.",
        ),
        (
            {"kind": "stop", "never_back": 3, "lost": 1, "duplicated": 0, "outage_ms": {"p50": 300.0, "max": None}},
            "broker-2 was stopped at 10 s: 34 of 100 clients were cut off, 3 of them for good. "
            "1 acknowledged message was lost, none was delivered twice.",
        ),
        (
            {"kind": "stop", "stranded": 2, "cut_off": 0},
            "broker-2 was stopped at 10 s: no client was cut off. "
            "No acknowledged message was lost, 2 were stranded, 12 were delivered twice.",
        ),
        (
            {"kind": "restart", "cut_off": 1, "clients": 1, "lost": 2},
            "broker-2 was restarted at 10 s: 1 of 1 client was cut off, the slowest for 1.9 s. "
            "2 acknowledged messages were lost, 12 were delivered twice.",
        ),
    ],
)
def test_what_a_fault_did_is_told_in_short_sentences(changes: dict[str, Any], sentences: str) -> None:
    assert fault_sentences(fault(**changes)) == sentences


@pytest.mark.parametrize("kind", TRAITS)
@pytest.mark.parametrize("never_back", [0, 3])
def test_no_sentence_on_a_fault_has_more_than_30_words(kind: str, never_back: int) -> None:
    ended = {"restored_s": 25.6, "outage_ms": {"p50": 300.0, "max": None if never_back else 61_900.0}}
    waited = {"lost": 1_000, "stranded": 2, "backlog_highest": 1_800, "backlog_drained_s": 78.25, "drain_per_s": 900.0}
    longest = fault(kind=kind, target="source-to-sink", never_back=never_back, **ended, **waited)
    sentences = fault_sentences(longest, outage_doubtful=True)
    assert max(len(sentence.split()) for sentence in sentences.split(". ")) <= 30


@pytest.mark.parametrize(("held", "is_told"), [(None, True), (True, True), (False, False)])
def test_what_waited_is_not_laid_to_a_fault_if_the_rate_was_not_held_anyway(held: bool | None, is_told: bool) -> None:
    backlogged = fault(backlog_highest=14_064, backlog_drained_s=30.0)
    (sentence,) = recovery_sentences(cast(Recovery, {"faults": [backlogged]}), held=held)
    assert ("Up to 14,064 messages waited" in sentence) == is_told
    assert sentence.startswith("broker-2 was killed at 10 s: 34 of 100 clients were cut off")


def test_an_outage_that_is_doubtful_is_marked() -> None:
    (sentence,) = recovery_sentences(cast(Recovery, {"faults": [fault()]}), {"recovery.outage_ms.max": "why"}, False)
    assert "the slowest for 1.9 s (doubtful). No acknowledged" in sentence


@pytest.mark.parametrize(
    ("lost", "sentence"),
    [
        (0, "No acknowledged message is known to be lost, 12 were"),
        (1, "1 acknowledged message is known to be lost, 12 were"),
        (5, "5 acknowledged messages are known to be lost, 12 were"),
    ],
)
def test_a_loss_is_only_what_is_known_of_it_if_messages_are_unaccounted_for(lost: int, sentence: str) -> None:
    (told,) = recovery_sentences(cast(Recovery, {"faults": [fault(lost=lost, stranded=0)]}), unaccounted=3)
    assert sentence in told


def test_positions_of_losses_are_not_told_if_messages_are_unaccounted_for() -> None:
    gone = fault(at_risk=90, gone=12, lost_tails=2, oldest_lost_s=0.5)
    (known,) = recovery_sentences(cast(Recovery, {"faults": [gone]}))
    (unknown,) = recovery_sentences(cast(Recovery, {"faults": [gone]}), unaccounted=3)
    assert "Of 90 messages that waited at broker-2, 12 are gone: 2 sequences lost the last messages" in known
    assert "Of 90 messages that waited at broker-2, 12 were neither received nor found, but not all places" in unknown
    assert "are gone" not in unknown


def test_many_faults_are_not_all_told() -> None:
    sentences = recovery_sentences(cast(Recovery, {"faults": [fault() for _ in range(5)]}))
    assert sum("was killed" in line for line in sentences) == 3
    assert sentences[-1] == "2 further faults followed."
    assert recovery_sentences(cast(Recovery, {"faults": []})) == ()


def test_each_client_is_a_dot_or_never(mesh_run: Path) -> None:
    (row,) = outage_rows(read_results(mesh_run).tables["outages"])
    assert (row.name, row.outages_ms, row.never) == ("F1 pause broker-3: producers", (1_110.0, 1_210.0, 1_310.0), 1)


def test_the_table_has_a_row_a_client_and_says_never(mesh_run: Path) -> None:
    table = outages_table(read_results(mesh_run).tables["outages"])
    assert [row[4] for row in table.rows] == [1_110.0, 1_210.0, 1_310.0, None]
    assert [row[6] for row in table.rows] == [104.0, 204.0, 304.0, None]
    assert [row[8] for row in table.rows] == ["broker-1", "broker-1", "broker-1", "never"]


def test_the_recovery_table_has_a_column_a_fault() -> None:
    table = recovery_table(cast(Recovery, {"faults": [*summary()["recovery"]["faults"], fault(fault="F2")]}))
    assert [column.title for column in table.columns] == ["Figure", "F1, pause broker-3", "F2, kill broker-2"]
    assert [row[1] for row in table.rows[:5]] == ["30.0", "30.01", "33.2", "18", "4"]
    assert [row[2] for row in table.rows[:5]] == ["10.0", "30.01", "25.0", "100", "34"]
    assert recovery_table(cast(Recovery, {"faults": []})).rows == ()


def test_the_recovery_table_says_where_messages_were_stranded_and_for_how_long() -> None:
    places = [
        {"broker": "broker-1", "messages": 3, "oldest_s": 31.0},
        {"broker": "broker-3", "messages": 1, "oldest_s": None},
    ]
    stranded = cast(Recovery, {"faults": [fault(stranded=4, stranded_at=places, redelivered=5, reordered=7, late=9)]})
    table = recovery_table(stranded)
    cells = dict(table.rows)
    assert (cells["Stranded"], cells["Stranded at"]) == ("4", "broker-1: 3, the oldest for 31 s; broker-3: 1")
    assert (cells["Redelivered"], cells["Reordered"], cells["Late"]) == ("5", "7", "9")


def test_the_page_begins_with_what_the_fault_did_and_shows_the_outages(mesh_run: Path) -> None:
    html = render(read_results(mesh_run))
    answer = html.split('<p class="answer">')[1].split("</p>")[0]
    assert answer.startswith("broker-3 had the fault pause at 10 s: 4 of 18 clients were cut off, 1 of them for good.")
    assert 'id="outages-chart"' in html
    assert "1 never" in html


def test_a_page_of_a_run_without_faults_has_no_recovery(tmp_path: Path) -> None:
    html = render(read_results(write_run_folder(tmp_path, RunPlan(load_s=5, fault_s=None))))
    assert 'id="recovery"' not in html
    assert 'id="outages-chart"' not in html
