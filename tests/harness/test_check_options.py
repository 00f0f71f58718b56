"""Checks that --check options are parsed correctly, and that unknown figures are rejected."""

import pytest

from analysis.run.checks import evaluate
from harness.checks import parse_checks
from records.errors import UserError
from records.figures.checks import Check
from records.figures.declaration import FAULTS, MIRROR, MORE_CLIENTS, NEEDS, REGIONS, REPLIES, SCHEDULE, STEPS, Need
from records.figures.messages import KINDS
from records.figures.summary import FIGURES


def test_each_sign_is_a_check_by_the_text_as_its_name() -> None:
    p99 = "latency_ms.due_to_received.p99"
    text = f"{p99} < 50; {p99}<=50;{p99} > 1;{p99} >= 1 ; messages.lost == 0"
    assert parse_checks(text, present=(SCHEDULE,)) == (
        Check(f"{p99} < 50", p99, below=50),
        Check(f"{p99}<=50", p99, at_most=50),
        Check(f"{p99} > 1", p99, above=1),
        Check(f"{p99} >= 1", p99, at_least=1),
        Check("messages.lost == 0", "messages.lost", at_most=0, at_least=0),
    )


def test_a_label_in_braces_names_a_consumer_class_or_a_destination() -> None:
    p99 = "latency_ms.due_to_received.p99"
    text = f"{p99}{{OrderConsumer}} < 50; {p99}{{queue://orders}} < 80"
    assert parse_checks(text, present=(SCHEDULE,)) == (
        Check(f"{p99}{{OrderConsumer}} < 50", f"{p99}{{OrderConsumer}}", below=50),
        Check(f"{p99}{{queue://orders}} < 80", f"{p99}{{queue://orders}}", below=80),
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("messages.lost{OrderConsumer} <= 0", "only figures of latency_ms.due_to_received can have a label"),
        ("latency_ms.sent_to_received.p99{A} < 5", "only figures of latency_ms.due_to_received can have a label"),
        ("latency_ms.due_to_received.p99{} < 5", "cannot be read"),
        ("latency_ms.due_to_received.p99{A < 5", "cannot be read"),
        ("latency_ms.due_to_received.p99{ } < 5", "the label in braces is empty"),
        ("messages.lost{ } <= 0", "the label in braces is empty"),
        ("latency_ms.due_to_received.p98{A} < 5", "the summary has no figure"),
    ],
)
def test_a_label_elsewhere_is_rejected(text: str, why: str) -> None:
    with pytest.raises(UserError, match=why):
        parse_checks(text)


@pytest.mark.parametrize(("number", "written"), [("0", "0"), ("5000", "5000"), ("0.5", "0.5"), ("1e3", "1000.0")])
def test_a_whole_number_stays_whole(number: str, written: str) -> None:
    (check,) = parse_checks(f"messages.lost <= {number}")
    assert repr(check.at_most) == written


def test_figures_of_rebalance_need_no_fault_unless_they_are_about_settling() -> None:
    text = "rebalance.moves_per_client.max <= 2; rebalance.at_end.jain > 0.9"
    assert [check.metric for check in parse_checks(text, present=(SCHEDULE,))] == [
        "rebalance.moves_per_client.max",
        "rebalance.at_end.jain",
    ]


@pytest.mark.parametrize(
    ("text", "need"),
    [
        ("recovery.outage_ms.max < 5000", FAULTS),
        ("connections.held >= 10", MORE_CLIENTS),
        ("throughput.held_per_s > 500", STEPS),
        ("latency_ms.round_trip.p99 < 50", REPLIES),
        ("mirror.lag_s.max < 5", MIRROR),
        ("regions.across.p50 < 50", REGIONS),
    ],
)
def test_a_figure_needs_nothing_but_what_its_run_has(text: str, need: Need) -> None:
    assert [check.name for check in parse_checks(text, present={need, SCHEDULE})] == [text]
    with pytest.raises(UserError, match="figure"):
        parse_checks(text, present={*NEEDS} - {need})


def test_the_known_figures_are_the_numbers_of_the_summary() -> None:
    figures = [*FIGURES]
    some = {"messages.lost", "leftovers", "latency_ms.sent_to_settled.p99_9", "recovery.outage_ms.max", "lag_ms.p99"}
    assert some <= set(figures)
    assert len(figures) == len(set(figures))
    assert not {"run_id", "checks", "summary_version", "blocked.brokers", "recovery.faults"} & set(figures)


@pytest.mark.parametrize(
    ("check", "value", "outcome", "rule"),
    [
        (Check("c", "leftovers", below=5), 5, "fail", "< 5"),
        (Check("c", "leftovers", below=5), 4.9, "pass", "< 5"),
        (Check("c", "leftovers", above=5), 5, "fail", "> 5"),
        (Check("c", "leftovers", above=5), 6, "pass", "> 5"),
        (Check("c", "leftovers", at_most=5, at_least=5), 5, "pass", ">= 5 and <= 5"),
    ],
)
def test_below_and_above_leave_out_their_bound(check: Check, value: float, outcome: str, rule: str) -> None:
    (result,) = evaluate((check,), {"leftovers": value})
    assert (result["outcome"], result["rule"]) == (outcome, rule)


@pytest.mark.parametrize("kind", KINDS)
def test_a_figure_by_its_old_name_is_refused_with_the_new_one(kind: str) -> None:
    with pytest.raises(UserError) as refusal:
        parse_checks(f"kinds.{kind}.stranded <= 0", present=NEEDS)
    assert str(refusal.value) == (
        f"'kinds.{kind}.stranded <= 0': the summary no longer has a figure 'kinds.{kind}.stranded', "
        f"as stranded means confirmed messages only; write 'kinds.{kind}.pending'"
    )
    assert parse_checks(f"kinds.{kind}.pending <= 0", present=NEEDS)[0].metric == f"kinds.{kind}.pending"
