"""Checks when a warm-up ends, from the latencies of one or several processes."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drivers.users.live_latency import KEPT_S, NS_PER_S, RECEIVED, SETTLED, UNTIMED, LiveLatency
from drivers.users.session import Tally
from harness.run.warm_up import (
    FEWEST,
    GRACE_S,
    HAS_SETTLED,
    NO_LATENCY,
    NOT_SETTLED,
    SECONDS,
    decision,
    describe_end,
    last_medians,
    lasts_s,
    median_ns,
    settled,
)
from harness.scenario import WARM_UP_AT_LEAST_S, WARM_UP_AT_MOST_S
from records.figures.buckets import bucket_of

MS = 1_000_000
latencies = st.integers(-(10**9), 10**11)


def live(medians_ms: list[float], kind: str = RECEIVED, per_s: int = FEWEST, received: int = 0) -> LiveLatency:
    """Add ``per_s`` latencies in each second. ``received``: more messages, of other processes' producers."""
    latencies = LiveLatency()
    latencies.add((kind, at_s, bucket_of(round(ms * MS)), per_s) for at_s, ms in enumerate(medians_ms))
    latencies.add((UNTIMED, at_s, 0, received) for at_s in range(len(medians_ms)) if received)
    return latencies


def when(medians_ms: list[float], kind: str = RECEIVED, per_s: int = FEWEST, received: int = 0) -> tuple[str, float]:
    """Return what ends the warm-up of these seconds, and when. Looks five times per second, like a run."""
    for step in range(round(5 * WARM_UP_AT_MOST_S) + 1):
        done_s = step / 5
        latencies = live(medians_ms[: int(done_s)], kind, per_s, received)
        if end := decision(latencies, done_s):
            return end, done_s
    raise AssertionError("it never ends")


def test_a_median_that_is_steady_from_the_first_second_ends_it_as_soon_as_it_may() -> None:
    end, after_s = when([4.0] * 20)
    assert end == HAS_SETTLED
    assert WARM_UP_AT_LEAST_S <= after_s <= WARM_UP_AT_LEAST_S + GRACE_S + 0.21


def test_a_median_that_falls_and_then_settles_ends_it_three_seconds_later() -> None:
    end, after_s = when([40, 30, 22, 16, 12, 9, 7, 5.2, 5.0, 5.1, 5.0, 5.0])
    assert end == HAS_SETTLED
    assert 10 <= after_s <= 11, "seconds 7, 8 and 9 are the first three that agree"


def test_a_median_that_never_settles_takes_as_long_as_there_is() -> None:
    assert when([10.0 * 1.2**at_s for at_s in range(20)]) == (NOT_SETTLED, WARM_UP_AT_MOST_S)


def test_with_too_few_latencies_nothing_can_be_said() -> None:
    assert when([4.0] * 20, per_s=FEWEST - 1) == (NO_LATENCY, WARM_UP_AT_MOST_S)
    assert when([]) == (NO_LATENCY, WARM_UP_AT_MOST_S)


def test_where_no_receipt_can_be_timed_confirmations_are() -> None:
    assert when([4.0] * 20, SETTLED, received=FEWEST)[0] == HAS_SETTLED


def test_confirmations_of_messages_that_few_are_received_of_are_a_backlog_that_grows() -> None:
    assert when([4.0] * 20, SETTLED, per_s=100, received=80) == (NOT_SETTLED, WARM_UP_AT_MOST_S)
    assert when([4.0] * 20, SETTLED, per_s=100, received=95)[0] == HAS_SETTLED
    assert when([4.0] * 20, SETTLED) == (NOT_SETTLED, WARM_UP_AT_MOST_S), "nothing is received at all"


@pytest.mark.parametrize("growth_s", [0.06, 0.5, 0.9])
def test_a_backlog_that_grows_is_not_settled_however_old_it_is(growth_s: float) -> None:
    """Latency rises equally in each second. After some seconds, the rise is less than a tenth of it."""
    assert when([1_000 * growth_s * (at_s + 1) for at_s in range(20)]) == (NOT_SETTLED, WARM_UP_AT_MOST_S)
    assert decision(live([9_000, 11_000, 12_800, 13_600, 14_300, 15_200, 15_900]), 7.8) == ""


def test_a_backlog_that_drains_has_not_settled_yet() -> None:
    assert when([9_000, 8_000, 7_500, 7_200, 6_900, 6_600, 6_300] + [6_300] * 10)[1] >= 8


