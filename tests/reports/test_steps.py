"""Checks what the report says of a load whose rate changes."""

from records.summary import StepResult
from reports.views.keyfigures import NO_LATENCY
from reports.views.steps import rate_points, step_name, steps_sentence, steps_table


def step(from_per_s: float, *, to_per_s: float | None = None, held: bool = True, p50: float | None = 2.0) -> StepResult:
    until_per_s = from_per_s if to_per_s is None else to_per_s
    per_s = (from_per_s + until_per_s) / 2
    return StepResult(
        from_per_s=from_per_s,
        to_per_s=until_per_s,
        from_s=0.0,
        until_s=10.0,
        due_per_s=per_s,
        sent_per_s=per_s,
        acked_per_s=per_s,
        received_per_s=per_s,
        backlog=0,
        due_to_received_ms={**NO_LATENCY, "p50": p50, "p99": None},
        held=held,
    )


def test_the_sentence_names_the_highest_rate_below_the_first_that_was_not_held() -> None:
    assert steps_sentence([], None) == ""
    assert steps_sentence([step(400), step(100)], 400) == "Every step was held, up to 400 messages/s."
    told = "The load was held up to 100 messages/s, and not at 200 messages/s."
    assert steps_sentence([step(100), step(200, held=False), step(400)], 100) == told
    alone = "The load was not held at 100 messages/s, its lowest rate."
    assert steps_sentence([step(100, held=False), step(200)], None) == alone


def test_the_table_has_a_row_a_step_in_the_order_of_the_load() -> None:
    rows = steps_table([step(400, held=False), step(100, to_per_s=1_000)]).rows
    assert [(row[0], row[-1]) for row in rows] == [("400/s", "no"), ("100 → 1,000/s", "yes")]
    assert step_name(step(0.5)) == "0.5/s"


def test_the_curve_goes_from_the_lowest_rate_up_and_leaves_out_steps_without_a_median() -> None:
    points = rate_points([step(400, held=False), step(200, p50=None), step(100)])
    assert [(point.rate_per_s, point.held, point.p99_ms) for point in points] == [(100, True, None), (400, False, None)]
