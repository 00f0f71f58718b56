"""Checks how gates are parsed, and that a meaningless gate is rejected with a correction."""

from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from records.errors import UserError
from reports.nightly.gates import is_relative, relative_gate

RATE, P99 = "throughput.received_per_s", "latency_ms.due_to_received.p99"


@pytest.mark.parametrize(
    ("text", "path", "percent"),
    [
        (f"{RATE} vs reference > -10%", RATE, -10),
        (f"{RATE}  vs  reference >= -2.5 %", RATE, -2.5),
        (f"{P99} vs reference < 20%", P99, 20),
        (f"{P99} vs reference <= +0%", P99, 0),
    ],
)
def test_a_gate_says_how_much_worse_a_figure_may_be(text: str, path: str, percent: float) -> None:
    gate = relative_gate(text)
    assert (gate.metric.path, gate.percent, is_relative(text)) == (path, percent, True)


@given(st.integers(0, 500), st.floats(-3, 3))
def test_only_what_is_worse_than_allowed_is_forbidden(percent: int, log_ratio: float) -> None:
    assert relative_gate(f"{P99} vs reference < {percent}%").forbids(log_ratio) == (log_ratio > log(1 + percent / 100))
    allowed = min(percent, 99)
    assert relative_gate(f"{RATE} vs reference > -{allowed}%").forbids(log_ratio) == (
        log_ratio < log(1 - allowed / 100)
    )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (f"{P99} vs reference", "cannot be read; write FIGURE vs reference < 20%"),
        (f"{P99} vs mesh < 20%", "cannot be read"),
        (f"{P99} vs reference < 20", "cannot be read"),
        (f"{P99} vs reference > -10%", "less is better: write how much worse it may be, such as < 20%"),
        (f"{RATE} vs reference < 10%", "more is better: write how much worse it may be, such as > -10%"),
        (f"{RATE} vs reference > 10%", "after > a percentage must be between -100 and 0"),
        (f"{RATE} vs reference > -100%", "after > a percentage must be between -100 and 0"),
        (f"{P99} vs reference < -5%", "after < a percentage must be 0 or more"),
        ("latency_ms.due_to_received.p98 vs reference < 5%", "did you mean latency_ms.due_to_received.p99?"),
        ("messages.lost vs reference < 5%", "a count that may be 0 has no ratio"),
    ],
)
def test_a_gate_that_can_say_nothing_is_refused(text: str, says: str) -> None:
    with pytest.raises(UserError) as refused:
        relative_gate(text)
    assert str(refused.value).startswith(f"gate {text!r}: ")
    assert says in str(refused.value)
    assert "--primary" not in str(refused.value)
