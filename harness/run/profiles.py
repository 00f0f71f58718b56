"""After a run with ``--jfr``, merges each broker's recordings and extracts a profile from them with Profile.java."""

import logging
import os
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path

from drivers.contract import DriverError
from drivers.jvm.compiler import Compiler
from harness.java_parts import CLASSES, COMPILER
from records.environment import for_java
from records.profiles import BrokerProfile, parse_profile, write_profiles
from records.run import Phases
from records.rundir import RunDirectory
from topologies.runtimes.distribution import DistributionUnavailable, cache_folder, ensure, pinned
from topologies.runtimes.java import NoJava, find_java
from topologies.runtimes.processes.recordings import merge

log = logging.getLogger("brokerbench")

SOURCES = Path(__file__).parents[1] / "java"
READ_TIMEOUT_S = 300.0
ADVICE = "see its log"


def profile_brokers(directory: RunDirectory, brokers: Iterable[str], phases: Phases) -> list[str]:
    """Write the profile of each broker, which must have ended. Returns a sentence per broker without a profile.

    Raises RunUnwritable.
    """
    profiles = [_profile(directory, broker, phases) for broker in brokers]
    write_profiles(directory, profiles)
    return [f"broker {profile.broker} has no profile: {profile.missing}" for profile in profiles if profile.missing]


def _profile(directory: RunDirectory, broker: str, phases: Phases) -> BrokerProfile:
    try:
        recording = merge(directory.broker_folder(broker))
    except OSError as error:
        return BrokerProfile(broker, missing=f"its recording cannot be merged ({error})")
    if recording is None:
        return BrokerProfile(broker, missing=f"it left no recording that can be read; {ADVICE}")
    file = recording.relative_to(directory.path).as_posix()
    offset_ns = time.time_ns() - time.perf_counter_ns()
    try:
        text = _read(recording, *(offset_ns + (at_ns or 0) for at_ns in (phases.load_began_ns, phases.load_ended_ns)))
        return parse_profile(broker, file, text.splitlines(), offset_ns)
    except (DriverError, NoJava, DistributionUnavailable, OSError, ValueError, subprocess.SubprocessError) as error:
        return BrokerProfile(
            broker, file, f"its recording cannot be read ({error}); open {file} with JDK Mission Control"
        )


def _read(recording: Path, from_epoch_ns: int, to_epoch_ns: int) -> str:
    """Return the output of Profile.java. Raises ValueError with the first line of its error."""
    java = find_java()
    classes = Compiler(java.home, ensure(pinned(COMPILER)), cache_folder() / CLASSES).compiled((SOURCES,), ())
    answer = subprocess.run(
        [str(java.executable), "-cp", str(classes), "brokerbench.Profile", str(recording), str(from_epoch_ns),
         str(to_epoch_ns)],
        env=for_java(os.environ), capture_output=True, text=True, timeout=READ_TIMEOUT_S, check=False,
    )  # fmt: skip
    if answer.returncode:
        raise ValueError((answer.stderr.splitlines() or [f"exit status {answer.returncode}"])[0])
    return answer.stdout
