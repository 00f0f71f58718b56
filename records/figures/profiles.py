"""The profiles of a run's JVMs, from their Java Flight Recorder recordings: ``profiles.json`` in the run's folder.

A profile is of a broker, or of the Java clients in one process of the load generator.

Execution samples and lock waits cover the load; garbage collector pauses cover the whole recording.
"""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from records.errors import RunUnreadable
from records.files import replace_whole
from records.run_json import Misfit, convert_to_type
from records.store.rundir import RunDirectory

FILE = "profiles.json"
FEWEST_SAMPLES = 100
"""A method's share of fewer samples than this is too uncertain to compare."""


@dataclass(frozen=True)
class Pause:
    """A pause of all threads by the garbage collector. ``began_ns``: on the clock of the run's events."""

    began_ns: int
    duration_ns: int
    cause: str


@dataclass(frozen=True)
class MethodSamples:
    """Execution samples with this method at the top. ``caller``: the nearest method of ActiveMQ; '' if none."""

    method: str
    caller: str
    samples: int


@dataclass(frozen=True)
class LockWaits:
    """Waits for locks of one class. ``caller``: as in `MethodSamples`. Only waits of 10 ms or more are recorded."""

    lock: str
    caller: str
    waits: int
    waited_ns: int


@dataclass(frozen=True)
class JvmProfile:
    """``name``: of the broker, or of the process of the clients.

    ``files``: paths of the recordings in the run's folder, one for each time that the JVM was started. ``missing``: a
    sentence about data that is not there; '' if the recordings could be read.
    """

    name: str
    is_of_clients: bool = False
    files: tuple[str, ...] = ()
    missing: str = ""
    pauses: tuple[Pause, ...] = ()
    methods: tuple[MethodSamples, ...] = ()
    locks: tuple[LockWaits, ...] = ()

    @property
    def label(self) -> str:
        return f"clients in {self.name}" if self.is_of_clients else self.name

    @property
    def long_label(self) -> str:
        return f"the Java clients in {self.name}" if self.is_of_clients else f"broker {self.name}"

    @property
    def samples(self) -> int:
        return sum(entry.samples for entry in self.methods)


def parse_profile(empty: JvmProfile, lines: Iterable[str], epoch_offset_ns: int) -> JvmProfile:
    """Return the profile with the data of the lines that Profile.java prints.

    ``epoch_offset_ns``: time since the epoch minus the run's clock. Raises ValueError for other lines, or if the last
    line is missing.
    """
    pauses, methods, locks, complete = [], [], [], False
    for line in lines:
        kind, *fields = line.split("\t")
        if kind == "pause":
            pauses.append(Pause(int(fields[0]) - epoch_offset_ns, int(fields[1]), fields[2]))
        elif kind == "sample":
            methods.append(MethodSamples(fields[0], fields[1], int(fields[2])))
        elif kind == "lock":
            locks.append(LockWaits(fields[0], fields[1], int(fields[2]), int(fields[3])))
        elif kind == "events":
            complete = True
        else:
            raise ValueError(f"unknown line {line!r}")
    if not complete:
        raise ValueError("the last line is missing")
    methods.sort(key=lambda entry: (-entry.samples, entry.method, entry.caller))
    locks.sort(key=lambda entry: (-entry.waited_ns, entry.lock, entry.caller))
    return replace(empty, pauses=tuple(pauses), methods=tuple(methods), locks=tuple(locks))


def samples_by_method(profiles: Iterable[JvmProfile]) -> Counter[str]:
    """Return the samples of each method over all profiles and callers."""
    counts: Counter[str] = Counter()
    for profile in profiles:
        for entry in profile.methods:
            counts[entry.method] += entry.samples
    return counts


def samples_by_activemq_method(profiles: Iterable[JvmProfile]) -> Counter[str]:
    """Return the samples by the nearest method of ActiveMQ, which ran itself or had called the running method.

    Samples without such a method are left out.
    """
    counts: Counter[str] = Counter()
    for profile in profiles:
        for entry in profile.methods:
            if entry.caller:
                counts[entry.caller] += entry.samples
    return counts


def write_profiles(directory: RunDirectory, profiles: Sequence[JvmProfile]) -> None:
    """Write profiles.json. Raises RunUnwritable."""
    text = json.dumps([asdict(profile) for profile in profiles], indent=1) + "\n"
    replace_whole(directory.path / FILE, lambda unfinished: unfinished.write_text(text, encoding="utf-8"))


def read_profiles(directory: RunDirectory) -> tuple[JvmProfile, ...]:
    """Return the profiles of a run; empty for a run without ``--jfr``. Raises RunUnreadable."""
    path: Path = directory.path / FILE
    try:
        document: Any = json.loads(path.read_text(encoding="utf-8"))
        profiles: tuple[JvmProfile, ...] = convert_to_type(tuple[JvmProfile, ...], document)
    except FileNotFoundError:
        return ()
    except (OSError, ValueError, Misfit) as error:
        raise RunUnreadable(f"{path}: cannot be read as profiles ({error}): restore it, or delete it") from None
    return profiles
