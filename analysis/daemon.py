"""Spark worker daemon with our modules imported: local executors fork their Python processes from it.

Spark starts it by its module's name (``spark.python.daemon.module``) instead of its own daemon.
"""

from pyspark.daemon import manager

import analysis.clients.topic
import analysis.faults.topic
import analysis.latency.topic
import analysis.load.topic
import analysis.messages.topic
import analysis.pipeline  # noqa: F401

if __name__ == "__main__":
    manager()
