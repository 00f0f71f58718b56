"""Checks which tests a tier runs, and which tools a test can use."""

import argparse
import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import run
from tests.house.tree import ROOT
from tests.support import bare
from tests.support.hiding import MARKERS, only
from tests.support.slow import SLOW, is_slow
from tests.support.tiers import is_of, is_serial

PROTON = "import proton"
ENGINE = "from topologies.runtimes.containers.engine import find; find()"
TOXIPROXY = "from topologies.runtimes.proxies.toxiproxy import find_toxiproxy; find_toxiproxy('any')"
ALL_MARKERS = sorted({*MARKERS, "brokers", "spark", "slow", "nightly", "router"})


@pytest.mark.parametrize(
    ("tier", "markers", "inside"),
    [
        ("test", set(), True),
        ("test", {"slow", "brokers"}, False),
        ("all", {"slow"}, True),
        ("all", {"nightly"}, False),
        ("nightly", {"nightly", "slow"}, True),
        ("nightly", set(), False),
        ("nightly", {"nightly", "router"}, False),
    ],
)
def test_what_a_tier_has(tier: str, markers: set[str], inside: bool) -> None:
    assert is_of(tier, markers) == inside


@given(st.sets(st.sampled_from(ALL_MARKERS)))
def test_each_test_runs_once_on_a_bare_machine_and_in_the_rest(markers: set[str]) -> None:
    on_a_bare_machine = is_of("test", markers) and MARKERS.isdisjoint(markers)
    assert on_a_bare_machine + is_of("rest", markers) == is_of("all", markers)


@pytest.mark.parametrize("pattern", SLOW)
def test_each_entry_of_the_slow_ones_names_a_file_that_there_is(pattern: str) -> None:
    file = pattern.partition("::")[0].replace("\\", "")
    names = [file.replace("(amqp|stomp)", name) for name in ("amqp", "stomp")]
    assert [name for name in names if not (ROOT / "tests" / name).is_file()] == []


@pytest.mark.parametrize("pattern", [pattern for pattern in SLOW if "::test_" in pattern])
def test_each_slow_entry_names_tests(pattern: str) -> None:
    """A renamed test would run in `make test` again."""
    file, _, names = pattern.partition("::test_")
    text = (ROOT / "tests" / file.replace("\\", "").replace("(amqp|stomp)", "stomp")).read_text(encoding="utf-8")
    alternatives = re.match(r"\(([^()]*)\)", names)
    prefixes = [re.split(r"\W", each)[0] for each in (alternatives[1] if alternatives else names).split("|")]
    prefixes = prefixes if alternatives else prefixes[:1]
    assert [prefix for prefix in prefixes if f"def test_{prefix}" not in text] == []


def test_a_slow_cell_of_a_matrix_leaves_the_others() -> None:
    test = "tests/topologies_runtime/test_contract.py::test_versions_tell_what_ran"
    assert (is_slow(f"{test}[containers]"), is_slow(f"{test}[processes]")) == (True, False)


@pytest.mark.parametrize(
    ("nodeid", "markers", "alone"),
    [
        ("tests/records/test_a.py::test_b", {"slow"}, False),
        ("tests/analysis/test_a.py::test_b", {"spark"}, False),
        ("tests/planted/test_stall.py::test_b", {"spark"}, True),  # a whole run that measures times
        ("tests/analysis/test_a.py::test_b", {"spark", "brokers"}, True),
        ("tests/lifecycle/test_ci.py::test_b", {"spark"}, False),  # a whole run in memory
    ],
)
def test_what_measures_or_starts_something_runs_alone(nodeid: str, markers: set[str], alone: bool) -> None:
    assert is_serial(nodeid, markers) == alone


@pytest.mark.parametrize("text", ["", "2", "0/4", "5/4", "2/4/1", "a/b"])
def test_a_part_that_cannot_be_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="PART=2/4"):
        run.part_options(text)


