"""In what do the protocols of Java clients differ, seen from Python? Their names and their URIs; the rest is one."""

from collections.abc import Callable
from dataclasses import dataclass

from drivers.failover import FailoverUri


@dataclass(frozen=True)
class Speech:
    """``told``: the protocol's name for people.

    ``of_a_load``: a failover URI as the library's own failover follows it; ``of_a_link``: the URI of one broker as the
    library connects to it, once.
    """

    protocol: str
    told: str
    schemes: tuple[str, ...]
    of_a_load: Callable[[FailoverUri], str]
    of_a_link: Callable[[str], str]
