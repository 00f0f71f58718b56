"""Checks that packed keys distinguish exactly the rows that their columns distinguish."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.packed_keys import grouped, is_repeated, packed

SMALL, LARGE = (-(2**62), 0, None, 7), (-(2**62), 2**62, None, 0)
ROW = st.tuples(st.sampled_from(["a", "b", "", None]), st.sampled_from(SMALL), st.sampled_from(LARGE), st.booleans())
SCHEMA = {"text": pl.String, "number": pl.Int64, "large": pl.Int64, "flag": pl.Boolean}
KEYS = (["text", "flag"], ["flag"], ["text", "number", "flag"], list(SCHEMA))


def frame(rows: list[tuple[object, ...]]) -> pl.DataFrame:
    return pl.DataFrame(rows, SCHEMA, orient="row")


@pytest.mark.parametrize("key", KEYS, ids=" ".join)
@given(rows=st.lists(ROW, max_size=12))
def test_packed_keys_are_equal_where_rows_are(key: list[str], rows: list[tuple[object, ...]]) -> None:
    numbers, room = packed(frame(rows), key)
    keys = frame(rows).select(key).rows()
    assert all(0 <= number < room for number in numbers)
    for number, values in zip(numbers, keys, strict=True):
        same = [other == number for other in numbers]
        assert same == [other == values for other in keys]


@pytest.mark.parametrize("key", KEYS, ids=" ".join)
@given(rows=st.lists(ROW, max_size=12))
def test_groups_are_those_of_polars(key: list[str], rows: list[tuple[object, ...]]) -> None:
    data = frame(rows).with_columns(pl.lit(1).alias("one"))
    of_polars = data.group_by(key).agg(pl.sum("one"))
    assert sorted(grouped(data, key, pl.sum("one")).rows(), key=repr) == sorted(of_polars.rows(), key=repr)
    repeated = is_repeated(data, key)
    assert (repeated is None) == (of_polars.height == data.height)
    if repeated is not None:
        keys = data.select(key).rows()
        assert repeated.to_list() == [keys.count(values) > 1 for values in keys]
