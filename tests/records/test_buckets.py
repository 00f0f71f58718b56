"""Checks that duration buckets are accurate to 0.8 %, for positive and negative values."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from records.figures.buckets import bucket_of, lower_ns, upper_ns, value_ns

NS = st.integers(min_value=-(2**63) + 1, max_value=2**63 - 1)
POWERS = [2**exponent + step for exponent in range(63) for step in (-1, 0, 1)]


@pytest.mark.parametrize("value", range(-128, 129))
def test_values_up_to_128_ns_are_exact(value: int) -> None:
    assert value_ns(bucket_of(value)) == value


def test_an_octave_has_128_buckets() -> None:
    assert bucket_of(2**21) - bucket_of(2**20) == 128
    assert len({bucket_of(value) for value in range(1_024, 2_048)}) == 128


@given(NS)
def test_a_bucket_stands_for_its_values_within_0_8_percent(value: int) -> None:
    assert abs(value_ns(bucket_of(value)) - value) <= 0.008 * abs(value)


@given(NS)
def test_a_value_lies_between_the_edges_of_its_bucket(value: int) -> None:
    bucket = bucket_of(value)
    assert lower_ns(bucket) <= value <= upper_ns(bucket)
    assert lower_ns(bucket) <= value_ns(bucket) <= upper_ns(bucket)


@given(NS)
def test_the_edges_of_a_bucket_are_in_it_and_the_next_value_is_in_the_next(value: int) -> None:
    bucket = bucket_of(value)
    assert bucket_of(lower_ns(bucket)) == bucket_of(upper_ns(bucket)) == bucket
    assert bucket_of(upper_ns(bucket) + 1) == bucket + 1


@given(NS)
def test_a_negative_value_mirrors_its_positive(value: int) -> None:
    assert bucket_of(-value) == -bucket_of(value)
    assert value_ns(-bucket_of(value)) == -value_ns(bucket_of(value))


@pytest.mark.parametrize("value", POWERS)
def test_buckets_are_in_order_at_powers_of_two(value: int) -> None:
    assert 0 <= bucket_of(value + 1) - bucket_of(value) <= 1
    assert lower_ns(bucket_of(value)) <= value <= upper_ns(bucket_of(value))
