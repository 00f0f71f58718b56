"""Cells of a night whose runs have figures that a test chooses."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from reports.comparison.build import ComparisonInput, compare_runs
from reports.nightly.gates import relative_gate
from reports.nightly.judging import NightlyCell
from tests.reports.comparison.planted import noisy, write_blocks

P99 = "latency_ms.due_to_received.p99"


def cell(
    folder: Path,
    ratio: float = 1.0,
    *,
    gates: Sequence[str] = (f"{P99} vs reference < 20%",),
    checks: Sequence[str] = (),
    blocks: int = 8,
    deviation: float = 0.02,
    scenario: str = "steady",
    seed: int = 5,
    **planted: Any,
) -> NightlyCell:
    """Candidate hub-and-spoke against reference mesh; its latencies are ``ratio`` times as long."""
    folder.mkdir(exist_ok=True)
    runs = write_blocks(folder, noisy(seed, blocks, [1.0, ratio], deviation), doubtful={}, **planted)
    relative = tuple(map(relative_gate, gates))
    primary = tuple(dict.fromkeys(gate.metric.path for gate in relative))
    (comparison,) = compare_runs(ComparisonInput(tuple(runs), primary, 5.0, allow_unlike=False))
    return NightlyCell(scenario, "", relative, tuple(checks), comparison)


def with_check(name: str, outcome: str, value: float | None = 3.0) -> dict[str, Any]:
    """A field for ``summary`` of a planted run."""
    metric = name.split()[0]
    return {"checks": [{"name": name, "metric": metric, "value": value, "rule": "== 0", "outcome": outcome}]}
