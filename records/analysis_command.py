"""Command line and folders of the process that analyzes stored runs."""

import re
import sys
from collections.abc import Sequence
from pathlib import Path

SCRATCH = "brokerbench-analysis-"
"""Prefix of the folder for its temporary files."""
LAST_LINE = "timing: "
"""Begins the last line that it prints about a run. All results of the run are written then, and only Spark stops."""
MASTER = re.compile(
    r"local(\[([1-9]\d{0,4}|\*)(, *[1-9]\d{0,4})?\])?|local-cluster\[ *\d+ *, *\d+ *, *\d+ *\]|yarn"
    r"|spark://[^\s:,/]+:\d+(,[^\s:,/]+:\d+)*|k8s://\S+"
)
"""The master URLs that Spark 4 accepts: see "Master URLs" in its guide to submitting applications."""


URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


def why_no_master(text: str) -> str:
    """Return why ``text`` is not a Spark master, with the next step; empty if it is one."""
    if MASTER.fullmatch(text):
        return ""
    return (
        "not a Spark master; write local[4], spark://HOST:7077, yarn or k8s://HOST:PORT, or leave it out for local[*]"
    )


def is_local(master: str | None) -> bool:
    """Whether Spark runs on this machine only, not on a cluster that the user has set up."""
    return master is None or master.startswith("local")


def analysis_command(runs: Sequence[Path | str], master: str | None) -> list[str]:
    """Return the argument list. ``runs``: folders, or URIs of folders. ``master``: the Spark master, None for this
    machine. Exit status: records.figures.summary.EXIT_STATUS."""
    return [sys.executable, "-m", "analysis.jobs", *map(str, runs), *(["--master", master] if master else [])]


def java_folder(run: Path) -> Path:
    """Return the folder for Spark's wrapper around Java (topologies.jvm.java.spark_environment)."""
    return run / "logs" / "java"


def is_uri(run: str) -> bool:
    """Whether ``run`` is a URI, which Spark's file systems read, instead of a path."""
    return URI.match(run) is not None
