"""Checks that latencies counted in batches give the same counts as one by one."""

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from drivers.users.live_latency import SETTLED, LiveLatency, count_buckets
from records.figures.buckets import bucket_of
from records.units import NS_PER_S

LATENCIES = st.integers(-(2**53) + 1, 2**53 - 1)


@given(st.lists(st.one_of(LATENCIES, st.integers(-600, 600), st.integers(0, 52).map(lambda bits: 2**bits - 1))))
def test_many_values_are_in_the_buckets_of_each(values_ns: list[int]) -> None:
    assert count_buckets(np.array(values_ns, "int64")) == Counter(map(bucket_of, values_ns))


@given(st.lists(st.tuples(st.integers(-NS_PER_S, 9 * NS_PER_S), LATENCIES)))
def test_a_batch_is_counted_by_second_as_its_latencies_one_by_one(latencies: list[tuple[int, int]]) -> None:
    one_by_one, in_batches = LiveLatency(), LiveLatency()
    for live in (one_by_one, in_batches):
        live.begin(100, kept_s=20)
    for at_ns, latency_ns in latencies:
        one_by_one.note(SETTLED, 100 + at_ns, latency_ns)
    at_ns, latencies_ns = np.array(latencies, "int64").reshape(-1, 2).T
    in_batches.note_many(SETTLED, 100 + at_ns, latencies_ns)
    assert in_batches.seconds(SETTLED) == one_by_one.seconds(SETTLED)


def test_a_batch_counts_nothing_before_the_beginning() -> None:
    live = LiveLatency()
    live.note_many(SETTLED, np.array([1, 2]), np.array([3, 4]))
    assert live.rows() == []