def test_a_high_latency_that_only_varies_has_settled() -> None:
    assert when([4_000, 4_150, 4_050, 4_180, 4_100, 4_160, 4_120, 4_190])[0] == HAS_SETTLED


@given(st.lists(st.floats(0.001, 10_000), max_size=20), st.floats(0, WARM_UP_AT_MOST_S * 2))
def test_it_always_ends_in_time_and_never_before_its_least(medians_ms: list[float], done_s: float) -> None:
    end = decision(live(medians_ms), done_s)
    assert not end or done_s >= WARM_UP_AT_LEAST_S
    assert end or done_s < WARM_UP_AT_MOST_S


@given(st.lists(st.integers(0, 10**9), min_size=SECONDS, max_size=SECONDS))
def test_settled_does_not_depend_on_the_order_and_stays_so_for_one_value(medians_ns: list[int]) -> None:
    assert settled(tuple(medians_ns)) == settled(tuple(sorted(medians_ns)))
    assert settled((medians_ns[0],) * SECONDS)
    assert settled(tuple(medians_ns)) == (max(medians_ns) - min(medians_ns) <= max(0.1 * min(medians_ns), 200_000))


@given(st.lists(latencies, min_size=1, max_size=99))
def test_the_median_is_that_of_the_latencies_within_a_bucket(values_ns: list[int]) -> None:
    exact = sorted(values_ns)[(len(values_ns) + 1) // 2 - 1]
    assert abs(median_ns(Counter(map(bucket_of, values_ns))) - exact) <= 0.008 * abs(exact)


def test_no_latency_has_no_median() -> None:
    with pytest.raises(ValueError, match="no latency"):
        median_ns({})
    assert last_medians({}, 4) is None


@given(st.lists(st.tuples(st.sampled_from([RECEIVED, SETTLED]), st.integers(0, KEPT_S * NS_PER_S - 1), latencies)))
def test_processes_added_up_are_one_process(noted: list[tuple[str, int, int]]) -> None:
    single, parts, total = LiveLatency(), (LiveLatency(), LiveLatency()), LiveLatency()
    for latencies in (single, *parts):
        latencies.begin(1_000)
    for place, (kind, at_ns, latency_ns) in enumerate(sorted(noted, key=lambda note: note[1])):
        single.note(kind, 1_000 + at_ns, latency_ns)
        parts[place % 2].note(kind, 1_000 + at_ns, latency_ns)
    for part in parts:
        total.add(part.rows())
    assert all(total.seconds(kind) == single.seconds(kind) for kind in (RECEIVED, SETTLED))
    assert sum(row[3] for row in single.rows()) == len(noted)


def test_only_the_last_seconds_within_the_warm_up_count() -> None:
    latencies = LiveLatency()
    latencies.note(RECEIVED, 5, 1)
    assert latencies.rows() == []
    latencies.begin(100)
    latencies.note(RECEIVED, 99, 1)
    for at_s in range(100):
        latencies.note(RECEIVED, 100 + at_s * NS_PER_S, 7)
    assert sorted(latencies.seconds(RECEIVED)) == list(range(100 - KEPT_S, 100))
    latencies.end()
    latencies.note(RECEIVED, 200, 1)
    latencies.received(200, None)
    assert latencies.rows() == []


def test_receptions_are_counted_whether_it_is_known_how_long_they_took_or_not() -> None:
    latencies = LiveLatency()
    latencies.begin(100, kept_s=20)
    for at_s in range(30):
        latencies.received(100 + at_s * NS_PER_S, 7 if at_s % 2 else None)
    assert sorted(latencies.seconds(RECEIVED)) == list(range(11, 30, 2))
    assert sorted(latencies.seconds(UNTIMED)) == list(range(10, 30, 2))


def test_a_tally_of_no_open_warm_up_counts_no_latency() -> None:
    tally = Tally()
    tally.live.note(RECEIVED, 10, 10)
    assert tally.live.rows() == []


def test_no_warm_up_lasts_longer_than_the_longest_though_its_end_was_seen_late() -> None:
    assert [lasts_s(HAS_SETTLED, known_by_s) for known_by_s in (7.4, 15.2)] == [7.4, WARM_UP_AT_MOST_S]
    assert [lasts_s(end, 7.4) for end in (NOT_SETTLED, NO_LATENCY)] == [WARM_UP_AT_MOST_S, WARM_UP_AT_MOST_S]


@pytest.mark.parametrize("end", [HAS_SETTLED, NOT_SETTLED, NO_LATENCY])
def test_each_end_is_told_with_how_long_it_took(end: str) -> None:
    assert "6.5 s" in describe_end(end, 6.5)
