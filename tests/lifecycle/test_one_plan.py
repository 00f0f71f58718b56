"""A run builds its topology once, and looks for Docker at most once, from its options to its brokers."""

from pathlib import Path

import pytest

from tests.support.locust_run import make_run

COUNTING = "tests/lifecycle/locustfiles/counting.py"


@pytest.mark.parametrize(
    ("arguments", "counted"),
    [
        (("--runtime", ""), "1 builds, 1 looks"),  # the runtime is chosen, so Docker is looked for
        (("--runtime", "processes"), "1 builds, 0 looks"),
        pytest.param(
            ("--runtime", "processes", "--link", "*:delay=0ms"), "1 builds, 0 looks", marks=pytest.mark.links, id="link"
        ),
        (("--runtime", "memory"), "1 builds, 0 looks"),
    ],
)
def test_a_topology_is_built_once_a_run_and_docker_is_looked_for_at_most_once(
    tmp_path: Path, arguments: tuple[str, ...], counted: str
) -> None:
    outcome = make_run(COUNTING, *arguments, runs=tmp_path / "runs")
    assert f"counted: {counted}" in outcome.output, outcome.output
    assert outcome.status == 2


def test_a_second_time_would_be_counted(tmp_path: Path) -> None:
    outcome = make_run(COUNTING, "--runtime", "", runs=tmp_path / "runs", env={"TWICE": "1"})
    assert "counted: 2 builds, 2 looks" in outcome.output, outcome.output
