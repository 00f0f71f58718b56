"""States which failover options the Java clients honour; needs no JVM."""

from drivers.failover.supported_options import SupportedOptions
from drivers.jvm.core_uri import refusals

OPENWIRE_OPTIONS = SupportedOptions("openwire", openwire_only=True)
CORE_OPTIONS = SupportedOptions("core", core_problems=refusals)
