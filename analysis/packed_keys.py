"""Packs the key columns of a frame into one integer per row: polars compares these in a fraction of the time."""

from collections.abc import Sequence

import polars as pl

PACKED, ROW = "packed key", "row"


def packed(rows: pl.DataFrame, key: Sequence[str]) -> tuple[pl.Series, int]:
    """Return an integer for each row, equal for equal keys, and the number of possible integers, which start at 0.

    Nulls are equal to each other.
    """
    numbers, room = pl.repeat(0, rows.height, dtype=pl.Int64, eager=True), 1
    for name in key:
        codes, span = _codes(rows[name])
        room *= span
        if room >= 2**63:
            return _first_rows(rows, key), rows.height
        numbers = numbers * span + codes if span > 1 else numbers
    return numbers.rename(PACKED), room


def _first_rows(rows: pl.DataFrame, key: Sequence[str]) -> pl.Series:
    """Return the place of the first row with the same key, for keys that do not fit into an integer."""
    keys = rows.select(key)
    firsts = keys.with_row_index(PACKED).group_by(key).agg(pl.min(PACKED).cast(pl.Int64))
    return keys.join(firsts, key, how="left", nulls_equal=True, maintain_order="left")[PACKED]


def grouped(rows: pl.DataFrame, key: Sequence[str], *figures: pl.Expr) -> pl.DataFrame:
    """Return the key and figures of each group of rows with equal keys."""
    groups = by_number(rows, packed(rows, key)[0], *figures)
    return pl.concat([rows.select(key)[groups[ROW]], groups.drop(PACKED, ROW)], how="horizontal")


def by_number(rows: pl.DataFrame, numbers: pl.Series, *figures: pl.Expr) -> pl.DataFrame:
    """Return PACKED, ROW (the place of one of the group's rows) and the figures of each group of equal numbers."""
    numbered = rows.with_row_index(ROW).with_columns(numbers.alias(PACKED))
    return numbered.group_by(PACKED).agg(pl.first(ROW), *figures)


def is_repeated(rows: pl.DataFrame, key: Sequence[str]) -> pl.Series | None:
    """Return whether each row's key occurs in another row too, or None if all keys are different."""
    keys, _ = packed(rows, key)
    return None if keys.n_unique() == rows.height else keys.is_duplicated()


def _codes(values: pl.Series) -> tuple[pl.Series, int]:
    """Return a code from 0 on for each value, and the number of possible codes."""
    if values.dtype == pl.String:
        values = values.cast(pl.Categorical)
    codes = values.to_physical().cast(pl.Int64)
    low, high = codes.min(), codes.max()
    if low is None or high is None:
        return codes.fill_null(0), 1
    span = int(high) - int(low) + 1  # type: ignore[arg-type]
    if codes.null_count():
        return (codes - low).fill_null(span), span + 1
    return codes - low, span
