"""Checks how durations are written in sentences."""

import pytest

from records.units import ms_text


@pytest.mark.parametrize(
    ("value_ms", "text"),
    [(0.2123, "0.212 ms"), (5.0, "5 ms"), (99.96, "100 ms"), (297.4, "297 ms"), (1_023.0, "1,020 ms"), (0.0, "0 ms")],
)
def test_milliseconds_never_have_an_exponent(value_ms: float, text: str) -> None:
    assert ms_text(value_ms) == text
