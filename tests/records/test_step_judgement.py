"""Checks the rule that decides, in the live search and the analysis, whether a step of a load was held."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from records.figures.buckets import bucket_of, value_ns
from records.figures.percentiles import quantiles_ns
from records.figures.step_judgement import (
    StepCounts,
    StepJudgement,
    estimate_due,
    held_by_rate,
    judge,
    reconcile,
    seconds_for_p99,
)
from records.loads.rate_steps import judged_seconds

MS = 1_000_000
FAST, SLOW = bucket_of(5 * MS), bucket_of(80 * MS)
LIMIT_MS = 50
VERDICTS = st.sampled_from([True, False, None])


def counts(fast: int = 1_000, slow: int = 0, due: int | None = None, **others: float) -> StepCounts:
    """Return a step whose messages took 5 or 80 ms. Later messages never arrived."""
    due = fast + slow if due is None else due
    known = StepCounts(due, fast + slow, 0, 250, {FAST: fast, SLOW: slow}, due)
    return replace(known, **others)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("of_step", "held", "why"),
    [
        (counts(), True, "100.0% of the due messages were received; p99 was 5 ms, and at most 50 ms is allowed"),
        (counts(990, 10), True, "p99 was 5 ms"),
        (counts(989, 11), False, "p99 was 80 ms, and at most 50 ms is allowed"),
        (counts(400), None, "0 of 400 messages took more than 50 ms or did not arrive, and a p99 needs 1,000"),
        (counts(390, 9), None, "9 of 399 messages"),
        (counts(390, 10), False, "10 of 400 messages took more than 50 ms"),
        (counts(999, 0), None, "a p99 needs 1,000"),
        (counts(1_980, 0, due=2_000), True, "99.0% of the due messages were received; p99 was 5 ms"),
        (counts(1_979, 0, due=2_000), False, "98.9% of the due messages were received, and at least 99% is required"),
        (counts(waiting=251), False, "251 messages waited at its end, and at most 250 are allowed"),
        (counts(990, 0, due=1_010, received=1_001), False, "over 1% did not arrive, so p99 is unknown"),
    ],
)
def test_a_step_is_held_not_held_or_unknown(of_step: StepCounts, held: bool | None, why: str) -> None:
    judgement = judge(of_step, LIMIT_MS)
    assert judgement.held is held
    assert why in judgement.why


def test_without_a_limit_a_step_needs_no_p99() -> None:
    assert judge(counts(40, 60), None) == StepJudgement(True, "100.0% of the due messages were received")


@given(st.lists(st.integers(1, 100), min_size=1, max_size=400), st.integers(1, 100), st.integers(1, 40))
def test_never_held_above_the_limit_nor_by_few(took_ms: list[int], limit_ms: int, times: int) -> None:
    """The reference is the percentile of all messages, as in reports."""
    latencies: dict[int, int] = {}
    for each_ms in took_ms:
        latencies[bucket_of(each_ms * MS)] = latencies.get(bucket_of(each_ms * MS), 0) + times
    messages = len(took_ms) * times
    held = judge(StepCounts(messages, messages, 0, messages, latencies, messages), limit_ms).held
    (p99_ns,) = quantiles_ns(latencies, [0.99])
    assert p99_ns is not None
    over = sum(count for bucket, count in latencies.items() if value_ns(bucket) > limit_ms * MS)
    if p99_ns > limit_ms * MS:
        assert held is (False if over >= 10 else None)
    else:
        assert held is (True if messages >= 1_000 else None)


@given(VERDICTS, VERDICTS)
def test_opposite_judgements_are_unknown_and_both_are_told(recorded: bool | None, searched: bool | None) -> None:
    ours, live = StepJudgement(recorded, "by events"), StepJudgement(searched, "by the search")
    both = reconcile(ours, live)
    if {recorded, searched} == {True, False}:
        assert both.held is None
        assert "by events" in both.why
        assert "by the search" in both.why
    else:
        assert both == ours
    assert reconcile(ours, None) == ours


@given(st.floats(0.5, 1e6), st.integers(1, 1_000))
def test_a_lengthened_step_has_enough_for_its_p99(per_s: float, producers: int) -> None:
    """Each producer sends one message less."""
    for_s = seconds_for_p99(per_s, producers)
    assert len(judged_seconds(0, for_s)) * per_s - producers >= 1_000


def test_what_was_due_is_known_by_schedule_or_record() -> None:
    assert estimate_due(1_000, 6, 998) == 998, "as recorded, where that is possible"
    assert estimate_due(1_000, 6, 700) == 994, "a producer that stopped recorded nothing"
    assert estimate_due(1_000, 6, 1_003) == 1_003


def test_the_last_known_try_of_a_rate_counts() -> None:
    tries = [(100.0, True), (200.0, None), (200.0, True), (400.0, False), (400.0, None), (300.0, True), (300.0, None)]
    assert held_by_rate(tries) == {100.0: True, 200.0: True, 400.0: False, 300.0: None}
