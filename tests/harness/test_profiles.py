"""Checks how a recording of a real JVM becomes a profile: its pauses are those in the log of the garbage collector."""

import os
import re
import subprocess
import time
from pathlib import Path

from drivers.jvm.compiler import Compiler
from harness.java_parts import CLASSES, COMPILER
from harness.run.profiles import SOURCES, profile_brokers
from records.environment import for_java
from records.profiles import read_profiles
from records.run import Phases
from records.rundir import RunDirectory
from topologies.runtimes.distribution import cache_folder, ensure, pinned
from topologies.runtimes.java import find_java
from topologies.runtimes.processes.recordings import FOLDER, OPTIONS

PAUSE_MS = re.compile(r"Pause .* ([0-9.]+)ms$", re.MULTILINE)
SMALL_HEAP = ("-Xmx24m", "-XX:+UseSerialGC", "-Xlog:gc:file=gc.log")


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
    (sentence,) = profile_brokers(directory, ["broker-1", "broker-2"], phases)
    assert sentence == "broker broker-2 has no profile: it left no recording that can be read; see its log"
    profile, absent = read_profiles(directory)
    assert (absent.broker, absent.file) == ("broker-2", "")
    logged_ms = [float(ms) for ms in PAUSE_MS.findall((folder / "log" / "gc.log").read_text(encoding="utf-8"))]
    recorded_ms = [pause.duration_ns / 1e6 for pause in profile.pauses]
    assert 0 < len(recorded_ms) <= len(logged_ms)
    assert [ms for ms in recorded_ms if min(abs(ms - logged) for logged in logged_ms) > 0.2 + 0.1 * ms] == []
    assert all(began_ns < pause.began_ns < phases.load_ended_ns for pause in profile.pauses if phases.load_ended_ns)
    assert profile.samples > 0
    assert any("eclipse" in entry.method for entry in profile.methods)
