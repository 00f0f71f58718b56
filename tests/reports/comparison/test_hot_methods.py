"""Checks which methods a comparison names, by planted samples."""

import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from records.figures.profiles import JvmProfile, MethodSamples, samples_by_method, write_profiles
from records.store.rundir import RunDirectory
from reports.comparison import build
from reports.comparison.hot_methods import differences, differences_tables
from reports.parts.values import Table
from tests.reports.comparison.planted import Planted, write_planted

SYNC, READ = "java.nio.MappedByteBuffer.force", "org.apache.activemq.Reader.read"
WRITE = "org.apache.activemq.Journal.write"


def profile(sync: int, read: int) -> JvmProfile:
    """Return a profile whose journal calls the JDK to synchronize, and whose reader runs itself."""
    return JvmProfile("broker-1", methods=(MethodSamples(SYNC, WRITE, sync), MethodSamples(READ, READ, read)))


def tables(**runs_by_arm: Sequence[Sequence[JvmProfile]]) -> tuple[Table, Table]:
    by_activemq_method, by_method = differences_tables(runs_by_arm)
    return by_activemq_method, by_method


def test_methods_that_differ_in_every_run_are_named() -> None:
    by_activemq_method, by_method = tables(
        sync=[[profile(150, 50)], [profile(140, 60)]], none=[[profile(20, 180)], [profile(20, 180)]]
    )
    rows = [(row[1], row[2], row[4], row[6]) for row in by_method.rows]
    assert rows == [(SYNC, 290, 40, -62.5), (READ, 110, 360, 62.5)]
    assert [row[1] for row in by_activemq_method.rows] == [WRITE, READ]


def test_methods_with_overlapping_shares_are_left_out() -> None:
    for table in tables(a=[[profile(1500, 500)], [profile(500, 1500)]], b=[[profile(1400, 600)]] * 2):
        assert table.rows == ()
        assert table.empty.startswith("No difference is larger")


def test_differences_by_chance_are_left_out() -> None:
    """Both arms have the same shares of 40 methods, as in one run each, in which every share differs."""
    chance = random.Random(7)
    found = 0
    for _ in range(20):
        runs = [JvmProfile("b", methods=_drawn(chance)) for _ in range(2)]
        found += len(differences([[runs[0]]], [[runs[1]]], samples_by_method))
    assert found <= 8


def _drawn(chance: random.Random) -> tuple[MethodSamples, ...]:
    drawn = chance.choices(range(40), weights=range(1, 41), k=400)
    return tuple(MethodSamples(f"m{n}", "", drawn.count(n)) for n in set(drawn))


def test_too_few_samples_are_not_compared() -> None:
    for table in tables(a=[[profile(150, 50)]], b=[[profile(1, 98)]]):
        assert table.rows == ()
        assert table.empty.startswith("Too few samples in b: each run needs 100")


def test_an_arm_with_a_run_without_profiles_is_not_compared() -> None:
    for table in tables(a=[[profile(150, 50)]], b=[[profile(50, 150)], []]):
        assert table.rows == ()
        assert "Too few samples in b" in table.empty


@pytest.mark.parametrize("profiles", [[], [JvmProfile("main", is_of_clients=True, methods=profile(5, 500).methods)]])
def test_clients_are_not_compared(profiles: list[JvmProfile]) -> None:
    """Samples of clients do not change the shares of the brokers, and alone they make no table."""
    assert differences_tables({"a": [profiles], "b": [profiles]}) == ()
    alone = tables(a=[[profile(150, 50)]], b=[[profile(20, 180)]])
    assert tables(a=[[profile(150, 50), *profiles]], b=[[profile(20, 180), *profiles]]) == alone


def test_the_comparison_page_names_the_hot_methods(tmp_path: Path) -> None:
    folders = []
    for block in range(4):
        for arm, shares in (("mesh", (150, 50)), ("hub-and-spoke", (20, 180))):
            folder = write_planted(tmp_path, f"{block}-{arm}", Planted(arm))
            write_profiles(RunDirectory(folder), [profile(*shares)])
            folders.append(folder)
    wanted = build.ComparisonInput(tuple(folders), (), 5.0, allow_unlike=False)
    html = build.render(build.compare_runs(wanted))
    assert "Hot methods whose share of execution samples differs" in html
    assert f"{SYNC}</td>" in html
    assert f"{WRITE}</td>" in html
