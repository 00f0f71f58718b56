"""Describes the machine and the software of a run, and reports missing resources.

The description is recorded with every run.
"""

import math
import os
import platform
import resource
import shutil
import socket
import subprocess
import tempfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import psutil

PACKAGES = ("brokerbench", "locust", "stomp.py", "python-qpid-proton", "gevent", "pyspark", "pyarrow")
CLONE = Path(__file__).resolve().parents[1]
GOVERNOR = Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
CPU_LIMIT, MEMORY_LIMIT = Path("/sys/fs/cgroup/cpu.max"), Path("/sys/fs/cgroup/memory.max")


LEAST_OPEN_FILES = 512
"""The JVMs of the analysis and of each broker have 200 to 300 files open."""
FILES_BESIDE_CLIENTS = 256
MIB = 1 << 20
LARGEST_FILE_MIB, LEAST_FREE_MIB = 64, 1
"""Sizes for a small run: the largest file, which is a broker's journal, and the total data of the shortest run."""
LOCALHOST = "localhost"


def describe() -> dict[str, str | int | float]:
    """Return the machine's processor, cores, memory and kernel, but no host name, as reports may be published."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count() or 0,
        "memory_bytes": psutil.virtual_memory().total,
        "system": f"{platform.system()} {platform.release()}",
        "architecture": platform.machine(),
        "open_files_limit": _open_files_limit(),
        "cpu_governor": _first_word(GOVERNOR) or "unknown",
        **_limits(),
    }


def memory_bytes() -> float:
    """Return the memory that processes may use: the machine's memory, or a lower limit of the control group."""
    return min(float(psutil.virtual_memory().total), float(_limits().get("memory_limit_bytes", math.inf)))


def versions() -> dict[str, str]:
    """Return the versions of Python and the main packages, and the commit of this harness if it is a git clone."""
    version_by_package = {"python": platform.python_version(), **({"commit": commit} if (commit := _commit()) else {})}
    for package in PACKAGES:
        try:
            version_by_package[package] = version(package)
        except PackageNotFoundError:
            version_by_package[package] = "not installed"
    return version_by_package


def why_too_few_files(clients: int = 0) -> str:
    """Return why a run with this many clients, its brokers or its analysis may run out of open files; '' if not.

    Locust raises the soft limit to 10,000 if the hard limit allows it.
    """
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    needed = max(LEAST_OPEN_FILES, clients + FILES_BESIDE_CLIENTS)
    if most == resource.RLIM_INFINITY or most >= needed:
        return ""
    whose = f"a run with {clients:,} clients" if clients else "a run"
    return (
        f"open files: a process may open at most {most:,} here (ulimit -Hn), but {whose} needs {needed:,}; raise the "
        "limit, for example with ulimit -n 4096 in a new shell, LimitNOFILE= of a service, or --ulimit of docker run"
    )


def why_no_names() -> str:
    """Return why Java and Spark cannot resolve names on this machine; '' if they can."""
    try:
        socket.getaddrinfo(LOCALHOST, None)
    except OSError as error:
        reason = error.strerror or error
        return f"names: {LOCALHOST} cannot be resolved ({reason}); add the line 127.0.0.1 {LOCALHOST} to /etc/hosts"
    return ""


def why_no_temporary_files() -> str:
    """Return why temporary files cannot be written; '' if they can."""
    try:
        with tempfile.TemporaryFile() as file:
            file.write(b"1")
    except OSError as error:
        return f"temporary files: cannot be written ({error}); free some space, or set TMPDIR to another folder"
    return ""


def why_too_small_files() -> str:
    """Return why this process cannot write files of the size that a run needs; empty if it can."""
    most_bytes = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    if most_bytes == resource.RLIM_INFINITY or most_bytes >= LARGEST_FILE_MIB * MIB:
        return ""
    return (
        f"file size: a process may write files of at most {most_bytes / MIB:.3g} MiB here (ulimit -f), but a run needs "
        f"{LARGEST_FILE_MIB}; raise the limit, for example with ulimit -f unlimited in a new shell"
    )


def why_full(folder: Path) -> str:
    """Return why the disk of ``folder`` has no room for a run; empty if it has. The folder does not have to exist."""
    existing = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
    try:
        free_bytes = shutil.disk_usage(existing).free
    except OSError:
        return ""  # for another reason, which the run's folder meets too
    if free_bytes >= LEAST_FREE_MIB * MIB:
        return ""
    return (
        f"--runs {folder}: {free_bytes / MIB:.3g} MiB are free on its disk, but a run needs at least {LEAST_FREE_MIB}; "
        "free some space, or choose another folder"
    )


def _processor() -> str:
    try:
        with Path("/proc/cpuinfo").open(encoding="utf-8") as lines:
            for line in lines:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or "unknown"


def _open_files_limit() -> int:
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def _commit() -> str:
    """Return ``c17e4d8``, or ``c17e4d8, changed`` if files differ from the commit; '' outside a git clone."""
    if _git("rev-parse", "--show-toplevel") != str(CLONE):
        return ""  # installed elsewhere, perhaps inside another repository
    commit, changes = _git("rev-parse", "--short=12", "HEAD"), _git("status", "--porcelain", "--untracked-files=no")
    if commit is None or changes is None:
        return ""
    return f"{commit}, changed" if changes else commit


def _git(*arguments: str) -> str | None:
    line = ["git", "--no-optional-locks", "-C", str(CLONE), *arguments]
    of_this_folder = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        finished = subprocess.run(line, capture_output=True, text=True, check=True, timeout=10, env=of_this_folder)
        return finished.stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return None


def _limits() -> dict[str, str | float]:
    """Return the limits of the control group (of a container or a service); empty if it has no limits."""
    limits: dict[str, str | float] = {}
    quota, _, period = " ".join(_words(CPU_LIMIT)).partition(" ")
    if quota.isdecimal() and period.isdecimal():
        limits["cpu_limit_cores"] = int(quota) / int(period)
    if (memory := _first_word(MEMORY_LIMIT)).isdecimal():
        limits["memory_limit_bytes"] = float(memory)
    return limits


def _first_word(path: Path) -> str:
    return (_words(path) or [""])[0]


def _words(path: Path) -> list[str]:
    """Return the words in a kernel file; none if the file does not exist."""
    try:
        return path.read_text(encoding="utf-8").split()
    except OSError:
        return []
