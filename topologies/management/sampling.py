"""Samples brokers during a run: once per second, each broker's figures as rows of the samples table.

Each broker has a separate thread (a greenlet under gevent), which waits for the answer before the next second's
request. Thus a frozen broker does not delay other brokers, and never has several pending requests. A failed sample is
missing; it is not estimated.
"""

import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import psutil

from records.units import NS_PER_S
from topologies.management.contract import ManagedBrokers, management_of, queries_by_broker
from topologies.management.control_groups import quota_group_of, read_throttling
from topologies.management.core_waits import PAUSE_S, CoreWaits
from topologies.model.management import Bridge, BrokerQueries, Figures, ManagementFailed
from topologies.model.topology import Topology

PERIOD_S = 1.0
ANSWER_TIMEOUT_S = 3.0
STOP_TIMEOUT_S = ANSWER_TIMEOUT_S + 1.0
NO_RENAMED_LINKS: Mapping[str, str] = {}
IDLE = ("idle", "iowait", "steal", "guest", "guest_nice")  # user time already includes guest time


class Row(NamedTuple):
    """A row of the samples table (records.tables.schemas), recorded with ``recorder.sample(*row)``."""

    broker: str
    at_ns: int
    kind: str
    object: str
    metric: str
    value: int


Series = tuple[str, str, str, str]
"""Broker, kind, object and metric of a row."""


class CounterReadings(NamedTuple):
    """The last row of a series and the row before it: two readings of a counter give a rate."""

    now: Row
    before: Row | None


class SampleSink(Protocol):
    """The destination of samples: records.store.writer.Recorder."""

    def sample(self, broker: str, at_ns: int, kind: str, object: str, metric: str, value: int) -> None: ...


def sample(agent: Any, queries: BrokerQueries[Any], clock: Callable[[], int] = time.perf_counter_ns) -> list[Row]:
    """Return a broker's rows, timed half-way between request and answer. Raises ManagementFailed."""
    return list(rows(agent.broker, *_timed_figures(agent, queries, clock), queries.duplex))


def _timed_figures(
    agent: Any, queries: BrokerQueries[Any], clock: Callable[[], int] = time.perf_counter_ns
) -> tuple[int, Figures]:
    asked_ns = clock()
    figures = queries.figures(agent)
    return (asked_ns + clock()) // 2, figures


def rows(
    broker: str,
    at_ns: int,
    figures: Figures,
    duplex: Mapping[tuple[str, str], str],
    names_at_start: Mapping[str, str] = NO_RENAMED_LINKS,
) -> Iterator[Row]:
    """Yield a broker's figures as rows. A bridge is named ``link|remote broker`` at both ends.

    ``names_at_start``: of links that a restart has renamed, by their current names.
    """
    for metric, value in figures.broker.items():
        yield Row(broker, at_ns, "broker", "", metric, value)
    for queue, metrics in figures.queues.items():
        for metric, value in metrics.items():
            yield Row(broker, at_ns, "queue", queue, metric, value)
    for subscription, waiting in figures.subscriptions.items():
        yield Row(broker, at_ns, "subscription", subscription, "depth", waiting)
    for connector, count in figures.clients.items():
        yield Row(broker, at_ns, "connector", connector, "connections", count)
    for bridge in figures.bridges:
        for metric, value in bridge.counters.items():
            name = _link_of(broker, bridge, duplex)
            name = names_at_start.get(name, name)
            yield Row(broker, at_ns, "bridge", f"{name}|{bridge.remote_broker}", metric, value)


def process_rows(broker: str, pid: int, object: str = "") -> list[Row]:
    """Return CPU time since the start, memory and threads of a process; empty once the process is gone."""
    try:
        process = psutil.Process(pid)
        with process.oneshot():
            times, memory, threads = process.cpu_times(), process.memory_info(), process.num_threads()
    except psutil.Error:
        return []
    at_ns = time.perf_counter_ns()
    metrics = {"cpu_ns": round((times.user + times.system) * NS_PER_S), "rss_bytes": memory.rss, "threads": threads}
    return [Row(broker, at_ns, "process", object, metric, value) for metric, value in metrics.items()]


def core_wait_rows(broker: str, waits: CoreWaits, object: str = "") -> list[Row]:
    """Return how long a process's threads waited for a core since its start; empty if that cannot be determined."""
    waited_ns = waits.total_ns()
    if waited_ns is None:
        return []
    return [Row(broker, time.perf_counter_ns(), "process", object, "core_wait_ns", waited_ns)]


def throttling_rows(broker: str, group: Path | None) -> list[Row]:
    """Return how often a CPU quota held a process back since its start; empty without a quota.

    ``group``: the folder of its control group.
    """
    counters = read_throttling(group) if group else None
    if counters is None:
        return []
    at_ns = time.perf_counter_ns()
    metrics = {
        "quota_periods": counters.periods,
        "throttled_periods": counters.throttled_periods,
        "throttled_ns": counters.throttled_ns,
    }
    return [Row(broker, at_ns, "process", "", metric, value) for metric, value in metrics.items()]


def machine_rows() -> list[Row]:
    """Return CPU time of all cores since boot: busy, and stolen by a virtual machine's host; load in thousandths."""
    at_ns, times = time.perf_counter_ns(), psutil.cpu_times()._asdict()
    busy_s = sum(seconds for state, seconds in times.items() if state not in IDLE)
    metrics = {
        "cpu_busy_ns": round(busy_s * NS_PER_S),
        "steal_ns": round(times.get("steal", 0.0) * NS_PER_S),
        "load_milli": round(os.getloadavg()[0] * 1000),
    }
    return [Row("", at_ns, "machine", "", metric, value) for metric, value in metrics.items()]


