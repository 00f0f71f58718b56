"""Makes the command line and the folders of the process that analyses stored runs."""

import re
import sys
from collections.abc import Sequence
from pathlib import Path

SCRATCH = "brokerbench-analysis-"
"""How the name of its folder for temporary files begins."""
MASTER = re.compile(
    r"local(\[([1-9]\d{0,4}|\*)(, *[1-9]\d{0,4})?\])?|local-cluster\[ *\d+ *, *\d+ *, *\d+ *\]|yarn"
    r"|spark://[^\s:,/]+:\d+(,[^\s:,/]+:\d+)*|k8s://\S+"
)
"""The masters that Spark 4 knows: see "Master URLs" in its guide to submitting applications."""


def why_no_master(text: str) -> str:
    """The rule and the next step for a Spark master that is none; '' for one."""
    if MASTER.fullmatch(text):
        return ""
    return (
        "no master of Spark; write local[4], spark://HOST:7077, yarn or k8s://HOST:PORT, or leave it out for local[*]"
    )


def is_local(master: str | None) -> bool:
    """Whether Spark runs on this machine only, without a cluster that the user has set up."""
    return master is None or master.startswith("local")


def analysis_command(runs: Sequence[Path], master: str | None) -> list[str]:
    """The argument list; ``master``: Spark's, None for this machine. Its exit status: records.summary.EXIT_STATUS."""
    return [sys.executable, "-m", "analysis.jobs", *map(str, runs), *(["--master", master] if master else [])]


def java_folder(run: Path) -> Path:
    """Where Spark's wrapper around Java goes (topologies.runtimes.java.spark_environment)."""
    return run / "logs" / "java"
