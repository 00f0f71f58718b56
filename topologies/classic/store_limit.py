"""Lowers the store limit of a running Classic broker below what it holds, restores it, and reads how full the store is.

Producer flow control then holds durable messages back. The Broker MBean takes another limit at any time.
"""

from topologies.classic.management import broker_mbean
from topologies.management.jolokia import Jolokia

LIMIT, PERCENT = "StoreLimit", "StorePercentUsage"
# Less than an empty KahaDB holds (12 KiB in 5.18.3). Not 1 byte: the percentage is a 32-bit number, which a store of
# 21 MiB would then overflow. The broker takes a negative percentage for room. With this limit 80 GiB can be told.
LOW_LIMIT_BYTES = 4096


def lower(agent: Jolokia) -> int:
    """Lowers the limit. The limit before, in bytes. Raises ManagementFailed."""
    return int(agent.write(broker_mbean(agent.broker), LIMIT, LOW_LIMIT_BYTES))


def restore(agent: Jolokia, limit_bytes: int) -> None:
    """Raises ManagementFailed."""
    agent.write(broker_mbean(agent.broker), LIMIT, limit_bytes)


def percent(agent: Jolokia) -> int:
    """How much of the limit is used; the broker's store is full from 100 on. Raises ManagementFailed."""
    return int(agent.read(broker_mbean(agent.broker), PERCENT)[PERCENT])
