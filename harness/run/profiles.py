"""Merges the recordings of brokers and Java clients after a run with ``--jfr``, and reads them by our Java program."""

import os
import subprocess
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from drivers.contract import DriverError
from drivers.jvm.compiler import Compiler
from harness.java_parts import CLASSES, COMPILER
from records.environment import for_java
from records.figures.profiles import JvmProfile, parse_profile, write_profiles
from records.run import Phases
from records.store.recordings import merge
from records.store.rundir import RunDirectory
from topologies.jvm.distribution import DistributionUnavailable, cache_folder, ensure
from topologies.jvm.java import NoJava, find_java
from topologies.pinned import pinned

SOURCES = Path(__file__).parents[1] / "java"
READ_TIMEOUT_S = 300.0
CLOCK_READINGS = 5


def profile_run(directory: RunDirectory, brokers: Iterable[str], phases: Phases) -> list[str]:
    """Write the profiles of the brokers, and of each process with Java clients. All recordings must have ended.

    Returns a sentence for each missing profile. Raises RunUnwritable.
    """
    profiles = [_profile(directory, directory.broker_folder(broker), JvmProfile(broker), phases) for broker in brokers]
    for process in directory.client_processes:
        empty = JvmProfile(process, is_of_clients=True)
        profiles.append(_profile(directory, directory.client_folder(process), empty, phases))
    write_profiles(directory, profiles)
    return [f"no profile of {profile.long_label}: {profile.missing}" for profile in profiles if profile.missing]


def _profile(directory: RunDirectory, folder: Path, empty: JvmProfile, phases: Phases) -> JvmProfile:
    try:
        recordings = merge(folder)
    except OSError as error:
        return replace(empty, missing=f"its recording cannot be merged ({error})")
    if not recordings:
        advice = "" if empty.is_of_clients else "; see its log"
        return replace(empty, missing=f"it left no recording that can be read{advice}")
    profile = replace(empty, files=tuple(path.relative_to(directory.path).as_posix() for path in recordings))
    offset_ns = _epoch_offset_ns()
    try:
        text = _read(recordings, *(offset_ns + (at_ns or 0) for at_ns in (phases.load_began_ns, phases.load_ended_ns)))
        return parse_profile(profile, text.splitlines(), offset_ns)
    except (DriverError, NoJava, DistributionUnavailable, OSError, ValueError, subprocess.SubprocessError) as error:
        why = f"its recording cannot be read ({error}); open {' and '.join(profile.files)} with JDK Mission Control"
        return replace(profile, missing=why)


def _epoch_offset_ns() -> int:
    """Return the time since the epoch minus the run's clock: from the quickest of several readings of both."""
    readings = []
    for _ in range(CLOCK_READINGS):
        before_ns, epoch_ns, after_ns = time.perf_counter_ns(), time.time_ns(), time.perf_counter_ns()
        readings.append((after_ns - before_ns, epoch_ns - (before_ns + after_ns) // 2))
    return min(readings)[1]


def _read(recordings: Sequence[Path], from_epoch_ns: int, to_epoch_ns: int) -> str:
    """Return the output of Profile.java. Raises ValueError with the first line of its error."""
    java = find_java()
    classes = Compiler(java.home, ensure(pinned(COMPILER)), cache_folder() / CLASSES).compiled((SOURCES,), ())
    answer = subprocess.run(
        [str(java.executable), "-cp", str(classes), "brokerbench.Profile", str(from_epoch_ns), str(to_epoch_ns),
         *map(str, recordings)],
        env=for_java(os.environ), capture_output=True, text=True, timeout=READ_TIMEOUT_S, check=False,
    )  # fmt: skip
    if answer.returncode:
        raise ValueError((answer.stderr.splitlines() or [f"exit status {answer.returncode}"])[0])
    return answer.stdout
