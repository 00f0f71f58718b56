"""What Spark forks the Python processes of local executors from: with all that a part needs imported already.

Spark starts it by its module's name (``spark.python.daemon.module``), in place of its own one.
"""

from pyspark.daemon import manager

import analysis.clients.topic
import analysis.faults.topic
import analysis.latency.topic
import analysis.load.topic
import analysis.messages.topic  # noqa: F401

if __name__ == "__main__":
    manager()
