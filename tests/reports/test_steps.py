"""Checks the report of a load whose rate changes."""

from analysis.load.limits import NOTHING
from records.figures.load import Limit, StepResult
from reports.load import rate_points, step_name, steps_sentence, steps_table
from reports.run.headline import UNMEASURED

WHY = "its p99 has too few messages"


def step(
    from_per_s: float, *, to_per_s: float | None = None, held: bool | None = True, p50: float | None = 2.0
) -> StepResult:
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
        due_to_received_ms={**UNMEASURED, "p50": p50, "p99": None},
        held=held,
        why=WHY,
        broken=None,
    )


def test_the_sentence_names_the_highest_rate_held_the_lowest_that_was_not_and_why() -> None:
    assert steps_sentence([], None, NOTHING) == ""
    held = [step(400), step(100)]
    assert steps_sentence(held, 400, NOTHING) == "Every step was held, up to 400 messages/s."
    at_200: Limit = {**NOTHING, "not_held_per_s": 200, "why": "the queue was full"}
    assert steps_sentence([step(100), step(200, held=False), step(400)], 100, at_200) == (
        "The load was held up to 100 messages/s, and not at 200 messages/s: the queue was full."
    )
    assert steps_sentence([step(200, held=False), step(400)], 0.0, at_200) == (
        "No rate was held, and 200 messages/s was the lowest not held: the queue was full."
    )


def test_an_unknown_step_is_never_counted_as_held() -> None:
    """Nor named if the same rate was tried again and is known then."""
    unknown = f"Whether it was held at 200 messages/s is unknown: {WHY}."
    assert steps_sentence([step(100), step(200, held=None)], 100, NOTHING) == (
        f"The load was held at 100 messages/s. {unknown}"
    )
    assert steps_sentence([step(200, held=None)], None, NOTHING) == f"No rate is known to have been held. {unknown}"
    several = [step(400, held=None), step(200, held=None)]
    assert "is unknown (and at 400): its p99" in steps_sentence(several, None, NOTHING)
    tried_again = [step(200, held=None), step(200)]
    assert steps_sentence(tried_again, 200, NOTHING) == "Every step was held, up to 200 messages/s."
    assert rate_points([step(200, held=None)])[0].held is False


def test_the_table_has_a_row_a_step_in_the_order_of_the_load() -> None:
    rows = steps_table([step(400, held=False), step(100, to_per_s=1_000)]).rows
    assert [(row[0], *row[-2:]) for row in rows] == [("400/s", "no", WHY), ("100 → 1,000/s", "yes", WHY)]
    assert step_name(step(0.5)) == "0.5/s"


def test_the_curve_skips_steps_without_a_median() -> None:
    """The points are in the order of the rates."""
    points = rate_points([step(400, held=False), step(200, p50=None), step(100)])
    assert [(point.rate_per_s, point.held, point.p99_ms) for point in points] == [(100, True, None), (400, False, None)]
