"""Computes the bucket of a duration as a column, by the arithmetic of `records.buckets`."""

import polars as pl

from records.buckets import BUCKETS_PER_OCTAVE, LINEAR_BITS


def bucket(value_ns: pl.Expr) -> pl.Expr:
    """The bucket (Int32) of a column of |ns| < 2**63; null for null.

    The logarithm of a double may take a value next to a power of two for one of the neighbouring octave. That does no
    harm: at their border the buckets of both octaves have the same numbers.
    """
    magnitude = value_ns.abs()
    octave = magnitude.clip(1).cast(pl.Float64).log(2).floor().cast(pl.Int64)
    dropped_bits = (octave - (LINEAR_BITS - 1)).clip(0)
    mantissa = magnitude // pl.lit(2, pl.Int64).pow(dropped_bits)
    return ((dropped_bits * BUCKETS_PER_OCTAVE + mantissa) * value_ns.sign()).cast(pl.Int32)
