"""Environment variables of the processes that brokerbench starts.

They inherit the user's environment, except for variables that would silently change Java, Spark, Python or matplotlib.
"""

import os
import sys
from collections.abc import Mapping
from io import TextIOWrapper
from pathlib import Path

JAVA = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "CLASSPATH")
"""Variables with additional options, which every JVM reads."""
SPARK = ("SPARK_", "PYSPARK_", "HADOOP_", "YARN_", "HIVE_")
"""Prefixes of the variables that Spark and its libraries read. A local session uses none of them."""
PYTHON = (
    "PYTHONOPTIMIZE", "PYTHONWARNINGS", "PYTHONINSPECT", "PYTHONDEVMODE", "PYTHONSTARTUP", "PYTHONVERBOSE",
    "PYTHONPROFILEIMPORTTIME", "PYTHONTRACEMALLOC",
)  # fmt: skip
POLARS = "POLARS_"
"""Prefix of the variables that polars reads. It cannot be imported with ``POLARS_MAX_THREADS=0``."""
LOCALE = {"LC_ALL": "C.UTF-8"}
"""ActiveMQ cannot start in a Turkish locale (it lowercases ``INFO``), and a JVM in the plain C locale cannot open a
file with a non-ASCII name."""


SYSTEM_PATH = ("/usr/local/bin", "/usr/bin", "/bin")
"""Searched after the user's PATH: Spark starts by a bash script that needs a few programs of the system."""


def for_java(inherited: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a JVM: no options from variables, and a locale that every JVM supports."""
    return {name: value for name, value in inherited.items() if name not in JAVA} | LOCALE


def for_job(inherited: Mapping[str, str], *, local: bool) -> dict[str, str]:
    """Return the environment of an analysis or a report, which run as separate Python processes.

    They write UTF-8 and import nothing from the current folder, where the user may have files of any name. Nor do they
    import from ``PYTHONPATH``, which may have another polars, unless brokerbench itself is found there. ``local``:
    Spark runs on this machine only, so its variables, which are meant for a cluster, are left out.
    """
    job = {name: value for name, value in for_java(inherited).items() if name not in PYTHON}
    if local and not _holds_brokerbench(job.get("PYTHONPATH", "")):
        job.pop("PYTHONPATH", None)
    job = {name: value for name, value in job.items() if not name.startswith(POLARS)}
    folders = [folder for folder in job.get("PATH", "").split(os.pathsep) if folder]
    path = os.pathsep.join(dict.fromkeys((*folders, *SYSTEM_PATH)))
    settings = {"PYTHONSAFEPATH": "1", "PYTHONUTF8": "1", "PYTHONIOENCODING": "utf-8", "PATH": path}
    return (without_spark(job) if local else job) | settings


def _holds_brokerbench(python_path: str) -> bool:
    """Whether this module was imported from one of the folders in ``PYTHONPATH``."""
    home = Path(__file__).resolve().parents[1]
    return any(Path(folder).resolve() == home for folder in python_path.split(os.pathsep) if folder)


def without_spark(inherited: Mapping[str, str]) -> dict[str, str]:
    """Return the environment without the variables that change Spark."""
    return {name: value for name, value in inherited.items() if not name.startswith(SPARK)}


def escape_unprintable() -> None:
    """Let standard output escape characters that the terminal's encoding lacks, instead of raising an error.

    Standard error always does.
    """
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
