"""Decides when two latencies differ by more than a timing figure may. Pure; the analysis and the report both use it."""

TOLERATED_SHARE = 0.1
TOLERATED_MS = 0.2


def tolerance_ms(value_ms: float) -> float:
    """The larger of a tenth of a figure and 0.2 ms."""
    return max(TOLERATED_SHARE * abs(value_ms), TOLERATED_MS)


def differs(value_ms: float, other_ms: float) -> bool:
    """Whether ``other_ms`` is farther from ``value_ms`` than the tolerance of ``value_ms``."""
    return abs(value_ms - other_ms) > tolerance_ms(value_ms)
