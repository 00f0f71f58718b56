"""Records the Java client's behavior for a URI: ActiveMQ's FailoverTransport runs in a separate process and logs.

Run it as a module with the log's path. Each input line is a round: the URIs by case, the cases that send and when, and
the duration of the round. The reply has the time that each send was blocked, in milliseconds. An input line can also
request whether a URI is rejected, or which options a URI can set.
"""

import json
import sys
import threading
import time
from pathlib import Path
from typing import Any

import jpype

from harness.java_parts import find_java_parts

LOGGING = """
rootLogger.level=off
appender.f.type=File
appender.f.name=f
appender.f.fileName={log}
appender.f.layout.type=PatternLayout
appender.f.layout.alwaysWriteExceptions=false
appender.f.layout.pattern=%N %tid %m%n
logger.t.name=org.apache.activemq.transport.failover.FailoverTransport
logger.t.level=debug
logger.t.appenderRef.f.ref=f
"""
MS_PER_S = 1_000
WRITTEN_AS_TEXT = {"boolean", "int", "long", "double", "java.lang.String"}


class JavaRound:
    """The transports of one round."""

    def __init__(self, uris: dict[str, str], sends: dict[str, float]) -> None:
        factory = jpype.JClass("org.apache.activemq.transport.TransportFactory")
        listener = jpype.JClass("org.apache.activemq.transport.DefaultTransportListener")
        uri = jpype.JClass("java.net.URI")
        self.blocked_ms: dict[str, float] = {}
        self._sends = sends
        self._transports = {case: factory.connect(uri(text)) for case, text in uris.items()}
        for transport in self._transports.values():
            transport.setTransportListener(listener())

    def play(self, for_s: float) -> None:
        senders = [threading.Thread(target=self._send, args=each, daemon=True) for each in self._sends.items()]
        for transport in self._transports.values():
            transport.start()
        for sender in senders:
            sender.start()
        time.sleep(for_s)
        for transport in self._transports.values():
            transport.stop()
        for sender in senders:
            sender.join()

    def _send(self, case: str, at_s: float) -> None:
        failover = jpype.JClass("org.apache.activemq.transport.failover.FailoverTransport")
        transport = self._transports[case].narrow(failover)
        message = jpype.JClass("org.apache.activemq.command.ActiveMQMessage")()
        time.sleep(at_s)
        began_s = time.monotonic()
        try:
            transport.oneway(message)
        except jpype.JException as refused:
            if "Failover timeout" in str(refused):
                self.blocked_ms[case] = (time.monotonic() - began_s) * MS_PER_S


def main(log: Path) -> None:
    parts = find_java_parts("openwire")
    configuration = log.with_suffix(".properties")
    configuration.write_text(LOGGING.format(log=log))
    library = next(parts.home.glob("lib/**/libjvm.so"))
    jars = [str(jar) for jar in parts.client]
    jpype.startJVM(str(library), f"-Dlog4j2.configurationFile={configuration}", "-Xss512k", classpath=jars)
    for line in sys.stdin:
        asked: dict[str, Any] = json.loads(line)
        print(json.dumps(answer(asked)), flush=True)


def answer(asked: dict[str, Any]) -> dict[str, float]:
    if "refuses" in asked:
        return refused(asked["refuses"])
    return settable() if "settable" in asked else played(**asked)


def played(uris: dict[str, str], sends: dict[str, float], for_s: float) -> dict[str, float]:
    """Return the time that each send was blocked, in ms."""
    this_round = JavaRound(uris, sends)
    this_round.play(for_s)
    return this_round.blocked_ms


def refused(uri: str) -> dict[str, float]:
    """Return ``{"refused": 1}`` if the Java client rejects the URI."""
    try:
        jpype.JClass("org.apache.activemq.transport.TransportFactory").connect(jpype.JClass("java.net.URI")(uri)).stop()
    except jpype.JException:
        return {"refused": 1}
    return {}


def settable() -> dict[str, float]:
    """Return the options that a URI can set on the transport: its setters of one value that can be written as text."""
    methods = jpype.JClass("org.apache.activemq.transport.failover.FailoverTransport").class_.getMethods()
    setters = [each for each in methods if str(each.getName()).startswith("set") and each.getParameterCount() == 1]
    written = [each for each in setters if str(each.getParameterTypes()[0].getName()) in WRITTEN_AS_TEXT]
    return {name[3].lower() + name[4:]: 1 for name in (str(each.getName()) for each in written)}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
