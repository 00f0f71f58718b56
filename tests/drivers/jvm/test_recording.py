"""Records the JVM of a process, and reads what it left: after an orderly end, after a kill, and for two runs."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from harness.run.profiles import profile_run
from records.figures.profiles import JvmProfile, read_profiles
from records.run import Phases
from records.store.rundir import RunDirectory

pytestmark = pytest.mark.java
ROOT = Path(__file__).parents[3]
RECORDS = """
import os
import signal
import sys
import time
from pathlib import Path
import jpype
from drivers.jvm import vm
from drivers.jvm.hub import hub
from drivers.jvm.recording import ClientRecording
from harness.java_parts import find_java_parts

vm.use(find_java_parts)
for folder in map(Path, sys.argv[2:]):
    recording = ClientRecording(folder)
    recording.start()
    hub("openwire")
    end_s = time.monotonic() + 2.5
    while time.monotonic() < end_s:
        jpype.JClass("java.math.BigInteger").probablePrime(512, jpype.JClass("java.util.Random")())
    if sys.argv[1] == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if sys.argv[1] == "stop":
        recording.stop()
"""


def recorded(tmp_path: Path, how: str, *runs: str) -> list[JvmProfile]:
    """Return the profiles of runs that one process recorded. ``how``: how each of its recordings ended."""
    directories = [RunDirectory.create(tmp_path, run) for run in runs]
    folders = [str(directory.client_folder("main")) for directory in directories]
    began_ns = time.perf_counter_ns()
    process = subprocess.run([sys.executable, "-c", RECORDS, how, *folders], cwd=ROOT, check=False, timeout=90)
    assert process.returncode == (-signal.SIGKILL if how == "kill" else 0)
    profiles = []
    for directory in directories:
        phases = Phases(load_began_ns=began_ns, load_ended_ns=time.perf_counter_ns())
        assert profile_run(directory, [], phases) == []
        (profile,) = read_profiles(directory)
        assert (profile.name, profile.is_of_clients) == ("main", True)
        assert profile.files == ("clients/main/jfr/recording.jfr",)
        profiles.append(profile)
    return profiles


def big_integer_samples(profile: JvmProfile) -> int:
    return sum(entry.samples for entry in profile.methods if "BigInteger" in entry.method)


def test_two_runs_of_a_process_are_recorded_separately(tmp_path: Path) -> None:
    """The first recording begins before the JVM starts, the second in a running JVM."""
    for profile in recorded(tmp_path, "stop", "first", "second"):
        assert big_integer_samples(profile) > 20


@pytest.mark.parametrize(("how", "runs"), [("kill", ["run"]), ("leave", ["abandoned", "next"])])
def test_an_early_end_leaves_the_recording(tmp_path: Path, how: str, runs: list[str]) -> None:
    """The process is killed, or a run is abandoned, another follows, and the process ends during that."""
    for profile in recorded(tmp_path, how, *runs):
        assert big_integer_samples(profile) > 20
