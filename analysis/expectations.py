"""Says of each message which selectors match it and when it expires.

Both follow from the run's settings and the message's number (`records.message_properties`), so no event records them.
Messages to one destination carry the same properties and time to live: the harness sees to that.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from records.message_properties import NO_PROPERTIES, MessageProperties
from records.run import RunInfo
from records.selectors import parse
from records.units import NS_PER_S


@dataclass(frozen=True)
class SentTo:
    """What the messages to a destination carry. ``time_to_live_ns``: 0: they never expire."""

    properties: MessageProperties = NO_PROPERTIES
    time_to_live_ns: int = 0


@dataclass(frozen=True)
class Expectations:
    """``sent_to``: by destination. ``selectors``: those of each destination's consumers, '' for a consumer without one.

    ``ended_ns``: when the last look at the queues was over; None: it never was, so nothing counts as expired.
    """

    sent_to: Mapping[str, SentTo] = field(default_factory=dict)
    selectors: Mapping[str, Collection[str]] = field(default_factory=dict)
    ended_ns: int | None = None

    @classmethod
    def of(cls, info: RunInfo, subscriptions: Iterable[tuple[str, str]]) -> "Expectations":
        """``subscriptions``: (destination, selector) of each consumer."""
        producers = [user for user in info.users if user.role == "producer"]
        sent_to = {
            name: SentTo(
                MessageProperties.parse(str(user.settings.get("properties", ""))),
                round(float(user.settings.get("time_to_live_s", 0)) * NS_PER_S),
            )
            for user in producers
            for name in user.destinations
        }
        selectors: dict[str, set[str]] = {}
        for destination, selector in subscriptions:
            selectors.setdefault(destination, set()).add(selector)
        return cls(sent_to, selectors, info.phases.browse_ended_ns or info.phases.drain_ended_ns)

    @property
    def selects(self) -> bool:
        """Whether any consumer has a selector."""
        return any(any(each) for each in self.selectors.values())

    @property
    def expires(self) -> bool:
        """Whether any message may expire."""
        return any(each.time_to_live_ns for each in self.sent_to.values())

    def _sent_to(self, destination: str) -> SentTo:
        """What is sent to a destination. If no class has exactly this name, it is what all classes send."""
        common = {*self.sent_to.values()}
        return self.sent_to.get(destination, common.pop() if len(common) == 1 else SentTo())

    def matches(self, selector: Column) -> Column:
        """Whether a message (columns destination, seq) is one that ``selector`` matches; '' matches all."""
        cases: dict[tuple[SentTo, str], list[str]] = {}
        for destination, of in self.selectors.items():
            for each in filter(None, of):
                cases.setdefault((self._sent_to(destination), each), []).append(destination)
        return reduce(
            lambda otherwise, case: F.when(
                F.col("destination").isin(case[1]) & (selector == case[0][1]), _matched(*case[0])
            ).otherwise(otherwise),
            cases.items(),
            F.lit(True),
        )

    def unselected(self) -> Column:
        """Whether a message to a queue is one that no consumer's selector matches."""
        choosy: dict[tuple[SentTo, frozenset[str]], list[str]] = {}
        for to, of in self.selectors.items():
            if to.startswith("queue://") and all(of):
                choosy.setdefault((self._sent_to(to), frozenset(of)), []).append(to)
        none_of = (
            F.col("destination").isin(names) & ~reduce(Column.__or__, [_matched(sent, each) for each in sorted(of)])
            for (sent, of), names in choosy.items()
        )
        return reduce(Column.__or__, none_of, F.lit(False))

    def over(self) -> Column:
        """Whether a message's time to live was over when the queues were last looked at: after its last attempt."""
        if self.ended_ns is None:
            return F.lit(False)
        live_ns = self._time_to_live_ns()
        return (live_ns > 0) & (F.col("last_sent_ns") + live_ns < F.lit(self.ended_ns))

    def _time_to_live_ns(self) -> Column:
        """Of the column destination; 0: never."""
        otherwise_ns = self._sent_to("").time_to_live_ns
        names: dict[int, list[str]] = {}
        for to, each in self.sent_to.items():
            if each.time_to_live_ns != otherwise_ns:
                names.setdefault(each.time_to_live_ns, []).append(to)
        return reduce(
            lambda otherwise, case: F.when(F.col("destination").isin(case[1]), F.lit(case[0])).otherwise(otherwise),
            names.items(),
            F.lit(otherwise_ns),
        )

    def marked(self, deliveries: DataFrame, subscriptions: DataFrame) -> DataFrame:
        """With ``late``: first deliveries after the time to live of the attempt that arrived, and ``unselected``: first
        ones to a consumer whose selector does not match."""
        first = F.col("copy") == 1
        live_ns = self._time_to_live_ns()
        late = first & (live_ns > 0) & (F.col("received_ns") - F.col("sent_ns") > live_ns)
        told = deliveries.withColumn("late", F.coalesce(late, F.lit(False)))
        if not self.selects:
            return told.withColumn("unselected", F.lit(False))
        of_consumers = subscriptions.where(F.col("selector") != "").groupBy("consumer", "destination")
        joined = told.join(
            F.broadcast(of_consumers.agg(F.max("selector").alias("selector"))), ["consumer", "destination"], "left"
        )
        matched = self.matches(F.coalesce(F.col("selector"), F.lit("")))
        return joined.withColumn("unselected", first & ~matched).drop("selector")


def _matched(sent: SentTo, selector: str) -> Column:
    """Whether a message (column seq) is one that the selector matches."""
    of_period = parse(selector).matched(sent.properties)
    return F.array(*map(F.lit, of_period))[F.pmod(F.col("seq"), F.lit(len(of_period))).cast("int")]


NOTHING_SPECIAL = Expectations()
"""No message expires, and no consumer selects."""
