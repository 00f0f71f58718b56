"""Checks that run folders with damaged or edited files never end in a traceback, and are never believed."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from brokerbench.cli import main
from records.errors import RunUnreadable
from records.store.digests import read_list
from reports.inputs import read_results
from tests.reports.run_folder import RunPlan, write_run_folder

ODD = [None, 0, -1, 1.5, 10**30, float("nan"), "", "x", "x" * 10_000, "\ud800", [], {}, True, [1], {"a": 1}]
FILES = ("run.json", "summary.json")
EXAMPLES = 300


def places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of each value inside a JSON document."""
    yield from [place] if place else []
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from places(item, (*place, key))


def edited(text: str, place: tuple[Any, ...], value: object, removed: bool) -> str:
    document = json.loads(text)
    parent = document
    for key in place[:-1]:
        parent = parent[key]
    if removed:
        del parent[place[-1]]
    else:
        parent[place[-1]] = value
    return json.dumps(document)


def refusal(run: Path) -> str:
    """Why the run cannot be read, or is invalid; '' if it is believed."""
    try:
        summary = read_results(run).summary
    except RunUnreadable as refused:
        return str(refused)
    return summary["reasons"][0] if summary["verdict"] == "invalid" else ""


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write_run_folder(tmp_path, RunPlan(load_s=2, per_s=20, fault_s=(0.5, 1.0)))


@pytest.mark.parametrize("name", FILES)
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_edit_of_a_file_is_believed(run: Path, name: str, data: st.DataObject) -> None:
    file = run / name
    original = file.read_text()
    place = data.draw(st.sampled_from(list(places(json.loads(original)))))
    file.write_text(edited(original, place, data.draw(st.sampled_from(ODD)), data.draw(st.booleans())))
    try:
        sentence = refusal(run)
        same = json.loads(file.read_text()) == json.loads(original)
        assert sentence or same
        assert "\n" not in sentence
        assert len(sentence) < 1_000
    finally:
        file.write_text(original)


@pytest.mark.parametrize("name", FILES)
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=40) | st.text(max_size=40).map(str.encode), st.integers(0, 3_000))
def test_no_other_content_of_a_file_is_believed(run: Path, name: str, content: bytes, at_byte: int) -> None:
    file = run / name
    original = file.read_bytes()
    file.write_bytes(original[:at_byte] + content)
    try:
        assert refusal(run)
    finally:
        file.write_bytes(original)


def _is_a_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


def _is_a_link_to_itself(file: Path) -> None:
    file.unlink()
    file.symlink_to(file)


DAMAGES: dict[str, Callable[[Path], object]] = {
    "gone": Path.unlink,
    "empty": lambda file: file.write_bytes(b""),
    "cut": lambda file: file.write_bytes(file.read_bytes()[: file.stat().st_size // 2]),
    "zeroed": lambda file: file.write_bytes(bytes(file.stat().st_size)),
    "a folder": _is_a_folder,
    "a link to itself": _is_a_link_to_itself,
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_nested_too_deep_is_refused(run: Path, name: str) -> None:
    (run / name).write_text('{"a":' * 100_000)
    assert f"{name}: " in refusal(run)


@pytest.mark.parametrize("damage", DAMAGES)
def test_no_damaged_file_is_believed(run: Path, tmp_path: Path, damage: str) -> None:
    names = ["analysis.sha256", *read_list(run / "analysis.sha256")]
    assert len(names) > 10
    for name in names:
        copy = tmp_path / "copy"
        shutil.copytree(run, copy)
        DAMAGES[damage](copy / name)
        sentence = refusal(copy)
        assert sentence, name
        assert "\n" not in sentence, name
        shutil.rmtree(copy)


@pytest.mark.parametrize(
    ("command", "damage"),
    [
        *((command, damage) for command in ("report", "export") for damage in DAMAGES),
        *(("analyse", damage) for damage in ("gone", "a folder", "a link to itself")),  # else Spark's process says it
    ],
)
def test_a_run_without_a_whole_run_json_is_refused_in_one_sentence(
    run: Path, tmp_path: Path, command: str, damage: str
) -> None:
    DAMAGES[damage](run / "run.json")
    options = ["--to", "csv", "--out", str(tmp_path / "out")] if command == "export" else []
    outcome = CliRunner().invoke(main, [command, str(run), *options])
    assert outcome.exit_code == 2
    assert outcome.output.startswith("brokerbench: ")
    assert outcome.output.count("\n") == 1
