"""How is a stored run analysed, wherever it is asked for? By a process of its own: its command line and folders."""

import sys
from pathlib import Path


def analysis_command(run: Path, master: str | None) -> list[str]:
    """The argument list; ``master``: Spark's, None for this machine. Its exit status: records.summary.EXIT_STATUS."""
    return [sys.executable, "-m", "analysis.jobs", str(run), *(["--master", master] if master else [])]


def java_folder(run: Path) -> Path:
    """Where a wrapper around Java goes, if Spark needs one (topologies.runtimes.java.spark_environment)."""
    return run / "logs" / "java"
