"""Makes the command line and the folders of the process that analyses stored runs."""

import sys
from collections.abc import Sequence
from pathlib import Path

SCRATCH = "brokerbench-analysis-"
"""How the name of its folder for temporary files begins."""


def analysis_command(runs: Sequence[Path], master: str | None) -> list[str]:
    """The argument list; ``master``: Spark's, None for this machine. Its exit status: records.summary.EXIT_STATUS."""
    return [sys.executable, "-m", "analysis.jobs", *map(str, runs), *(["--master", master] if master else [])]


def java_folder(run: Path) -> Path:
    """Where Spark's wrapper around Java goes (topologies.runtimes.java.spark_environment)."""
    return run / "logs" / "java"
