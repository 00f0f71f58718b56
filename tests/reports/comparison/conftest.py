"""Planted comparisons, made once per session and never changed."""

from pathlib import Path

import pytest

from reports.comparison.build import ComparisonInput, compare_runs
from reports.comparison.comparison import Comparison
from tests.reports.comparison.planted import noisy, write_blocks

TOPOLOGIES = ("mesh", "hub-and-spoke", "concentrator")


@pytest.fixture(scope="session")
def planted_runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Eight blocks: hub-and-spoke 60 % slower than mesh, concentrator the same; no broker was sampled."""
    scales = noisy(11, 8, [1.0, 1.6, 1.0], deviation=0.02)
    parent = tmp_path_factory.mktemp("planted")
    return write_blocks(parent, scales, TOPOLOGIES, lost=2, doubtful={}, cpu_ms=None)


@pytest.fixture(scope="session")
def planted_comparison(planted_runs: list[Path]) -> Comparison:
    (comparison,) = compare_runs(ComparisonInput(tuple(planted_runs), (), 5.0, allow_unlike=False))
    return comparison
