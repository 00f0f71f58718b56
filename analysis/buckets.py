"""Which bucket does a duration fall into, as a Spark column? The same arithmetic as `records.buckets`.

Integers only: ``log2`` of a double puts values next to a power of two into the wrong octave. Column expressions only:
a Python function would cost a round trip to a Python process a row.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F

from records.buckets import BUCKETS_PER_OCTAVE, LINEAR_BITS


def bucket(value_ns: Column) -> Column:
    """The bucket (int) of a bigint column of |ns| < 2**63; null for null."""
    magnitude = F.abs(value_ns)
    dropped_bits = F.greatest(F.lit(0), F.length(F.bin(magnitude)) - F.lit(LINEAR_BITS))
    mantissa = F.call_function("shiftright", magnitude, dropped_bits)
    index = (dropped_bits * F.lit(BUCKETS_PER_OCTAVE) + mantissa).cast("int")
    return F.when(value_ns < F.lit(0), -index).otherwise(index)
