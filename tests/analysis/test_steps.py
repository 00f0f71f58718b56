"""Checks the result of each step of a load, with planted counts and latencies."""

from collections.abc import Mapping

import pyarrow as pa
import pytest

from analysis.latency.seconds import LatencyBySecond
from analysis.load.steps import Asked, held_per_s, step_results
from records.figures.load import StepResult
from records.loads.rate_steps import parse_steps
from records.run import SearchedStep
from records.tables.results import RATES
from tests.analysis.rows import latency_by_second, latency_row, rates_table

STEPS = parse_steps("100,200@10s")
WARM_UP_S = 3


def rates(due: Mapping[int, int], received: Mapping[int, int]) -> pa.Table:
    """Messages are sent and confirmed in the second when they are due."""
    return rates_table({"due": due, "sent": due, "acked": due, "received": received})


def latency(due: Mapping[int, int]) -> LatencyBySecond:
    """A message due in second n of the load takes n + 1 ms. Confirmations take 900 ms."""
    return latency_by_second(
        latency_row(measure, at_s, ms, count, phase="load" if at_s >= 0 else "warm_up")
        for at_s, count in due.items()
        for measure, ms in (("due_to_received", max(at_s, 0) + 1), ("sent_to_settled", 900))
    )


def planned(first_per_s: int = 100, second_per_s: int = 200) -> dict[int, int]:
    """Messages by second, for the warm-up and the two steps."""
    return {at: first_per_s for at in range(-WARM_UP_S, 10)} | {at: second_per_s for at in range(10, 20)}


def results(
    received: Mapping[int, int], load_s: float | None = 20.0, copies: float = 1.0, due: Mapping[int, int] | None = None
) -> list[StepResult]:
    due = due or planned()
    return step_results(Asked(STEPS), rates(due, received), latency(due), load_s, copies)


def test_each_completed_step_is_held_with_its_own_latencies() -> None:
    """Latencies come from the step's judged seconds, so its row and its reason show the same p99."""
    step_1, step_2 = results(planned())
    assert (step_1["from_s"], step_1["until_s"], step_2["from_s"], step_2["until_s"]) == (0, 10, 10, 20)
    assert [step["received_per_s"] for step in (step_1, step_2)] == [100, 200]
    assert [step["due_to_received_ms"]["count"] for step in (step_1, step_2)] == [800, 1_600]
    assert [(step["due_to_received_ms"]["min"], step["due_to_received_ms"]["max"]) for step in (step_1, step_2)] == [
        (3, 10),
        (13, 20),
    ]
    assert [step["backlog"] for step in (step_1, step_2)] == [0, 0]
    assert step_1["held"]
    assert step_2["held"]


def test_a_broker_limited_to_150_per_second_holds_only_the_first_step() -> None:
    step_1, step_2 = results(planned(second_per_s=150))
    assert (step_1["held"], step_2["held"]) == (True, False)
    assert (step_2["received_per_s"], step_2["backlog"]) == (150, 500)


def test_a_step_is_not_held_until_it_has_drained_the_previous_backlog() -> None:
    due = {at: 400 for at in range(-WARM_UP_S, 10)} | {at: 200 for at in range(10, 20)}
    received = {at: 300 for at in range(-WARM_UP_S, 20)}
    step_1, step_2 = step_results(Asked(parse_steps("400,200@10s")), rates(due, received), latency(due), 20.0, 1.0)
    assert step_1["backlog"] == 1_300
    assert (step_2["backlog"], step_2["received_per_s"], step_2["held"]) == (300, 300, False)


def test_what_was_due_and_not_sent_is_not_held() -> None:
    due, sent = planned(), planned(second_per_s=150)
    counts = rates(due, sent).to_pylist()
    capped = [
        row | {"count": min(row["count"], 75)} if row["event"] in ("sent", "acked") and row["second"] >= 10 else row
        for row in counts
    ]
    (step_1, step_2) = step_results(Asked(STEPS), pa.Table.from_pylist(capped, RATES), latency(due), 20.0, 1.0)
    assert (step_1["held"], step_2["held"], step_2["sent_per_s"]) == (True, False, 150)


def test_each_subscriber_of_a_topic_has_to_keep_up() -> None:
    twice = {step_2: 2 * count for step_2, count in planned().items()}
    assert [step["held"] for step in results(twice, copies=2.0)] == [True, True]
    assert [step["held"] for step in results(planned(), copies=2.0)] == [False, False]


@pytest.mark.parametrize(("load_s", "whole"), [(None, 0), (9.0, 0), (10.0, 1), (19.9, 2), (20.0, 2), (14.0, 1)])
def test_a_step_that_the_load_did_not_go_through_to_its_end_is_left_out(load_s: float | None, whole: int) -> None:
    assert len(results(planned(), load_s)) == whole


def test_the_highest_rate_held_has_only_held_steps_below_it() -> None:
    held, low = results(planned()), results(planned(second_per_s=150))
    assert (held_per_s(held), held_per_s(low), held_per_s([])) == (200, 100, None)
    after_a_spike = [*low, StepResult(**{**low[0], "held": False})]
    assert held_per_s(after_a_spike) == 0


def test_a_load_without_steps_has_none() -> None:
    assert step_results(Asked(()), rates(planned(), planned()), latency(planned()), 20.0, 1.0) == []


def searched(*held: bool) -> tuple[SearchedStep, ...]:
    """A search's results for the two steps, in order."""
    return tuple(SearchedStep(10 * place, found, "seen live") for place, found in enumerate(held))


def asked(p99_ms: float, found: tuple[SearchedStep, ...] = ()) -> list[StepResult]:
    """All messages are received. The slowest hundredth in the judged seconds took 10 and 20 ms."""
    return step_results(Asked(STEPS, 0, p99_ms, found), rates(planned(), planned()), latency(planned()), 20.0, 1.0)


def test_a_step_too_short_for_its_p99_is_unknown() -> None:
    """800 messages in its judged seconds; the second step has 1,600."""
    step_1, step_2 = asked(30)
    assert (step_1["held"], step_2["held"]) == (None, True)
    assert "a p99 needs 1,000" in step_1["why"]
    assert [step["held"] for step in asked(8)] == [False, False], "100 of 800 are slower, and ten are enough"


def test_a_step_is_unknown_if_the_search_found_the_opposite() -> None:
    assert [step["held"] for step in asked(30, searched(True, True))] == [None, True]
    step_1, step_2 = asked(30, searched(False, False))
    assert (step_1["held"], step_2["held"]) == (None, None)
    assert "while the load ran it was found not held: seen live; by the recorded events it was held" in step_2["why"]
    assert [step["held"] for step in asked(8, searched(False, True))] == [False, None]


def test_nothing_is_claimed_of_unknown_rates() -> None:
    unknown, not_held = asked(30)[0], asked(8)
    assert held_per_s([unknown]) is None
    assert held_per_s([unknown, not_held[1]]) is None
    assert held_per_s(not_held) == 0.0, "no rate was held, and that is known"
    assert held_per_s(asked(30)) == 200


def test_what_a_stopped_producer_should_have_sent_is_due() -> None:
    """The due messages come from the schedule, as they are not recorded."""
    sent = planned(second_per_s=150)
    step_1, step_2 = step_results(Asked(STEPS, 4), rates(sent, sent), latency(sent), 20.0, 1.0)
    assert (step_1["held"], step_2["held"]) == (True, False)
    assert step_2["due_per_s"] == pytest.approx(199.6)
    assert step_2["broken"] == "received"