@pytest.mark.parametrize(
    ("statuses", "status"),
    [([0, 0], 0), ([0, 5], 0), ([5, 0], 0), ([5, 5], 5), ([1, 0], 1), ([0, 1], 1), ([1, 5], 1), ([2], 2), ([0, 2], 2)],
)
def test_a_tier_passes_only_if_tests_ran_and_all_passed(
    statuses: list[int], status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """pytest's status is 5 if no test ran, and 2 if it was interrupted."""
    remaining = [*statuses]
    monkeypatch.setattr(
        run.subprocess, "run", lambda command, check: subprocess.CompletedProcess(command, remaining.pop(0))
    )
    assert run.main(["test"]) == status
    assert remaining == []


def plain_pytest(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run pytest in a folder with one test that needs Toxiproxy, on a machine without it, and one that does not."""
    (folder / "conftest.py").write_text(
        "from tests.support import needs, tiers\n"
        "tiers.missing_here = lambda: [need for need in needs.NEEDS if need.marker == 'links']\n"
        "pytest_plugins = ['tests.support.tiers']\n",
        encoding="utf-8",
    )
    (folder / "test_two.py").write_text(
        "import pytest\n@pytest.mark.links\ndef test_linked(): pass\ndef test_plain(): pass\n", encoding="utf-8"
    )
    command = [sys.executable, "-m", "pytest", "--rootdir", str(folder), "-c", "/dev/null", *arguments, str(folder)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_the_last_lines_say_what_was_left_out_and_what_adds_it(tmp_path: Path) -> None:
    ran = plain_pytest(tmp_path, "--tier=test")
    assert ran.returncode == 0, ran.stdout
    assert "left out; make test-all installs what is missing" in ran.stdout
    assert "1 tests of links: no Toxiproxy" in ran.stdout
    assert "1 passed, 1 deselected" in ran.stdout


@pytest.mark.parametrize("tier", ["all", "rest", "nightly"])
def test_a_tier_that_leaves_nothing_out_is_refused_where_something_is_missing(tier: str, tmp_path: Path) -> None:
    refused = plain_pytest(tmp_path, f"--tier={tier}")
    assert refused.returncode == 4
    assert f"--tier {tier}: no Toxiproxy; this tier leaves nothing out" in refused.stderr


def python(code: str) -> int:
    return subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, check=False).returncode


@pytest.mark.parametrize("code", [PROTON, ENGINE, TOXIPROXY])
def test_a_test_without_markers_sees_nothing_that_takes_one_nor_does_what_it_starts(code: str) -> None:
    with pytest.raises(Exception, match=r"proton|no Docker engine answers|no toxiproxy-server"):
        exec(code)
    assert python(code) == 1
    assert importlib.util.find_spec("proton") is None
    assert [name for name in ("docker", "chromium", "toxiproxy-server", "ip") if shutil.which(name)] == []


@pytest.mark.amqp
def test_a_test_that_is_marked_sees_what_its_marker_names() -> None:
    import proton

    assert python(PROTON) == 0
    with only(MARKERS - {"amqp"}):
        assert python(PROTON) == 1
    assert sys.modules["proton"] is proton


@pytest.mark.links
def test_a_test_of_links_sees_toxiproxy_also_where_it_lies_beside_python() -> None:
    assert python(TOXIPROXY) == 0
    with only(MARKERS - {"links"}):
        assert python(TOXIPROXY) == 1


def test_a_bare_path_has_all_programs_but_those_of_the_needs(tmp_path: Path) -> None:
    programs, more_programs = tmp_path / "bin", tmp_path / "other"
    into = tmp_path / "new"
    for folder in (programs, more_programs, into):
        folder.mkdir()
    hidden = ("gcc", "x86_64-linux-gnu-gcc-12", "cc", "c++", "docker", "dockerd", "chromium", "java", "ip")
    for name in (*hidden, "ipython", "make", "ccache", "javap"):
        (programs / name).touch()
    (more_programs / "git").touch()
    path = bare.path_without(bare.PROGRAMS, f"{programs}:{more_programs}:{tmp_path / 'nothing'}", into).split(":")
    assert {program.name for program in Path(path[0]).iterdir()} == {"ipython", "make", "ccache", "javap"}
    assert (Path(path[0]) / "make").resolve() == programs / "make"
    assert path[1:] == [str(more_programs), str(tmp_path / "nothing")]


def test_a_command_that_runs_as_on_a_bare_machine_ends_with_its_own_status(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert bare.main(["sh", "-c", "test -z $JAVA_HOME && ! command -v java && ! command -v ip && exit 7"]) == 7
    assert list(tmp_path.iterdir()) == []
    assert bare.main([]) == 2
