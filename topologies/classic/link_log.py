"""Reads a Classic broker's log lines about the bridges that it opens: attempts to connect, their results, and the end.

The lines name the address that a connector calls, not the connector. Connectors of one broker that call the same
address cannot be told apart. Addresses that a broker discovers by multicast are not in its configuration, so links that
use it have none here.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from lxml import etree

from topologies.classic.render.broker_xml import ACTIVEMQ_XML
from topologies.model.management import LinkAttempt, Outcome
from topologies.render.xml import ACTIVEMQ

NEVER = re.compile("(?!)")
CALLED = re.compile(r"//([^/?,)&]+:\d+)")
LINE = re.compile(r"(\d{4}-\d\d-\d\dT\S+) +[A-Z]+ +\S+ \[.*?\] (.*)")
BROKER_STARTS = re.compile("Loading message broker from: ")
BEGINS = "Establishing network connection from "
FAILS = re.compile(r"Could not (?:start network bridge between: .* due to|connect to remote URI: \S+): (.+)")
TRANSPORT_FAILS = re.compile(r"Failed to connect to \[.*\] after: \d+ attempt\(s\)(?: with (.+), continuing to retry)?")
RECONNECTED = "Successfully reconnected to "
CONNECTED = re.compile(r"Network connection between .* has been established")
LOST = re.compile(r"Network connection between .* shutdown due to a (?:local|remote) error: (.*)")


def called_addresses(rendered: Mapping[str, str], opened_by: str, link: str) -> tuple[str, ...]:
    """Return each ``host:port`` in the URI of a link's connector; empty if it discovers them by multicast.

    ``rendered``: the brokers' configuration files, by ``broker/file``.
    """
    text = rendered.get(f"{opened_by}/{ACTIVEMQ_XML}", "")
    connectors = etree.fromstring(text.encode()).iter(f"{{{ACTIVEMQ}}}networkConnector") if text else ()
    uris = [str(connector.get("uri")) for connector in connectors if connector.get("name") == link]
    return tuple(address for uri in uris if not uri.startswith("multicast:") for address in CALLED.findall(uri))


def give_up_pattern(links: Sequence[str], addresses: Sequence[str]) -> re.Pattern[str]:
    """Return a pattern for the warning that the discovery agent makes no more attempts at one of the addresses."""
    if not addresses:
        return NEVER
    what = r"Reconnect attempts exceeded \d+ tries\. +Reconnecting has been disabled for: "
    return re.compile(rf"{what}\[[^\]\n]*{_any(addresses)}[^\]\n]*\]")


def connected_pattern(links: Sequence[str], addresses: Sequence[str]) -> re.Pattern[str]:
    """Return a pattern for the line that a bridge to one of the addresses is up."""
    if not addresses:
        return NEVER
    return re.compile(rf"Network connection between [^\n]*{_any(addresses)}[^\n]* has been established")


def attempts(log: Sequence[str], addresses: Sequence[str]) -> list[LinkAttempt]:
    """Return the attempts to connect to the addresses, in the order of the log. Pure."""
    found: list[LinkAttempt] = []
    for at_ns, message in _messages(log, addresses):
        if message.startswith(BEGINS):
            found.append(LinkAttempt(at_ns))
        elif message.startswith(RECONNECTED):
            result = "its failover transport connected again, below the bridge"
            found.append(LinkAttempt(at_ns, result, Outcome.CONNECTED))
        elif found and found[-1].outcome is Outcome.UNKNOWN:
            found[-1] = LinkAttempt(found[-1].at_ns, *_result(message))
    return found


def _result(message: str) -> tuple[str, Outcome]:
    if CONNECTED.match(message):
        return "connected", Outcome.CONNECTED
    if failed := TRANSPORT_FAILS.match(message):
        return failed[1] or "no broker could be reached", Outcome.FAILED
    if ended := FAILS.match(message) or LOST.match(message):
        return ended[1].rpartition("Exception: ")[2].strip(), Outcome.FAILED
    return "", Outcome.UNKNOWN


def _messages(log: Sequence[str], addresses: Sequence[str]) -> Iterator[tuple[int, str]]:
    if not addresses:
        return
    called = re.compile(_any(addresses))
    for line in log:
        if called.search(line) and (parts := LINE.match(line)):
            yield round(datetime.fromisoformat(parts[1]).timestamp() * 1000) * 1_000_000, parts[2]


def _any(addresses: Sequence[str]) -> str:
    return rf"(?:{'|'.join(map(re.escape, addresses))})(?!\d)"
