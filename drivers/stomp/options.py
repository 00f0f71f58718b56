"""States which failover options STOMP clients honour."""

from functools import partial

from drivers.failover.supported_options import SupportedOptions
from drivers.stomp.frames import read_address

STOMP_OPTIONS = SupportedOptions("stomp", read_server_uri=partial(read_address, heartbeat_ms=0))
