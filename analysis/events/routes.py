"""Names receipts and subscriptions by the destinations that messages were sent to, where these are not equal.

A consumer of ``queue://orders.>`` takes the messages of the queues ``orders.eu`` and ``orders.us``. Its receipts and
its subscription then become those of these queues, each under the destination that the messages were sent to. So all
that follows compares equal names. `records.routes` says which names belong together.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import polars as pl

from analysis.messages.deliveries import MESSAGE
from records.routes import Route

_COPIES = {"destination": pl.String, "queue": pl.String, "once_subscribed": pl.Boolean}
_TAKEN = {"sent_to": pl.String, "destination": pl.String, "queue": pl.String}


@dataclass(frozen=True)
class Routes:
    """``copies``: one row a copy of a message to a destination; queue: empty for a topic. ``taken``: one row a
    destination of producers (sent_to) and one of consumers that takes its messages, from queue or a topic.

    Both are empty in a run whose names are equal.
    """

    copies: pl.DataFrame
    taken: pl.DataFrame

    @classmethod
    def of(cls, routes: Iterable[Route]) -> "Routes":
        """Of a run: the routes of run.json."""
        copies, taken = [], []
        for route in routes:
            for copy in route.copies:
                copies.append((route.destination, copy.queue, copy.once_subscribed))
                taken += [(route.destination, consumer, copy.queue) for consumer in copy.consumers]
        return cls(pl.DataFrame(copies, _COPIES, orient="row"), pl.DataFrame(taken, _TAKEN, orient="row"))

    @property
    def are_equal_names(self) -> bool:
        """Whether all messages go to consumers of equal names only."""
        return self.copies.is_empty()

    @property
    def queues(self) -> tuple[str, ...]:
        """The queues that copies go to, by name."""
        return tuple(self.copies.filter(pl.col("queue") != "")["queue"].unique().sort())

    def of_subscriptions(self, subscriptions: pl.DataFrame) -> pl.DataFrame:
        """Each subscription once for every destination whose messages it takes; one that takes none as it is."""
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

    def of_receipts(self, receipts: pl.DataFrame, messages: pl.DataFrame) -> pl.DataFrame:
        """Receipts by the destination of their message's first attempt. ``messages``: MESSAGE and destination.

        A receipt that no route explains keeps its consumer's destination.
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
    """Sentences for receipts of messages that were sent to other destinations, and that no route explains.

    ``accounting``: rows of the result table of a run.
    """
    sent_to = {row["destination"] for row in accounting if row["sent"]}
    return [
        f"{row['received']:,} messages were received from {row['destination']}, though none was sent there, and no "
        "route leads there: which of them were owed is not known"
        for row in accounting
        if row["received"] and row["destination"] not in sent_to and not row["unexpected"]
    ]


EQUAL_NAMES = Routes.of(())
"""Messages go to consumers of equal names."""
