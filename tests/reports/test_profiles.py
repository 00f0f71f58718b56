"""Checks the section with the profiles of brokers, and the hot methods that a comparison names."""

from pathlib import Path

from records.profiles import BrokerProfile, LockWaits, MethodSamples, Pause, write_profiles
from records.rundir import RunDirectory
from reports.build import render
from reports.comparison import build
from reports.inputs import read_results
from reports.profiles import PAUSES_DRAWN, differences_table, pause_marks
from tests.reports.comparison.planted import Planted, write_planted
from tests.reports.run_folder import LOAD_BEGAN_NS, MS, RunPlan, S, write_run_folder

SYNC, READ = "java.nio.MappedByteBuffer.force", "org.apache.activemq.Reader.read"
FILE = "brokers/broker-1/jfr/recording.jfr"


def profile(sync: int, read: int, **fields: object) -> BrokerProfile:
    methods = (MethodSamples(SYNC, "org.apache.activemq.Journal.write", sync), MethodSamples(READ, READ, read))
    return BrokerProfile("broker-1", FILE, methods=methods, **fields)  # type: ignore[arg-type]


def test_the_page_shows_profiles_and_missing_recordings(tmp_path: Path) -> None:
    folder = write_run_folder(tmp_path, RunPlan(load_s=20))
    assert PAUSES_DRAWN not in render(read_results(folder))
    pauses = (Pause(LOAD_BEGAN_NS + 2 * S, 7 * MS, "Full GC"), Pause(LOAD_BEGAN_NS - S, 900 * MS, "in the warm-up"))
    locks = (LockWaits("java.lang.Object", "org.apache.activemq.Journal.write", 3, 45 * MS),)
    recorded = profile(75, 25, pauses=pauses, locks=locks)
    write_profiles(RunDirectory(folder), [recorded, BrokerProfile("broker-2", missing="it left no recording")])
    html = render(read_results(folder))
    for text in (SYNC, "75.0", "45.0", "Full GC", "it left no recording", PAUSES_DRAWN, f'href="{FILE}"'):
        assert text in html
    assert ">7.0<" in html
    assert ">907.0<" not in html


def test_only_pauses_of_a_millisecond_are_drawn() -> None:
    pauses = (Pause(3 * S, 2 * MS, "a"), Pause(4 * S, MS // 2, "b"))
    marks = pause_marks([profile(1, 1, pauses=pauses)], load_began_ns=S)
    assert [(mark.began_s, mark.lasted_s) for mark in marks] == [(2.0, 0.002)]


def test_methods_that_differ_in_every_run_are_named() -> None:
    table = differences_table({"sync": [[profile(150, 50)], [profile(140, 60)]], "none": [[profile(20, 180)]] * 2})
    assert table
    assert [(row[1], row[4]) for row in table.rows] == [(SYNC, -62.5), (READ, 62.5)]


def test_methods_with_overlapping_shares_are_left_out() -> None:
    table = differences_table({"a": [[profile(150, 50)], [profile(50, 150)]], "b": [[profile(100, 100)]] * 2})
    assert table
    assert table.rows == ()


def test_too_few_samples_are_not_compared() -> None:
    table = differences_table({"a": [[profile(150, 50)]], "b": [[profile(1, 98)]]})
    assert table
    assert table.rows == ()
    assert table.empty.startswith("Too few samples in b: each run needs 100")


def test_an_arm_with_a_run_without_profiles_is_not_compared() -> None:
    table = differences_table({"a": [[profile(150, 50)]], "b": [[profile(50, 150)], []]})
    assert table
    assert table.rows == ()
    assert "Too few samples in b" in table.empty


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
