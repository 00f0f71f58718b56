"""Checks the order of the rows of result tables."""

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from records.tables.row_order import order

BIG = st.integers(-(2**62), 2**62)
ROWS = st.lists(
    st.tuples(st.sampled_from(["", "a", "aa", "ä", "b"]), BIG, st.none() | st.integers(-2, 2), st.booleans(), BIG)
)
SCHEMA = pa.schema(
    {"text": pa.string(), "big": pa.int64(), "perhaps": pa.int32(), "yes": pa.bool_(), "more": pa.int64()}
)


@settings(deadline=None)  # the first call includes slow imports
@given(ROWS)
def test_rows_are_in_the_order_of_all_columns_with_nulls_last(rows: list[tuple[object, ...]]) -> None:
    table = pa.Table.from_pylist([dict(zip(SCHEMA.names, row, strict=True)) for row in rows], SCHEMA)
    expected = table.sort_by([(name, "ascending") for name in SCHEMA.names])
    assert table.take(order(table)).equals(expected)
