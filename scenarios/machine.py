"""Describes the machine and the software that made the numbers. Recorded with every run."""

import math
import os
import platform
import resource
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import psutil

PACKAGES = ("brokerbench", "locust", "stomp.py", "python-qpid-proton", "gevent", "pyspark", "pyarrow")
CLONE = Path(__file__).resolve().parents[1]
GOVERNOR = Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
CPU_LIMIT, MEMORY_LIMIT = Path("/sys/fs/cgroup/cpu.max"), Path("/sys/fs/cgroup/memory.max")


def describe() -> dict[str, str | int | float]:
    """The machine: processor, cores, memory, kernel. No host name: a report may be published."""
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
    """What processes may use here: the machine's memory, or less if a control group says so."""
    return min(float(psutil.virtual_memory().total), float(_limits().get("memory_limit_bytes", math.inf)))


def versions() -> dict[str, str]:
    """Python, the packages that carry the load and the analysis, and the commit of this harness if git knows it."""
    version_by_package = {"python": platform.python_version(), **({"commit": commit} if (commit := _commit()) else {})}
    for package in PACKAGES:
        try:
            version_by_package[package] = version(package)
        except PackageNotFoundError:
            version_by_package[package] = "not installed"
    return version_by_package


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
    """``c17e4d8``, or ``c17e4d8, changed`` where files differ from it; '' outside a git clone."""
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
    """What a container or a service grants of the machine, as its control group says; nothing where it has no limit."""
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
    """Of a file of the kernel; none where there is no such file."""
    try:
        return path.read_text(encoding="utf-8").split()
    except OSError:
        return []
