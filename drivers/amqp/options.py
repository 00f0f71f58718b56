"""States which failover options AMQP clients honour; needs no AMQP library."""

from functools import partial

from drivers.amqp.messages import read_address
from drivers.failover.supported_options import SupportedOptions

AMQP_OPTIONS = SupportedOptions("amqp", read_server_uri=partial(read_address, idle_timeout_ms=0))
