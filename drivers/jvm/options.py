"""Which options of a broker's own URI would a Java client not take? Its library is asked, before anything is connected.

Else it would try for ever, without a word (OpenWire), or leave them out (Core). What is ``nested.`` in a failover URI
is an option of each broker's.
"""

from drivers.contract import Refused
from drivers.failover import FailoverUri
from drivers.jvm.hub import JavaHub
from drivers.jvm.speech import Speech


def refuse_unknown(link: JavaHub, uri: FailoverUri, speech: Speech) -> None:
    """Raises `Refused` with the library's words."""
    for server in dict.fromkeys(map(uri.effective, uri.servers)):
        words = str(link.java_class("ServerOptions").misread(speech.of_a_link(str(server)))) if server.query else ""
        if words:
            raise Refused(
                f"{speech.told} clients do not take {server.query!r} as options of {server.address}: {words}; "
                "correct them in its URI, or as nested.… of the failover URI, or leave them out"
            )
