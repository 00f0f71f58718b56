"""`brokerbench compare` writes the requested files, sets its exit status, and writes nothing without a comparison."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from brokerbench.cli import main
from records.run import RunInfo
from records.store.rundir import RunDirectory
from reports.comparison.metrics import PRIMARY
from tests.reports.comparison.planted import Planted, noisy, write_blocks, write_planted


def call(folder: Path, *arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["compare", *map(str, arguments), "--out", str(folder / "page.html")])


@pytest.fixture(scope="module")
def slower(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Seven blocks, the second topology a third slower."""
    return write_blocks(tmp_path_factory.mktemp("slower"), noisy(1, 7, [1.0, 1.33], 0.02), doubtful={})


def test_it_writes_the_page_and_the_files_that_were_asked_and_tells_the_answer(
    slower: list[Path], tmp_path: Path
) -> None:
    files = {option: tmp_path / name for option, name in (("--markdown", "summary.md"), ("--json", "figures.json"))}
    result = call(tmp_path, *slower, *(part for option, path in files.items() for part in (option, path)))
    assert result.exit_code == 0, result.output
    assert result.output.startswith("Latency p99: hub-and-spoke is worse than mesh, ")
    assert "\nworse: hub-and-spoke, latency_ms.due_to_received.p99\n  It is " in result.output
    assert result.output.splitlines()[-3:] == [str(tmp_path / "page.html"), *map(str, files.values())]
    assert json.loads(files["--json"].read_text())["scenarios"][0]["tests"][0]["verdict"] == "worse"
    assert "**worse**" in files["--markdown"].read_text()
    assert "brokerbench comparison" in (tmp_path / "page.html").read_text()


def test_runs_are_found_by_name_below_the_folder_of_runs(slower: list[Path], tmp_path: Path) -> None:
    names = [path.name for path in slower]
    assert call(tmp_path, *names, "--runs", slower[0].parent).exit_code == 0


def test_the_gate_fails_where_an_arm_is_worse_and_not_where_it_is_better(slower: list[Path], tmp_path: Path) -> None:
    swapped = [slower[at ^ 1] for at in range(len(slower))]
    assert call(tmp_path, *slower, "--gate", "--strict").exit_code == 1
    assert call(tmp_path, *swapped, "--gate", "--strict").exit_code == 0


def test_strict_fails_where_nothing_can_be_told(slower: list[Path], tmp_path: Path) -> None:
    assert call(tmp_path, *slower[:6], "--gate").exit_code == 0
    assert call(tmp_path, *slower[:6], "--gate", "--strict").exit_code == 4


def test_an_invalid_run_is_an_exit_status_of_its_own(slower: list[Path], tmp_path: Path) -> None:
    pair = [
        write_planted(tmp_path, f"invalid-{n}", Planted(topology, verdict="invalid", doubtful={}))
        for n, topology in enumerate(("mesh", "hub-and-spoke"))
    ]
    result = call(tmp_path, *slower, *pair, "--gate", "--strict")
    assert result.exit_code == 3
    assert "invalid-0 is an invalid run" in result.output


def with_last_run(tmp_path: Path, verdict: str, reason: str) -> list[Path]:
    """Seven blocks of equal arms. The last run of the second arm has this verdict."""
    blocks = write_blocks(tmp_path, noisy(1, 7, [1.0, 1.0], 0.02), doubtful={})
    last = Planted("hub-and-spoke", verdict=verdict, doubtful={}, summary={"reasons": [reason]})
    return [*blocks[:-1], write_planted(tmp_path, "last", last)]


def test_the_gate_fails_where_a_run_failed_a_check(tmp_path: Path) -> None:
    """The arm that loses messages is as fast as the other one. Without --gate the comparison is only printed."""
    blocks = with_last_run(tmp_path, "fail", "messages.lost is 3, above 0")
    result = call(tmp_path, *blocks, "--same-within", "60", "--gate")
    assert result.exit_code == 1, result.output
    assert "failed: 1 of 7 runs of hub-and-spoke failed a check: messages.lost is 3, above 0" in result.output
    assert call(tmp_path, *blocks).exit_code == 0


