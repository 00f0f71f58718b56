"""Derives which selectors match each message and when the message expires.

Both follow from the run's settings and the message's number (`records.loads.message_properties`), so events do not
record them. The harness ensures that all messages to a destination have the same properties and time to live.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import reduce

import polars as pl

from records.loads.message_properties import NO_PROPERTIES, MessageProperties
from records.loads.selectors import parse
from records.run import RunInfo
from records.units import NS_PER_S


@dataclass(frozen=True)
class SentTo:
    """Properties and time to live of the messages to a destination. ``time_to_live_ns`` 0: they never expire."""

    properties: MessageProperties = NO_PROPERTIES
    time_to_live_ns: int = 0


@dataclass(frozen=True)
class Expectations:
    """Expected properties and expiry of messages, and the selectors of their consumers.

    ``sent_to``: by destination. ``selectors``: the consumers' selectors by the destination that messages were sent to
    and the queue that receives them (empty for a topic); '' for a consumer without a selector. ``ended_ns``: when the
    last search of the queues ended; None: without a search, no message counts as expired.
    """

    sent_to: Mapping[str, SentTo] = field(default_factory=dict)
    selectors: Mapping[tuple[str, str], Collection[str]] = field(default_factory=dict)
    ended_ns: int | None = None

    @classmethod
    def from_run(cls, info: RunInfo, subscriptions: Iterable[tuple[str, str, str]]) -> "Expectations":
        """Build from a run. ``subscriptions``: (destination, queue, selector) of each consumer."""
        producers = [user for user in info.users if user.role == "producer"]
        sent_to = {
            name: SentTo(
                MessageProperties.parse(str(user.settings.get("properties", ""))),
                round(float(user.settings.get("time_to_live_s", 0)) * NS_PER_S),
            )
            for user in producers
            for name in user.destinations
        }
        selectors: dict[tuple[str, str], set[str]] = {}
        for destination, queue, selector in subscriptions:
            selectors.setdefault((destination, queue), set()).add(selector)
        return cls(sent_to, selectors, info.phases.browse_ended_ns or info.phases.drain_ended_ns)

    @property
    def selects(self) -> bool:
        """Whether any consumer has a selector."""
        return any(any(of_destination) for of_destination in self.selectors.values())

    @property
    def expires(self) -> bool:
        """Whether any message may expire."""
        return any(sent.time_to_live_ns for sent in self.sent_to.values())

    def _sent_to(self, destination: str) -> SentTo:
        """Return the settings of messages to a destination; of all classes if no class has exactly this name."""
        common = {*self.sent_to.values()}
        return self.sent_to.get(destination, common.pop() if len(common) == 1 else SentTo())

    def matches(self, selector: pl.Expr) -> pl.Expr:
        """Return whether ``selector`` matches a message (columns destination, seq). '' matches all messages."""
        cases: dict[tuple[SentTo, str], list[str]] = {}
        for (destination, _), selectors in self.selectors.items():
            for text in filter(None, selectors):
                cases.setdefault((self._sent_to(destination), text), []).append(destination)
        matched = pl.lit(True)
        for (sent, text), destinations in cases.items():
            is_it = pl.col("destination").is_in(destinations) & (selector == text)
            matched = pl.when(is_it).then(_matched(sent, text)).otherwise(matched)
        return matched

    def unselected(self) -> pl.Expr:
        """Return whether no consumer of its queue selects a message (columns destination, subscription, seq)."""
        choosy: dict[tuple[SentTo, frozenset[str]], list[str]] = {}
        for (to, queue), selectors in self.selectors.items():
            if queue and all(selectors):
                choosy.setdefault((self._sent_to(to), frozenset(selectors)), []).append(f"{to} {queue}")
        queue_of = pl.concat_str("destination", pl.lit(" "), "subscription")
        none_of = (
            queue_of.is_in(names) & ~pl.any_horizontal(_matched(sent, text) for text in sorted(selectors))
            for (sent, selectors), names in choosy.items()
        )
        return reduce(pl.Expr.__or__, none_of, pl.lit(False))

    def over(self) -> pl.Expr:
        """Return whether a message's time to live, counted from its last attempt, was over at the last queue search."""
        if self.ended_ns is None or not self.expires:
            return pl.lit(False)
        live_ns = self._time_to_live_ns()
        return (live_ns > 0) & (pl.col("last_sent_ns") + live_ns < self.ended_ns)

    def _time_to_live_ns(self) -> pl.Expr:
        """Return the time to live of messages to the column destination; 0: they never expire."""
        otherwise_ns = self._sent_to("").time_to_live_ns
        names: dict[int, list[str]] = {}
        for to, sent in self.sent_to.items():
            if sent.time_to_live_ns != otherwise_ns:
                names.setdefault(sent.time_to_live_ns, []).append(to)
        live_ns = pl.lit(otherwise_ns, pl.Int64)
        for its_ns, destinations in names.items():
            live_ns = pl.when(pl.col("destination").is_in(destinations)).then(its_ns).otherwise(live_ns)
        return live_ns

    def with_late_and_unselected(self, deliveries: pl.DataFrame, subscriptions: pl.DataFrame) -> pl.DataFrame:
        """Add ``late`` and ``unselected`` to deliveries. Both are only true for first deliveries.

        late: after the time to live of the attempt that arrived. unselected: to a consumer whose selector does not
        match.
        """
        is_first, late = pl.col("copy") == 1, pl.lit(False)
        if self.expires:
            live_ns = self._time_to_live_ns()
            late = is_first & (live_ns > 0) & (pl.col("received_ns") - pl.col("sent_ns") > live_ns)
        marked = deliveries.with_columns(late.fill_null(False).alias("late"))
        if not self.selects:
            return marked.with_columns(pl.lit(False).alias("unselected"))
        of_consumers = subscriptions.filter(pl.col("selector") != "").group_by("consumer", "destination")
        joined = marked.join(of_consumers.agg(pl.max("selector")), ["consumer", "destination"], how="left")
        matched = self.matches(pl.col("selector").fill_null(""))
        return joined.with_columns((is_first & ~matched).alias("unselected")).drop("selector")


def _matched(sent: SentTo, selector: str) -> pl.Expr:
    """Return whether the selector matches a message (column seq)."""
    of_period = parse(selector).match_period(sent.properties)
    matching = [number for number, matched in enumerate(of_period) if matched]
    return (pl.col("seq") % len(of_period)).is_in(matching)


NOTHING_SPECIAL = Expectations()
"""No messages expire, and no consumer has a selector."""
