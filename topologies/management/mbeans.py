"""Values of MBeans that the JVM brokers of several products have."""

from collections.abc import Mapping
from typing import Any

from topologies.management.jolokia import Answer
from topologies.model.management import ManagementFailed

NOT_FOUND, OK = 404, 200
HEAP = "java.lang:type=Memory"
"""The MBean of a JVM's memory."""


def named_figures(figures: Mapping[str, str], attributes: Mapping[str, Any]) -> dict[str, int]:
    """Select values from MBean attributes. ``figures``: metric name to attribute name. Pure."""
    return {metric: int(attributes[attribute]) for metric, attribute in figures.items()}


def heap_figures(memory: Mapping[str, Any]) -> dict[str, int]:
    """Return heap metrics. ``memory``: the attributes of HEAP."""
    usage = memory["HeapMemoryUsage"]
    return {"heap_used_bytes": int(usage["used"]), "heap_max_bytes": int(usage["max"])}


def value_of(broker: str, answer: Answer) -> Any:
    """Return the value; empty if a pattern matches no MBean. Raises ManagementFailed for any other error."""
    if answer.status == NOT_FOUND and "*" in answer.mbean:
        return {}
    if answer.status != OK:
        raise ManagementFailed(f"broker {broker!r}, MBean {answer.mbean}: {answer.error or 'no value'}")
    return answer.value
