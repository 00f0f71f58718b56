"""Spark worker daemon that imports our modules once: local executors fork their Python processes from it.

Spark starts it by module name (``spark.python.daemon.module``) instead of its own daemon.
"""

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import PathFinder

USED = ("analysis.jobs", "numpy.ma", "pyarrow.parquet", "pyspark.sql.conversion", "pyspark.worker")
"""Modules that each process would otherwise import."""
ARCHIVES = (".zip", ".jar")


def without_archives_of_pyspark(path: Sequence[str]) -> list[str]:
    """Return a module path without the archives inside an installed pyspark, which contain its modules a second time.

    With an archive on the path, every process compiles the modules, and every task rereads the archive's file list.
    """
    folders = [entry for entry in path if not entry.endswith(ARCHIVES)]
    found = PathFinder.find_spec("pyspark", folders)
    installed = tuple(f"{folder}/" for folder in (found and found.submodule_search_locations) or ())
    return [entry for entry in path if not (entry.endswith(ARCHIVES) and entry.startswith(installed))]


if __name__ == "__main__":
    sys.path[:] = without_archives_of_pyspark(sys.path)
    for module in USED:
        import_module(module)
    import_module("pyspark.daemon").manager()
