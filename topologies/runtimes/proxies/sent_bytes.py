"""Counts the bytes that Toxiproxy's connections carried, from its metrics and its log.

Both count a connection when it ends, in each direction: the metrics if all of it was sent on, the log if a write
failed. The metric of received bytes lacks some of the latter: a reader that waits for such a write never ends.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable

STREAMS = ("upstream", "downstream")  # towards the broker that is called, and back from it
SENT = re.compile(
    r'^toxiproxy_proxy_sent_bytes_total\{direction="(\w+)",.*,proxy="(.*)",upstream=".*"\} (\S+)$', re.MULTILINE
)
BEGAN, WRITE_FAILED, ENDED = "Setup connection", "Could not write to destination", "Remove link "


def sent_bytes(metrics: str, log: Iterable[str]) -> Counter[tuple[str, str]]:
    """The bytes of ended connections, by (proxy, stream). Pure."""
    found = Counter({(proxy, stream): int(float(count)) for stream, proxy, count in SENT.findall(metrics)})
    for told in (json.loads(line) for line in log if WRITE_FAILED in line):
        (stream,) = (each for each in STREAMS if told["link"].endswith(each))
        found[told["proxy"], stream] += told["bytes"]
    return found


def with_open_connections(log: Iterable[str]) -> set[str]:
    """The proxies with connections that have not ended. Pure."""
    found = Counter[str]()
    for line in log:
        if BEGAN in line:
            found[json.loads(line)["name"]] += 1
        elif ENDED in line:
            found[json.loads(line)["proxy"]] -= 1
    return {proxy for proxy, count in found.items() if count}
