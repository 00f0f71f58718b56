"""What machine and what software made the numbers? Recorded with every run."""

import os
import platform
import resource
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import psutil

PACKAGES = ("brokerbench", "locust", "stomp.py", "gevent", "pyspark", "pyarrow")


def describe() -> dict[str, str | int | float]:
    """The machine: processor, cores, memory, kernel. No host name: a report may be published."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count() or 0,
        "memory_bytes": psutil.virtual_memory().total,
        "system": f"{platform.system()} {platform.release()}",
        "architecture": platform.machine(),
        "open_files_limit": _open_files_limit(),
    }


def versions() -> dict[str, str]:
    """Python and the packages that carry the load and the analysis."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


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
