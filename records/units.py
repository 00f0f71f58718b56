"""Units of time, as multiples of smaller units."""

NS_PER_S = 1_000_000_000
NS_PER_MS = 1_000_000
MS_PER_S = 1_000


def ms_text(value_ms: float) -> str:
    """Format with three significant digits, without an exponent: ``0.212 ms``, ``1,020 ms``."""
    rounded = float(f"{value_ms:.3g}")
    return f"{rounded:,.0f} ms" if abs(rounded) >= 100 else f"{rounded:g} ms"
