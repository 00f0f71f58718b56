"""Checks the section with the profiles of brokers and Java clients."""

from pathlib import Path

from records.figures.profiles import JvmProfile, LockWaits, MethodSamples, Pause, write_profiles
from records.store.rundir import RunDirectory
from reports.build import render
from reports.inputs import read_results
from reports.profiles import PAUSES_DRAWN, pause_marks
from tests.reports.run_folder import LOAD_BEGAN_NS, MS, RunPlan, S, write_run_folder

SYNC, READ = "java.nio.MappedByteBuffer.force", "org.apache.activemq.Reader.read"
FILE = "brokers/broker-1/jfr/recording.jfr"


def profile(sync: int, read: int, **fields: object) -> JvmProfile:
    methods = (MethodSamples(SYNC, "org.apache.activemq.Journal.write", sync), MethodSamples(READ, READ, read))
    return JvmProfile("broker-1", files=(FILE,), methods=methods, **fields)  # type: ignore[arg-type]


def test_the_page_shows_profiles_and_missing_recordings(tmp_path: Path) -> None:
    folder = write_run_folder(tmp_path, RunPlan(load_s=20))
    assert PAUSES_DRAWN not in render(read_results(folder))
    pauses = (Pause(LOAD_BEGAN_NS + 2 * S, 7 * MS, "Full GC"), Pause(LOAD_BEGAN_NS - S, 900 * MS, "in the warm-up"))
    locks = (LockWaits("java.lang.Object", "org.apache.activemq.Journal.write", 3, 45 * MS),)
    recorded = profile(75, 25, pauses=pauses, locks=locks)
    write_profiles(RunDirectory(folder), [recorded, JvmProfile("broker-2", missing="it left no recording")])
    html = render(read_results(folder))
    for text in (SYNC, "75.0", "45.0", "Full GC", "it left no recording", PAUSES_DRAWN, f'href="{FILE}"'):
        assert text in html
    assert ">7.0<" in html
    assert ">907.0<" not in html


def test_only_pauses_of_a_millisecond_are_drawn() -> None:
    pauses = (Pause(3 * S, 2 * MS, "a"), Pause(4 * S, MS // 2, "b"))
    marks = pause_marks([profile(1, 1, pauses=pauses)], load_began_ns=S)
    assert [(mark.began_s, mark.lasted_s) for mark in marks] == [(2.0, 0.002)]


def test_clients_are_named_by_their_process(tmp_path: Path) -> None:
    folder = write_run_folder(tmp_path, RunPlan(load_s=20))
    clients = JvmProfile("worker-1", is_of_clients=True, methods=(MethodSamples("brokerbench.Body.make", "", 3),))
    write_profiles(RunDirectory(folder), [profile(75, 25), clients])
    html = render(read_results(folder))
    assert "Profiles of the brokers and the Java clients" in html
    assert ">clients in worker-1<" in html
    assert "brokerbench.Body.make" in html
