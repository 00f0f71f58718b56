"""Names the reasons by which the rows of `connections` tell why a client left a broker.

The drivers record them, the analysis reads them. Any other reason is the driver's or the broker's own words.
"""

BROKERS_ORDER = "the broker told it to move"
"""A closed connection: OpenWire's updateClusterClients and rebalanceClusterClients, or a reconnectTo."""

PRIORITY_FOUND = "a better broker is there"
"""A closed connection: the client's own library left for a broker of priority (OpenWire's priorityBackup)."""

PRIORITY_BACK = "a broker of priority is back"
"""A closed connection: priorityBackup of STOMP and AMQP clients. Problems of the close may follow after ``;``."""

AMQP_REDIRECT = "amqp:connection:redirect"
"""Stands within the reason of a lost connection: the AMQP broker ended it and named another broker."""
