"""Spark worker daemon with our modules imported: local executors fork their Python processes from it.

Spark starts it by its module's name (``spark.python.daemon.module``) instead of its own daemon.
"""

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import PathFinder

USED = ("analysis.jobs", "numpy.ma", "pyarrow.parquet", "pyspark.sql.conversion", "pyspark.worker")
"""The modules that each process would import otherwise."""
ARCHIVES = (".zip", ".jar")


def without_archives_of_pyspark(path: Sequence[str]) -> list[str]:
    """A module path without the archives that lie in an installed pyspark, which hold its modules once more.

    From an archive every process would compile the modules, and each task would read the names of all its files again.
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
