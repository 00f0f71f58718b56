"""Checks which run is selected by the name or folder that a user typed."""

from pathlib import Path

import pytest

from brokerbench.stored_runs import analyse, find_run, latest
from records.errors import RunUnreadable
from records.run import RunInfo
from records.store.rundir import RunDirectory


def make_run(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "run.json").write_text("{}", encoding="utf-8")
    return folder


def test_the_latest_run_is_the_one_whose_id_is_last(tmp_path: Path) -> None:
    newest = make_run(tmp_path / "20261121-120001-steady-mesh-aaaaaa")
    make_run(tmp_path / "20261121-120000-steady-mesh-ffffff")  # written later, but begun earlier
    (tmp_path / "99999999-no-run").mkdir()
    assert find_run("latest", tmp_path).path == newest


def test_a_run_is_named_by_its_folder_or_by_its_name_below_the_runs(tmp_path: Path) -> None:
    run = make_run(tmp_path / "runs" / "one")
    assert find_run(str(run), Path("elsewhere")).path == run
    assert find_run("one", tmp_path / "runs").path == run


def test_no_run_at_all_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(RunUnreadable, match="has no runs yet: make one with `make bench`"):
        latest(tmp_path / "runs")


@pytest.mark.parametrize("name", ["none", "empty"])
def test_a_folder_that_is_no_run_is_named(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(RunUnreadable, match=name):
        find_run(name, tmp_path)


def test_a_run_that_was_killed_while_it_started_is_told_at_once_without_spark(tmp_path: Path) -> None:
    run = RunDirectory.create(tmp_path, "killed")
    run.write_run(RunInfo("killed", "steady", "mesh", "processes", "stomp"))
    with pytest.raises(RunUnreadable, match=r"no events.* it ended while its brokers started; make the run again, and"):
        analyse([run], None)
    run.run_path.write_text('{"run_id": "kil', encoding="utf-8")
    with pytest.raises(RunUnreadable, match=r"killed/run\.json: not readable as JSON .*: was it cut short or edited\?"):
        analyse([run], None)


@pytest.mark.parametrize("master", ["nonsense", "local[0]", "spark://", "spark://host", "http://host:7077", "local[*"])
def test_a_master_that_spark_has_not_is_refused_without_asking_it(tmp_path: Path, master: str) -> None:
    with pytest.raises(ValueError, match=r"not a Spark master; write local") as raised:
        analyse([RunDirectory(tmp_path)], master)
    assert str(raised.value).startswith(f"--master {master}: ")
