"""Spark worker daemon with our modules imported: local executors fork their Python processes from it.

Spark starts it by its module's name (``spark.python.daemon.module``) instead of its own daemon.
"""

from importlib import import_module

from pyspark.daemon import manager

USED = ("analysis.jobs", "numpy.ma", "pyarrow.parquet", "pyspark.sql.conversion", "pyspark.worker")
"""The modules that each process would import otherwise."""

if __name__ == "__main__":
    for module in USED:
        import_module(module)
    manager()
