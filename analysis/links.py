"""How many messages did each bridge carry, by its own counters?

A bridge's ``dequeue_count`` is what it forwarded and the other side confirmed. Both ends of a duplex link have a
bridge; where only the opener's was sampled, its ``received_count`` tells what came back.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analysis.resources import carried

_DIRECTION = ["from_broker", "to_broker"]


def links(samples: DataFrame) -> DataFrame:
    """Rows of LINKS. A bridge's object is ``connector|remote broker``."""
    bridges = carried(samples.where(F.col("kind") == "bridge")).select(
        "metric",
        F.col("broker").alias("here"),
        F.substring_index("object", "|", -1).alias("remote"),
        F.substring_index("object", "|", 1).alias("connector"),
        F.col("growth").alias("forwarded"),
    )
    forwarded = _direction(bridges, "dequeue_count", "here", "remote")
    brought_back = _direction(bridges, "received_count", "remote", "here")
    return forwarded.unionByName(brought_back.join(forwarded.select(*_DIRECTION).distinct(), _DIRECTION, "left_anti"))


def _direction(bridges: DataFrame, metric: str, from_broker: str, to_broker: str) -> DataFrame:
    return bridges.where(F.col("metric") == metric).select(
        F.col(from_broker).alias("from_broker"), F.col(to_broker).alias("to_broker"), "connector", "forwarded"
    )
