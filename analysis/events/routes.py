"""Relabels receipts and subscriptions with the destinations that messages were sent to, if the names differ.

A consumer of ``queue://orders.>`` takes messages from the queues ``orders.eu`` and ``orders.us``. This module relabels
its receipts and its subscription with these queues and with the destination that each message was sent to. The rest of
the analysis can then compare names for equality. `records.loads.routes` defines which names belong together.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import polars as pl

from analysis.messages.deliveries import MESSAGE
from records.loads.routes import Route

_COPIES = {"destination": pl.String, "queue": pl.String, "once_subscribed": pl.Boolean}
_TAKEN = {"sent_to": pl.String, "destination": pl.String, "queue": pl.String}


@dataclass(frozen=True)
class Routes:
    """Tables of routes from producers' destinations to consumers' destinations.

    ``copies``: one row for each copy of a message to a destination; ``queue`` is empty for a topic. ``taken``: one row
    for each pair of a producers' destination (``sent_to``) and a consumers' destination that gets its messages, from
    ``queue`` or from a topic.

    Both tables are empty if producers and consumers of a run use the same names.
    """

    copies: pl.DataFrame
    taken: pl.DataFrame

    @classmethod
    def of(cls, routes: Iterable[Route]) -> "Routes":
        """Build the tables from the routes in run.json."""
        copies, taken = [], []
        for route in routes:
            for copy in route.copies:
                copies.append((route.destination, copy.queue, copy.once_subscribed))
                taken += [(route.destination, consumer, copy.queue) for consumer in copy.consumers]
        return cls(pl.DataFrame(copies, _COPIES, orient="row"), pl.DataFrame(taken, _TAKEN, orient="row"))

    @property
    def are_equal_names(self) -> bool:
        """Whether consumers use the same destination names as the producers of all their messages."""
        return self.copies.is_empty()

    @property
    def queues(self) -> tuple[str, ...]:
        """Names of the queues that receive copies."""
        return tuple(self.copies.filter(pl.col("queue") != "")["queue"].unique().sort())

    def relabel_subscriptions(self, subscriptions: pl.DataFrame) -> pl.DataFrame:
        """Repeat each subscription for every destination whose messages it takes; keep subscriptions without any."""
        if self.are_equal_names:
            return subscriptions
        joined = subscriptions.join(self.taken, "destination", how="left", maintain_order="left")
        is_queue = pl.col("queue").fill_null("") != ""
        changed = {
            "subscription": _of_queue(is_queue),
            "kind": pl.when(is_queue).then(pl.lit("queue")).otherwise("kind").alias("kind"),
            "destination": pl.coalesce("sent_to", "destination").alias("destination"),
        }
        return joined.select(changed.get(name, pl.col(name)) for name in subscriptions.columns)

    def relabel_receipts(self, receipts: pl.DataFrame, messages: pl.DataFrame) -> pl.DataFrame:
        """Relabel receipts with the destination of the message's first attempt. ``messages``: MESSAGE and destination.

        Without a matching route, a receipt keeps its consumer's destination.
        """
        if self.are_equal_names:
            return receipts
        sent_to = messages.select(*MESSAGE, pl.col("destination").alias("sent_to"))
        joined = receipts.join(sent_to, MESSAGE, how="left", maintain_order="left").join(
            self.taken.with_columns(pl.lit(True).alias("explained")),
            ["sent_to", "destination"],
            how="left",
            maintain_order="left",
        )
        is_queue = pl.col("queue").fill_null("") != ""
        destination = pl.when("explained").then("sent_to").otherwise("destination").alias("destination")
        changed = {"subscription": _of_queue(is_queue), "destination": destination}
        return joined.select(changed.get(name, pl.col(name)) for name in receipts.columns)


def _of_queue(is_queue: pl.Expr) -> pl.Expr:
    return pl.when(is_queue).then("queue").otherwise("subscription").alias("subscription")


def unexplained(accounting: Sequence[dict[str, object]]) -> list[str]:
    """Return sentences about receipts of messages sent to other destinations without a matching route.

    ``accounting``: rows of a run's result table.
    """
    sent_to = {row["destination"] for row in accounting if row["sent"]}
    return [
        f"{row['received']:,} messages were received from {row['destination']}, though none was sent there, and no "
        "route leads there: it is not known which of these messages were owed"
        for row in accounting
        if row["received"] and row["destination"] not in sent_to and not row["unexpected"]
    ]


EQUAL_NAMES = Routes.of(())
"""Routes of a run whose producers and consumers use the same names."""