def test_strict_fails_where_the_verdict_of_a_run_is_unknown(tmp_path: Path) -> None:
    blocks = with_last_run(tmp_path, "unknown", "a queue could not be browsed")
    assert call(tmp_path, *blocks, "--same-within", "60").exit_code == 0
    assert call(tmp_path, *blocks, "--same-within", "60", "--strict").exit_code == 4


def test_what_counts_as_the_same_is_the_users_to_say(slower: list[Path], tmp_path: Path) -> None:
    result = call(tmp_path, *slower, "--same-within", "60", "--gate")
    assert result.exit_code == 0
    assert "is the same as mesh within 60 %" in result.output


def test_other_figures_can_be_primary(slower: list[Path], tmp_path: Path) -> None:
    result = call(tmp_path, *slower, "--primary", "throughput.received_per_s", "--primary", PRIMARY)
    assert result.output.startswith("Rate received: hub-and-spoke is the same as mesh within 5 %, ")
    assert "Latency p99: hub-and-spoke is worse" in result.output


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "0 runs: a comparison needs at least two"),
        (["0", "1", "--primary", "latency_ms.due_to_received.p98"], "did you mean latency_ms.due_to_received.p9"),
        (["0", "2"], "all runs have the same conditions, so there is only one arm"),
        (["0", "1", "2"], "block 2 is not complete, as it has no run of hub-and-spoke"),
        (["0", "0"], "named twice"),
        (["0", "nowhere"], "there is no such folder"),
        (["0", "1", "--same-within", "-1"], "0<x<=100"),
        (["0", "1", "--same-within", "nan"], "nan is not in the range 0<x<=100"),
        (["0", "1", "--json", "page.html"], "name the same file"),
    ],
)
def test_what_cannot_be_compared_is_one_error_and_nothing_is_written(
    slower: list[Path], tmp_path: Path, arguments: list[str], sentence: str
) -> None:
    paths = {"0": slower[0], "1": slower[1], "2": slower[2], "page.html": tmp_path / "page.html"}
    result = call(tmp_path, *(paths.get(argument, argument) for argument in arguments))
    assert result.exit_code == 2
    assert sentence in result.output
    assert "Traceback" not in result.output
    assert list(tmp_path.iterdir()) == []


def test_unlike_runs_are_refused_unless_allowed(slower: list[Path], tmp_path: Path) -> None:
    other_run = write_planted(tmp_path, "other", Planted("ring", run={"protocol": "amqp"}))
    refused = call(tmp_path, slower[0], other_run)
    assert refused.exit_code == 2
    assert "brokerbench: protocol is amqp in other, but stomp in run-1-0" in refused.output
    assert not (tmp_path / "page.html").exists()
    allowed = call(tmp_path, slower[0], other_run, "--allow-unlike")
    assert allowed.exit_code == 0
    assert "unlike: protocol is amqp in other, but stomp in run-1-0" in allowed.output


@pytest.mark.parametrize("state", ["failed", "interrupted", "starting", "running"])
def test_runs_that_never_began_are_left_out_by_name(slower: list[Path], tmp_path: Path, state: str) -> None:
    never = RunDirectory.create(tmp_path, "20261126-120000-steady-mesh-abcdef")
    never.write_run(RunInfo("never", "steady", "mesh", "processes", "stomp", state=state))
    result = call(tmp_path, slower[0], never.path, *slower[1:])
    assert result.exit_code == 0, result.output
    assert result.output.startswith(f"left out: {never.path.name} never began (it ")
    assert "worse: hub-and-spoke" in result.output
    assert (tmp_path / "page.html").exists()


def test_one_run_beside_those_that_never_began_is_too_few(slower: list[Path], tmp_path: Path) -> None:
    never = RunDirectory.create(tmp_path, "20261126-120000-steady-mesh-abcdef")
    never.write_run(RunInfo("never", "steady", "mesh", "processes", "stomp", state="failed"))
    result = call(tmp_path, slower[0], never.path)
    assert result.exit_code == 2
    assert [line.partition(":")[0] for line in result.output.splitlines()] == ["left out", "brokerbench"]
    assert "1 run: a comparison needs at least two" in result.output
