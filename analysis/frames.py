"""Holds the frames of a run: its event tables on the master's clock, and what is derived of them once.

Nothing is computed here. `messages` and `deliveries` feed several results. So do the few that are `out_of_order` or
have one of the `outcomes`; finding these takes a sort or a join of all deliveries: they are kept when the first asks
for them.
"""

from dataclasses import dataclass
from functools import cached_property

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession

from analysis import deliveries, message_outcomes
from analysis.clocks import on_the_masters_clock
from analysis.expectations import Expectations
from analysis.message_outcomes import absences
from analysis.messages import messages
from analysis.stalls import Stalls, stalls, with_own_waits
from analysis.tables import read_events
from records.reader import read_events as stored_events
from records.run import RunInfo
from records.rundir import RunDirectory

KEPT = StorageLevel.DISK_ONLY
"""On disk, as a large run's frames would fill the memory that its sorts and its results need."""


@dataclass(frozen=True)
class Frames:
    spark: SparkSession
    directory: RunDirectory
    info: RunInfo

    @cached_property
    def sends(self) -> DataFrame:
        times = ("due_ns", "ready_ns", "sent_ns", "settled_ns")
        return with_own_waits(self._events("sends", "producer", *times), self.stalls)

    @cached_property
    def receipts(self) -> DataFrame:
        return self._events("receipts", "consumer", "received_ns")

    @cached_property
    def subscriptions(self) -> DataFrame:
        return self._events("subscriptions", "consumer", "began_ns")

    @cached_property
    def connections(self) -> DataFrame:
        return self._events("connections", "client", "at_ns", "ended_ns")

    @cached_property
    def members(self) -> DataFrame:
        return self._events("members", "user", "from_ns")

    @cached_property
    def samples(self) -> DataFrame:
        return self._read("samples")

    @cached_property
    def leftovers(self) -> DataFrame:
        return self._read("leftovers")

    @cached_property
    def stalls(self) -> Stalls:
        return stalls(self.spark, self.directory, self.info)

    @cached_property
    def messages(self) -> DataFrame:
        return messages(self.sends).persist(KEPT)

    @cached_property
    def deliveries(self) -> DataFrame:
        return deliveries.deliveries(self.receipts, self.messages, self.sends).persist(KEPT)

    @cached_property
    def strangers(self) -> DataFrame:
        return deliveries.strangers(self.receipts)

    @cached_property
    def out_of_order(self) -> DataFrame:
        return deliveries.out_of_order(self.deliveries).persist(KEPT)

    @cached_property
    def expected(self) -> DataFrame:
        events = (self.messages, self.subscriptions, absences(self.connections, self.members))
        return message_outcomes.expected(*events, self.expectations)

    @cached_property
    def expectations(self) -> Expectations:
        held = stored_events(self.directory, "subscriptions").select(["destination", "selector"])
        return Expectations.of(self.info, (tuple(row.values()) for row in held.to_pylist()))

    @cached_property
    def marked(self) -> DataFrame:
        """The deliveries, and whether each came too late or to a consumer that does not want it."""
        return self.expectations.marked(self.deliveries, self.subscriptions)

    @cached_property
    def outcomes(self) -> DataFrame:
        arrived, left = deliveries.first(self.deliveries), message_outcomes.found(self.leftovers, self._durable)
        searched = not self.info.unsearched
        return message_outcomes.message_outcomes(self.expected, arrived, left, searched=searched).persist(KEPT)

    @property
    def _durable(self) -> list[str]:
        """The names of durable subscriptions."""
        held = stored_events(self.directory, "subscriptions").select(["subscription", "kind"]).to_pylist()
        return sorted({row["subscription"] for row in held if row["kind"] == "durable_topic"})

    def release(self) -> None:
        for kept in (self.messages, self.deliveries, self.out_of_order, self.outcomes):
            kept.unpersist()

    def _read(self, table: str) -> DataFrame:
        return read_events(self.spark, table, self.directory.events(table))

    def _events(self, table: str, client: str, *times: str) -> DataFrame:
        return on_the_masters_clock(self._read(table), client, times, self.info.processes)
