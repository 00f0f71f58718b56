"""Measures the state of brokers and links for faults.

The state of a broker comes from its process, its ports, logins like those of the clients, and its management interface.
The state of a link comes from its proxy and the brokers at both ends.
"""

import itertools
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from random import Random
from urllib.parse import urlsplit

import psutil

from drivers.client.contract import NO_STATISTICS, ClientConnector
from drivers.contract import DriverError
from drivers.failover.uri import FailoverUri
from records.store.writer import Recorder
from records.units import MS_PER_S, NS_PER_MS
from topologies.management.contract import agent_at, management_of
from topologies.management.link_traffic import TIMES, RoundTrip, round_trip
from topologies.management.link_users import uncertain_links
from topologies.management.links import UnprovenLink, still_connecting, unproven
from topologies.model.endpoints import Endpoint
from topologies.model.link import Link
from topologies.model.management import ManagementFailed
from topologies.model.topology import Topology, present_links
from topologies.runtimes import startup
from topologies.runtimes.capabilities import Capability, can
from topologies.runtimes.contract import Runtime
from topologies.runtimes.managed import proxies_of

LOGIN_TIMEOUT_S = 3.0
SILENT_AFTER_S = 1.0  # in addition to the link's delay
ONE_ATTEMPT = "maxReconnectAttempts=1&updateURIsSupported=false"
Doubtful = Callable[[Runtime, Topology, Sequence[Link]], list[UnprovenLink]]
"""Returns the links that are not up, or not up yet. Raises ManagementFailed."""


class RuntimeProbe:
    """Implements `harness.faults.contract.Probe` for a runtime. ``connectors``: by protocol."""

    def __init__(self, runtime: Runtime, topology: Topology, connectors: Mapping[str, ClientConnector]) -> None:
        self._runtime, self._topology, self._connectors = runtime, topology, connectors
        self._uncertain = uncertain_links(topology)
        self._numbers = itertools.count()

    def follow(self, topology: Topology) -> None:
        """Measure by a topology with changed settings from now on."""
        self._topology, self._uncertain = topology, uncertain_links(topology)

    def gone(self, broker: str) -> bool:
        return not self._runtime.alive(broker) and not any(map(_accepts, self._endpoints(broker)))

    def frozen(self, broker: str) -> bool:
        """Whether the process is frozen. True if it cannot be seen, as the runtime has confirmed the stop."""
        pid = self._runtime.pid(broker)
        try:
            return pid is None or psutil.Process(pid).status() == psutil.STATUS_STOPPED
        except psutil.Error:
            return False

    def serves(self, broker: str) -> bool:
        return self._runtime.alive(broker) and any(map(self._all_log_in, (broker, *partners(self._topology, broker))))

    def joined(self, broker: str) -> bool:
        """Whether the broker serves and its links are up.

        Skip links that may never come up: their other end is not running, their openers have no attempts left, or
        brokers may reject their users.
        """
        if not self.serves(broker):
            return False
        absent = {broker.name for broker in self._topology.brokers if not self._runtime.alive(broker.name)}
        certain = (link for link in present_links(self._topology, absent) if link.name not in self._uncertain)
        of_broker = [link for link in certain if broker in (link.opened_by.name, link.to.name)]
        return self._none_in_doubt(still_connecting, of_broker)

    def link_is_down(self, link: str) -> bool:
        proxies = proxies_of(self._runtime)
        return proxies is not None and proxies.is_shut(link) and not self.link_is_up(link)

    def link_is_silent(self, link: str) -> bool:
        try:
            self._round_trip(link, SILENT_AFTER_S)
        except TimeoutError:
            return True
        except OSError:
            return False
        return False

    def link_delays(self, link: str, least_ms: float) -> bool:
        try:
            duration = self._round_trip(link, LOGIN_TIMEOUT_S + least_ms / MS_PER_S, times=1)
        except OSError:
            return False
        return duration is None or duration.median_ns >= least_ms * NS_PER_MS

    def _round_trip(self, name: str, timeout_s: float, times: int = TIMES) -> RoundTrip | None:
        """Measure a round trip over the link; None if it has no proxy. Raises OSError."""
        proxies, link = proxies_of(self._runtime), self._link(name)
        endpoint = proxies and proxies.proxy_endpoint_of(link)
        return round_trip(link, endpoint, timeout_s, times) if endpoint else None

    def link_is_up(self, link: str) -> bool:
        return self._none_in_doubt(unproven, [self._link(link)])

    def links_are_up(self) -> bool:
        """Whether all links are up."""
        return self._none_in_doubt(unproven, self._topology.links)

    def store_percent(self, broker: str) -> int | None:
        limit = management_of(self._topology).store_limit
        if limit is None:
            return None
        try:
            with agent_at(self._topology, self._runtime.management(broker)) as agent:
                return limit.percent(agent)
        except ManagementFailed:
            return None

    def _link(self, name: str) -> Link:
        return next(link for link in self._topology.links if link.name == name)

    def _none_in_doubt(self, doubtful: Doubtful, links: Sequence[Link]) -> bool:
        """Whether ``doubtful`` returns none of the links. False if the broker at an end does not answer."""
        if not can(self._runtime.name, Capability.LINKS_BROKERS):
            return True
        try:
            return not doubtful(self._runtime, self._topology, links)
        except ManagementFailed:
            return False

    def _all_log_in(self, broker: str) -> bool:
        return all(self._logs_in(endpoint) for endpoint in self._endpoints(broker))

    def _endpoints(self, broker: str) -> Iterator[Endpoint]:
        """Yield the broker's endpoints for the clients' protocols; nothing if it has no listener for them."""
        for protocol in self._connectors:
            try:
                yield self._runtime.endpoint(broker, protocol)
            except KeyError:
                continue

    def _logs_in(self, endpoint: Endpoint) -> bool:
        if _port(endpoint) is not None and not _accepts(endpoint):
            return False  # a login would only add an error to the log
        client = self._connectors[endpoint.protocol].client(
            number=next(self._numbers),
            group=f"fault-probe-{endpoint.broker}",
            uri=FailoverUri.parse(f"failover:({endpoint.uri})?{ONE_ATTEMPT}"),
            brokers={endpoint.uri.partition("://")[2].partition("?")[0]: endpoint.broker},
            credentials=self._runtime.credentials(),
            recorder=Recorder(lambda _table, _rows: None, "fault-probe"),
            statistics=NO_STATISTICS,
            rng=Random(0),
            clock=time.perf_counter_ns,
        )
        given_up = threading.Timer(LOGIN_TIMEOUT_S, client.close)  # it would wait forever for an answer
        given_up.start()
        try:
            client.open()
        except DriverError:
            return False
        finally:
            given_up.cancel()
            client.close()
        return True


def partners(topology: Topology, broker: str) -> Sequence[str]:
    """Return the other brokers of the pair, which may serve instead of this one."""
    active = topology.broker(broker).active
    return [b.name for b in topology.brokers if active in (b.name, b.standby_of) and b.name != broker]


def _accepts(endpoint: Endpoint) -> bool:
    port = _port(endpoint)
    return port is not None and startup.accepts(urlsplit(endpoint.uri).hostname or "", port)


def _port(endpoint: Endpoint) -> int | None:
    """Return the endpoint's port; None for a broker in memory, which is addressed by its name."""
    return urlsplit(endpoint.uri).port
