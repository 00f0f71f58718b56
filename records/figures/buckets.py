"""Converts durations to logarithmic buckets and back.

HDR-style log-linear buckets over signed nanoseconds: every octave (a doubling of the value) has 128 buckets of equal
width. So the width of a bucket is at most 1/128 (0.8 %) of each value in it, and its middle is within 0.4 % of each
value. Integers below 256 each have a separate bucket. Negative values mirror the positive ones, so the effect of a
shifted clock stays visible. Buckets sort like values, and counts by bucket merge exactly.

Values are |ns| < 2**63. `analysis.latency.histogram` does the same arithmetic on columns.
"""

BUCKETS_PER_OCTAVE = 128
LINEAR_BITS = BUCKETS_PER_OCTAVE.bit_length()  # values with at most this many bits are their own bucket


def bucket_of(value_ns: int) -> int:
    """Return the bucket of a value; it has the value's sign."""
    magnitude = abs(value_ns)
    dropped_bits = max(0, magnitude.bit_length() - LINEAR_BITS)
    bucket = dropped_bits * BUCKETS_PER_OCTAVE + (magnitude >> dropped_bits)
    return bucket if value_ns >= 0 else -bucket


def lower_ns(bucket: int) -> int:
    """Return the smallest value of a bucket."""
    near, far = _edges_ns(abs(bucket))
    return near if bucket >= 0 else -far


def upper_ns(bucket: int) -> int:
    """Return the largest value of a bucket."""
    near, far = _edges_ns(abs(bucket))
    return far if bucket >= 0 else -near


def value_ns(bucket: int) -> int:
    """Return the middle of a bucket, which is reported for its values."""
    near, far = _edges_ns(abs(bucket))
    middle = (near + far) // 2
    return middle if bucket >= 0 else -middle


def _edges_ns(bucket: int) -> tuple[int, int]:
    """Return the values of a bucket >= 0 that are nearest to and farthest from zero."""
    dropped_bits = max(0, bucket // BUCKETS_PER_OCTAVE - 1)
    near = (bucket - dropped_bits * BUCKETS_PER_OCTAVE) << dropped_bits
    return near, near + (1 << dropped_bits) - 1
