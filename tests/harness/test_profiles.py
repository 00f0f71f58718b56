"""Checks how a recording of a real JVM becomes a profile: its pauses are those in the log of the garbage collector."""

import os
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import pytest

from drivers.jvm.compiler import Compiler
from harness.java_parts import CLASSES, COMPILER
from harness.run.profiles import SOURCES, profile_run
from records.environment import for_java
from records.figures.profiles import Pause, read_profiles
from records.run import Phases
from records.store.recordings import FOLDER
from records.store.rundir import RunDirectory
from records.units import NS_PER_MS
from tests.support.gc_log import LOG_OPTION, LoggedPause, logged_pauses, require_same_pauses
from topologies.jvm.distribution import cache_folder, ensure
from topologies.jvm.java import find_java
from topologies.jvm.recordings import OPTIONS
from topologies.pinned import pinned

SMALL_HEAP = ("-Xmx24m", "-XX:+UseSerialGC", LOG_OPTION.format(file="gc.log"))


def pauses(began_ms: int, lasted_ms: float) -> list[Pause]:
    return [
        Pause((began_ms + 1_000 * n) * NS_PER_MS, round((lasted_ms + n / 10) * NS_PER_MS), "any") for n in range(10)
    ]


def log_of(recorded: list[Pause]) -> list[LoggedPause]:
    return [LoggedPause(pause.began_ns + pause.duration_ns, pause.duration_ns / NS_PER_MS) for pause in recorded]


RECORDED = pauses(1_000, 2.0)
SUSPENDED = [replace(RECORDED[0], duration_ns=90 * NS_PER_MS), *RECORDED[1:]]


@pytest.mark.parametrize("recorded", [RECORDED, SUSPENDED, RECORDED[3:]])
def test_pauses_like_the_log_are_accepted(recorded: list[Pause]) -> None:
    require_same_pauses(recorded, [log_of(RECORDED)])


UNLIKE = {
    "wrong unit": ([replace(pause, duration_ns=pause.duration_ns // 1_000) for pause in RECORDED], [RECORDED]),
    "wrong clock": (pauses(1_500, 2.0), [RECORDED]),
    "lost process": (RECORDED, [RECORDED, pauses(20_000, 2.0)]),
    "phases of pauses": ([*RECORDED, *RECORDED], [RECORDED]),
    "lost half": (RECORDED[6:], [RECORDED]),
    "nothing": ([], [RECORDED]),
}


@pytest.mark.parametrize("case", UNLIKE)
def test_pauses_unlike_the_log_are_rejected(case: str) -> None:
    recorded, processes = UNLIKE[case]
    with pytest.raises(AssertionError):
        require_same_pauses(recorded, [log_of(process) for process in processes])


def test_pauses_and_methods_are_those_of_the_jvm(tmp_path: Path) -> None:
    """The JVM runs the Java compiler with a small heap. Another broker left nothing, and its profile says so."""
    directory = RunDirectory.create(tmp_path, "run")
    folder, java = directory.broker_folder("broker-1"), find_java()
    compiler = Compiler(java.home, ensure(pinned(COMPILER)), cache_folder() / CLASSES)
    (folder / "log").mkdir()
    (folder / FOLDER).mkdir()
    sources = [str(path) for path in SOURCES.rglob("*.java")]
    compile_them = ["-jar", str(compiler.jar), "-17", "-proc:none", "-d", str(tmp_path / "classes"), *sources]
    began_ns = time.perf_counter_ns()
    command = [str(java.executable), *SMALL_HEAP, *OPTIONS, *compile_them]
    subprocess.run(command, cwd=folder / "log", env=for_java(os.environ), check=True, timeout=60)
    phases = Phases(load_began_ns=began_ns, load_ended_ns=time.perf_counter_ns())
    (sentence,) = profile_run(directory, ["broker-1", "broker-2"], phases)
    assert sentence == "no profile of broker broker-2: it left no recording that can be read; see its log"
    profile, absent = read_profiles(directory)
    assert (absent.name, absent.files) == ("broker-2", ())
    require_same_pauses(profile.pauses, [logged_pauses(folder / "log" / "gc.log")])
    assert all(began_ns < pause.began_ns < phases.load_ended_ns for pause in profile.pauses if phases.load_ended_ns)
    assert profile.samples > 0
    assert any("eclipse" in entry.method for entry in profile.methods)
