"""Computes the bucket of a duration as a Spark column, by the arithmetic of `records.buckets`.

Column expressions only: a Python function would cost a round trip to a Python process a row. And short ones: the JVM
does not compile a very long method. Therefore a chain of comparisons took ten times as long as a logarithm.
"""

import math

from pyspark.sql import Column
from pyspark.sql import functions as F

from records.buckets import BUCKETS_PER_OCTAVE, LINEAR_BITS


def bucket(value_ns: Column) -> Column:
    """The bucket (int) of a bigint column of |ns| < 2**63; null for null.

    The logarithm of a double may take a value next to a power of two for one of the neighbouring octave. That does no
    harm: at their border the buckets of both octaves have the same numbers.
    """
    magnitude = F.abs(value_ns)
    octave = F.floor(F.ln(magnitude) * F.lit(1 / math.log(2))).cast("int")  # null for 0, which `greatest` leaves out
    dropped_bits = F.greatest(F.lit(0), octave - F.lit(LINEAR_BITS - 1))
    mantissa = F.call_function("shiftright", magnitude, dropped_bits)
    index = (dropped_bits * F.lit(BUCKETS_PER_OCTAVE) + mantissa).cast("int")
    return index * F.when(value_ns < F.lit(0), F.lit(-1)).otherwise(F.lit(1))
