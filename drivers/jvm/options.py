"""Refuses options of a broker's own URI that a Java client would not take: its library is asked before it connects.

Else it would try for ever, without a word (OpenWire), or leave them out (Core). ``nested.`` in a failover URI begins an
option of each broker.
"""

from drivers.contract import Refused
from drivers.failover.uri import FailoverUri
from drivers.jvm.hub import JavaHub
from drivers.jvm.java_protocol import JavaProtocol


def refuse_unknown(java_hub: JavaHub, uri: FailoverUri, protocol: JavaProtocol) -> None:
    """Raises `Refused` with the library's words."""
    for server in dict.fromkeys(map(uri.effective, uri.servers)):
        if not server.query:
            continue
        words = str(java_hub.java_class("ServerOptions").misread(protocol.connection_uri(str(server))))
        if words:
            raise Refused(
                f"{protocol.display_name} clients do not take {server.query!r} as options of {server.address}: "
                f"{words}; correct them in its URI, or as nested.… of the failover URI, or leave them out"
            )
