"""Checks the sentence on what became of the messages."""

from pathlib import Path
from typing import Any

import pytest

from records.figures.messages import LeftBehind
from reports.inputs import Results, read_results
from reports.messages import MOST_ROWS, left_behind_table, outcome_sentence
from reports.run.page import accounting_section
from tests.reports.run_folder import RunPlan, summary

SENT = 120


def summary_with(**changed: Any) -> Any:
    plan = RunPlan(load_s=2, per_s=10)
    return summary(plan) | changed


def counts(**changed: int) -> dict[str, int]:
    messages: dict[str, int] = summary_with()["messages"]
    return messages | changed


@pytest.mark.parametrize(
    ("failed", "refused", "sentence"),
    [
        (60, {"broker-2": 60}, "60 refused by broker-2"),
        (60, {"broker-1": 20, "broker-2": 40}, "60 refused by broker-2 (40) and broker-1 (20)"),
        (60, {f"broker-{n}": 15 for n in range(4)}, "60 refused by 4 brokers"),
        (3, {}, "3 never written to a broker"),
        (5, {"broker-1": 2}, "2 refused by broker-1 and 3 never written to a broker"),
    ],
)
def test_refused_messages_are_told_with_the_brokers_that_refused_them(
    failed: int, refused: dict[str, int], sentence: str
) -> None:
    run_summary = summary_with(
        messages=counts(failed=failed, failed_not_received=failed, received=SENT - failed), refused=refused
    )
    assert outcome_sentence(run_summary) == f"Of 120 messages sent, {SENT - failed} were received; {sentence}."


def left_behind_at(queue: str, broker: str, outcome: str, messages: int) -> LeftBehind:
    return LeftBehind(queue=queue, broker=broker, outcome=outcome, messages=messages)


STRANDED = (
    left_behind_at("ttl.third", "broker-2", "stranded", 40),
    left_behind_at("ttl.second", "broker-1", "stranded", 20),
)


def fate_text(count: int, *places: LeftBehind, outcome: str = "stranded") -> str:
    run_summary = summary_with(messages=counts(**{outcome: count, "received": SENT - count}), left_behind=[*places])
    return outcome_sentence(run_summary).partition("; ")[2]


def test_the_queue_and_broker_with_most_of_what_was_left_behind_are_named() -> None:
    rows = (left_behind_at("ttl.first", "broker-1", "stranded", 10), *STRANDED)
    assert fate_text(70, *rows) == "70 left on a queue (40 of them on ttl.third at broker-2)."


def test_two_places_with_what_was_left_behind_are_both_named() -> None:
    sentence = "60 left on a queue (40 of them on ttl.third at broker-2 and 20 on ttl.second at broker-1)."
    assert fate_text(60, *STRANDED) == sentence


def test_one_place_is_said_to_have_all_only_if_all_were_found_there() -> None:
    assert fate_text(40, STRANDED[0]) == "40 left on a queue (all on ttl.third at broker-2)."
    expired = left_behind_at("ttl.third", "broker-2", "expired", 40)
    sentence = "60 expired (40 of them on ttl.third at broker-2)."
    assert fate_text(60, expired, outcome="expired") == sentence, "brokers counted the others"


def test_stored_messages_are_reported_apart_from_missed_receptions() -> None:
    """One message is stored once for all subscriptions, another twice on a queue.

    Both numbers differ from the number of missed receptions.
    """
    kept_once, twice = (
        left_behind_at("sf.cluster", "broker-2", "stranded", 1),
        left_behind_at("orders", "broker-2", "stranded", 4),
    )
    assert fate_text(6, kept_once) == "6 left on a queue (as 1 message on sf.cluster at broker-2)."
    assert fate_text(2, twice) == "2 left on a queue (as 4 messages on orders at broker-2)."


def test_each_outcome_of_messages_left_behind_has_its_place() -> None:
    places = [
        *STRANDED[:1],
        left_behind_at("DLQ", "broker-1", "dead_lettered", 5),
        left_behind_at("q", "broker-1", "copy", 90),
    ]
    run_summary = summary_with(messages=counts(stranded=40, dead_lettered=5, received=75), left_behind=places)
    assert outcome_sentence(run_summary) == (
        "Of 120 messages sent, 75 were received; 40 left on a queue (all on ttl.third at broker-2) "
        "and 5 sent to a dead-letter queue (all on DLQ at broker-1). "
        "Also: 90 left on a queue as well (all on q at broker-1)."
    )


def test_messages_that_were_received_and_left_on_a_queue_too_are_in_the_first_sentence() -> None:
    """As at the target of a mirror that copies no acknowledgments."""
    copies = [left_behind_at("orders", "broker-2", "copy", 120)]
    run_summary = summary_with(messages=counts(received=120), left_behind=copies)
    assert outcome_sentence(run_summary) == (
        "All 120 messages sent were received. Also: 120 left on a queue as well (all on orders at broker-2)."
    )


def test_what_was_left_behind_is_in_a_table_by_queue_and_broker() -> None:
    assert left_behind_table([*STRANDED, left_behind_at("q", "broker-3", "unselected", 1)]).rows == (
        ("ttl.third", "broker-2", 40, "stranded"),
        ("ttl.second", "broker-1", 20, "stranded"),
        ("q", "broker-3", 1, "no selector matches"),
    )
    many = left_behind_table([left_behind_at(f"q.{n}", "a", "stranded", 1) for n in range(MOST_ROWS + 1)])
    assert (len(many.rows), many.caption) == (50, "Left behind after the drain, the first 50 of 51 rows")


def test_a_run_that_left_nothing_behind_has_no_table_of_it(mesh_run: Path) -> None:
    results = read_results(mesh_run)

    def captions(summary: Any) -> list[str]:
        changed_results = Results(results.run, summary, results.tables, None)
        return [table.caption for table in accounting_section(changed_results).tables]

    assert "Left behind after the drain" not in captions(results.summary)
    assert "Left behind after the drain" in captions({**results.summary, "left_behind": [*STRANDED]})