class Sampler:
    """Samples every broker, the load generator's process and the machine every ``period_s`` until stopped."""

    def __init__(
        self,
        runtime: ManagedBrokers,
        topology: Topology,
        sink: SampleSink,
        *,
        process: str,
        period_s: float = PERIOD_S,
    ) -> None:
        """Prepare the samples of all brokers. ``process``: the load generator's name in the rows."""
        self._runtime, self._sink, self._process, self._period_s = runtime, sink, process, period_s
        self._brokers = [broker.name for broker in topology.brokers]
        self._at_start, self._names_at_start = topology, NO_RENAMED_LINKS
        self._queries, self._connect = queries_by_broker(topology), management_of(topology).connect
        self._stopping = threading.Event()
        self._threads: list[threading.Thread] = []
        self._waits: dict[int, CoreWaits] = {}
        self._quota_groups: dict[int, Path | None] = {}  # by pid
        self.missed: Counter[str] = Counter()  # missing samples by broker
        self.standbys: set[str] = set()  # brokers that stand by, by their last answers
        self.latest: dict[Series, CounterReadings] = {}  # grows with the number of objects, not with time

    def follow(self, topology: Topology) -> None:
        """Query the brokers as a topology with changed settings needs it, from the next sample on.

        Links keep their names from the start in the rows, so each has one series.
        """
        self._names_at_start = renamed_links(self._at_start, topology)
        self._queries, self._connect = queries_by_broker(topology), management_of(topology).connect

    def start(self) -> None:
        loops: dict[str, Callable[[], None]] = {"own": lambda: self._every_period(self._sample_here)}
        for number, broker in enumerate(self._brokers, start=1):
            share = number / (len(self._brokers) + 1)
            loops[broker] = lambda broker=broker, share=share: self._watch(broker, share)  # type: ignore[misc]
        self._threads = [
            threading.Thread(target=loop, name=f"sampler-{name}", daemon=True) for name, loop in loops.items()
        ]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Stop recording. Waits for a frozen broker's answer for at most its time-out."""
        self._stopping.set()
        for thread in self._threads:
            thread.join(STOP_TIMEOUT_S)

    def _watch(self, broker: str, share: float) -> None:
        try:
            endpoint = self._runtime.management(broker)
        except ManagementFailed:  # it has no agent
            return
        agent = self._connect(endpoint, ANSWER_TIMEOUT_S)

        def look() -> None:
            nonlocal agent, endpoint
            if (renamed := self._runtime.management(broker)) != endpoint:  # by a restart
                agent.close()
                endpoint, agent = renamed, self._connect(renamed, ANSWER_TIMEOUT_S)
            self._sample_broker(agent)

        self._every_period(look, share)
        agent.close()

    def _sample_broker(self, agent: Any) -> None:
        try:
            queries = self._queries[agent.broker]
            at_ns, figures = _timed_figures(agent, queries)
        except ManagementFailed:
            self.missed[agent.broker] += 1
            return
        (self.standbys.add if figures.stands_by else self.standbys.discard)(agent.broker)
        self._record(list(rows(agent.broker, at_ns, figures, queries.duplex, self._names_at_start)))

    def _sample_here(self) -> None:
        """Sample from this machine, including frozen brokers.

        The pid is looked up each time, because brokers are restarted.
        """
        self._record(machine_rows())
        self._sample_process("", os.getpid(), self._process)
        for broker in self._brokers:
            time.sleep(PAUSE_S)  # messages that are due now go first: under gevent they share this thread
            if (pid := self._runtime.pid(broker)) is not None:
                self._sample_process(broker, pid)
                self._record(throttling_rows(broker, self._quota_group(pid)))

    def _sample_process(self, broker: str, pid: int, object: str = "") -> None:
        self._record(process_rows(broker, pid, object))
        self._record(core_wait_rows(broker, self._waits.setdefault(pid, CoreWaits(pid)), object))

    def _quota_group(self, pid: int) -> Path | None:
        if pid not in self._quota_groups:
            self._quota_groups[pid] = quota_group_of(pid)
        return self._quota_groups[pid]

    def _record(self, taken: Collection[Row]) -> None:
        if not self._stopping.is_set():
            for row in taken:
                self._sink.sample(*row)
                series = (row.broker, row.kind, row.object, row.metric)
                before = self.latest.get(series)
                self.latest[series] = CounterReadings(row, before.now if before else None)

    def _every_period(self, action: Callable[[], None], share: float = 0.0) -> None:
        """Run at once, then every period, offset by ``share`` of a period.

        Each broker has a different share, so that the load generator does not process several samples in a row.
        Periods that pass while ``action`` is busy are skipped.
        """
        began = time.monotonic() + share * self._period_s
        while not self._stopping.is_set():
            action()
            passed = time.monotonic() - began
            self._stopping.wait(self._period_s - passed % self._period_s)


def _link_of(broker: str, bridge: Bridge, duplex: Mapping[tuple[str, str], str]) -> str:
    """Return the bridge's link; at the far end, the connector's number if several duplex links have these ends."""
    link = duplex.get((bridge.remote_broker, broker)) if bridge.created_by_duplex else None
    return link or bridge.connector


def renamed_links(at_start: Topology, now: Topology) -> dict[str, str]:
    """Return the names at the start by the current names, of links that a restart has renamed. Pure."""
    pairs = [*zip(at_start.links, now.links, strict=True)]
    names = {new.connector: old.connector for old, new in pairs} | {new.name: old.name for old, new in pairs}
    return {new: old for new, old in names.items() if new != old}
