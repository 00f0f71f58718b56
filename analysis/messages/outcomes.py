"""Finds the outcome of each message at each subscription that should receive it.

Like Jepsen's total queue, per subscription: the outcome depends on whether the message was attempted, acknowledged and
received, over all attempts.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import polars as pl

from analysis.events.routes import EQUAL_NAMES, Routes
from analysis.events.run import by_user
from analysis.events.timeline import FOREVER_NS
from analysis.messages.deliveries import MESSAGE
from analysis.messages.expectations import NOTHING_SPECIAL, Expectations
from records.units import NS_PER_S

QUEUE_PREFIX, TOPIC_PREFIX = "queue://", "topic://"
GRACE_NS = NS_PER_S
NOBODY = ""
"""Placeholder subscription for a topic's message that had no subscription."""
SUBSCRIPTION = ["destination", "subscription"]
NO_QUEUES: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class Search:
    """Where the run was searched for messages that nobody received. A message that is not found elsewhere is lost.

    ``everywhere``: whether all places were searched, except the following. ``shared``: queues that other clients also
    consumed. ``unread``: durable subscriptions that could not be read completely; nobody else's messages are there.
    """

    everywhere: bool = True
    shared: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()

    def is_complete_for(self, subscription: str) -> bool:
        """Whether a missing message to a subscription is in no place that was not searched."""
        return self.everywhere and subscription not in (*self.shared, *self.unread)

    def leaves_out(self) -> pl.Expr:
        """Whether a row's message may be in a place that was not searched."""
        return pl.lit(not self.everywhere) | pl.col("subscription").is_in([*self.shared, *self.unread])


SEARCHED = Search()


def expected(
    messages: pl.DataFrame,
    subscriptions: pl.DataFrame,
    absences: pl.DataFrame,
    expectations: Expectations = NOTHING_SPECIAL,
    routes: Routes = EQUAL_NAMES,
) -> pl.DataFrame:
    """Return one row for each message and subscription that is owed the message.

    Each queue has exactly one subscription. A topic's message is owed to each subscription that had begun before the
    first attempt and whose selector matches. A virtual topic's queue is owed the messages sent after it was created.

    ``subscriptions``: with the destinations that messages were sent to. Added columns:

    - subscription: NOBODY for a message to a topic without a subscription
    - away: the subscription is not durable, and its consumer was disconnected when the message was sent
    - unselected: no consumer of the queue has a matching selector
    - over: the time to live was over at the end
    """
    over = messages.with_columns(expectations.over().alias("over")).drop("last_sent_ns")
    of_queues = _of_queues(over, routes).with_columns(pl.lit(False).alias("away"))
    columns = of_queues.columns
    of_others = over.filter(_may_go_to_subscriptions(routes))
    rows = [of_queues]
    if not of_others.is_empty():
        subscribers = _subscribers(subscriptions, routes)
        owed = (
            of_others.join(subscribers, "destination")
            .filter((pl.col("began_ns") <= pl.col("sent_ns")) & expectations.matches(pl.col("selector")))
            .drop("began_ns", "selector")
        )
        rows.append(_with_away(owed, subscriptions, absences).select(columns))
        to_nobody = of_others.join(pl.concat(rows).select(MESSAGE), MESSAGE, how="anti")
        nobody = to_nobody.with_columns(pl.lit(NOBODY).alias("subscription"), pl.lit(False).alias("away"))
        rows.append(nobody.select(columns))
    return pl.concat(rows).with_columns(expectations.unselected().alias("unselected"))


def _may_go_to_subscriptions(routes: Routes) -> pl.Expr:
    """Return whether a message may have copies for a topic's subscriptions, or for queues of a virtual topic."""
    others = routes.copies.filter((pl.col("queue") == "") | pl.col("once_subscribed"))["destination"].unique()
    return pl.col("destination").str.starts_with(TOPIC_PREFIX) | pl.col("destination").is_in(others.implode())


def _of_queues(messages: pl.DataFrame, routes: Routes) -> pl.DataFrame:
    """Repeat each message for every queue that gets it, with or without consumers. Adds the column subscription."""
    routed = routes.copies.select("destination").unique()
    equal = messages.join(routed, "destination", how="anti") if routed.height else messages
    equal = equal.filter(~pl.col("destination").str.starts_with(TOPIC_PREFIX))
    of_equal_names = equal.with_columns(queue_name(pl.col("destination")).alias("subscription"))
    if routed.is_empty():
        return of_equal_names
    queues = routes.copies.filter((pl.col("queue") != "") & ~pl.col("once_subscribed"))
    of_routes = messages.join(queues.select("destination", pl.col("queue").alias("subscription")), "destination")
    return pl.concat([of_equal_names, of_routes.select(of_equal_names.columns)])


def _subscribers(subscriptions: pl.DataFrame, routes: Routes) -> pl.DataFrame:
    """Return one row per topic subscription or virtual topic queue: began_ns, selector.

    The selector is '' for a queue, because a queue keeps messages that its consumers do not select.
    """
    fed = routes.copies.filter("once_subscribed").select("destination", pl.col("queue").alias("subscription"))
    of_topics = subscriptions.filter(pl.col("kind") != "queue")
    of_queues = subscriptions.filter(pl.col("kind") == "queue").join(fed, SUBSCRIPTION, how="semi")
    every = pl.concat([of_topics, of_queues.with_columns(pl.lit("").alias("selector"))])
    return every.group_by(SUBSCRIPTION).agg(pl.min("began_ns"), pl.min("selector"))


def _with_away(owed: pl.DataFrame, subscriptions: pl.DataFrame, absences: pl.DataFrame) -> pl.DataFrame:
    """Add ``away``: whether the subscription's consumer was disconnected when the message was sent."""
    of_topics = subscriptions.filter(pl.col("kind") == "topic")
    not_durable = of_topics.select(*SUBSCRIPTION, pl.col("consumer").alias("user")).unique()
    times = not_durable.join(absences, "user").select(*SUBSCRIPTION, "from_ns", "until_ns")
    numbered = owed.with_row_index("row")
    away = (
        numbered.join(times, SUBSCRIPTION)
        .filter(pl.col("sent_ns").is_between(pl.col("from_ns"), pl.col("until_ns")))
        .select(pl.col("row").unique())
    )
    return numbered.with_columns(pl.col("row").is_in(away["row"].implode()).alias("away")).drop("row")


def absences(connections: pl.DataFrame, members: pl.DataFrame) -> pl.DataFrame:
    """Return one row per time without a connection after a user's client lost it: user, from_ns, until_ns.

    An absence lasts from the loss to the next connection, extended by GRACE_NS at both ends: messages were in transit
    to the client when it disconnected, and a network of brokers needs a moment to notice that it is back.
    """
    until_ns = pl.col("at_ns").shift(-1).over("client") + GRACE_NS
    gaps = (
        connections.filter(pl.col("event").is_in(["lost", "connected"]))
        .sort("client", "at_ns")
        .with_columns(until_ns.fill_null(FOREVER_NS).alias("until_ns"), (pl.col("at_ns") - GRACE_NS).alias("from_ns"))
        .filter(pl.col("event") == "lost")
    )
    return by_user(gaps.select("client", "from_ns", "until_ns"), members).select("user", "from_ns", "until_ns")


def departures(
    connections: pl.DataFrame, members: pl.DataFrame, leaves_ns: Mapping[str, int], load_ended_ns: int | None
) -> pl.DataFrame:
    """Return rows like `absences` for users that left for good during the load, as their stays define.

    ``leaves_ns``: end of the first stay by user class. Other closed connections are not departures: a client that
    disconnects at the end of the run or after an error was owed its messages until then.
    """
    changes = connections.filter(pl.col("event").is_in(["lost", "connected", "closed"])).sort("client", "at_ns")
    last = changes.group_by("client", maintain_order=True).last()
    closed = last.filter((pl.col("event") == "closed") & (pl.col("at_ns") < (load_ended_ns or 0)))
    classes = members.select("user", "user_class")
    leaves = pl.col("user_class").replace_strict(dict(leaves_ns), default=None, return_dtype=pl.Int64)
    return (
        by_user(closed.select("client", (pl.col("at_ns") - GRACE_NS).alias("from_ns")), members)
        .join(classes, "user")
        .filter(pl.col("from_ns") >= leaves - 2 * GRACE_NS)  # the clocks of two processes differ a little
        .select("user", "from_ns", pl.lit(FOREVER_NS, pl.Int64).alias("until_ns"))
    )


def queue_name(destination: pl.Expr) -> pl.Expr:
    """Return the name of a queue: ``queue://orders`` and ``orders`` are the same queue."""
    return destination.str.strip_prefix(QUEUE_PREFIX)


def durable_queues(subscriptions: pl.DataFrame, members: pl.DataFrame, queues: Collection[str]) -> dict[str, str]:
    """Return the durable subscription that holds a leftover, by the name in the leftover's column ``queue``.

    The name is ``<client id>.<subscription>``. Artemis escapes dots in both parts for some protocols. ``queues``: the
    run's queues, which do not count as subscriptions even if their names match.
    """
    durable = subscriptions.filter(pl.col("kind") == "durable_topic").select("subscription", "consumer").unique()
    named = durable.join(members, left_on="consumer", right_on="user").drop_nulls("connection")
    names = {}
    for subscription, group, connection in named.select("subscription", "group", "connection").iter_rows():
        client_id = f"{group}-{connection}"  # as in `drivers.users.session`
        for escape in (str, _escaped):
            names[f"{escape(client_id)}.{escape(subscription)}"] = subscription
    return {name: subscription for name, subscription in sorted(names.items()) if name not in queues}


def _escaped(part: str) -> str:
    return part.replace("\\", "\\\\").replace(".", "\\.")


def leftover_places(
    leftovers: pl.DataFrame, durable: Mapping[str, str] = NO_QUEUES, queues: Collection[str] = ()
) -> pl.DataFrame:
    """Return one row per leftover message and holder. A readable queue takes precedence over a dead-letter queue.

    holder: the only reader of the message there: a durable subscription (``durable``: from `durable_queues`), or, of
    several copies, the queue (``queues``); null: any consumer. dead_letter; found_at: ``queue at broker``; dead_by_age:
    a dead letter because it expired; left_at: the broker; age_ns: how long it had been there.
    """
    holder = pl.col("queue").replace_strict(dict(durable), default=None, return_dtype=pl.String)
    places = leftovers.select(
        *MESSAGE,
        pl.when(pl.col("queue").is_in(sorted(queues)))
        .then("queue")
        .when(~pl.col("dead_letter"))
        .then(holder)
        .alias("holder"),
        "dead_letter",
        place_name().alias("found_at"),
        pl.col("expired").alias("dead_by_age"),
        pl.col("broker").alias("left_at"),
        "age_ns",
    )
    return places.sort(places.columns, nulls_last=False).unique([*MESSAGE, "holder"], keep="first", maintain_order=True)


def place_name() -> pl.Expr:
    """Return ``queue at broker``."""
    return pl.concat_str("queue", pl.lit(" at "), "broker")


def message_outcomes(
    expected: pl.DataFrame,
    first_deliveries: pl.DataFrame,
    places: pl.DataFrame,
    search: Search = SEARCHED,
) -> pl.DataFrame:
    """Return one row per (message, subscription) with a notable outcome. Expected outcomes have no row.

    message_outcome: lost | stranded | dead_lettered (acked, not received) | recovered (in doubt, received)
        | refused_yet_received (failed, received) | failed (failed, not received)
        | missing_unconfirmed (unconfirmed, neither received nor found)
        | left_unconfirmed (unconfirmed, not received, found)
        | expired (acked or unconfirmed, not received, found in a place that shows that its time to live was over)
        | unselected (acked, not received, found on a queue, no consumer's selector matches)
        | past_ttl, past_ttl_unconfirmed (neither received nor found, its time to live was over: see `expiry`)
        | missed_away (acked or unconfirmed, neither received nor found, its subscriber was disconnected)
        | unaccounted (instead of lost and missing_unconfirmed, if the message may be where ``search`` did not look).
    """
    to = [*MESSAGE, "subscription"]
    received = first_deliveries.select(to)
    owed = expected.filter(pl.col("subscription") != NOBODY)
    doubtful = owed.filter(pl.col("outcome").is_in(["in_doubt", "failed"]))
    there = doubtful.join(received.join(doubtful, to, how="semi"), to, how="semi")  # a join with few messages is quick
    missing = owed.join(received, to, how="anti")
    owed_rows = pl.concat([there.with_columns(received=pl.lit(True)), missing.with_columns(received=pl.lit(False))])
    return (
        _with_places(owed_rows, places)
        .with_columns(_message_outcome(search).alias("message_outcome"))
        .filter(pl.col("message_outcome").is_not_null())
    )


def _with_places(expected: pl.DataFrame, places: pl.DataFrame) -> pl.DataFrame:
    """Add the place that holds the message for this subscription, or else a place where any consumer could read it."""
    place = ["dead_letter", "found_at", "dead_by_age", "left_at", "age_ns"]
    for_all = places.filter(pl.col("holder").is_null()).drop("holder")
    held = places.filter(pl.col("holder").is_not_null()).rename({"holder": "subscription"})
    if held.is_empty():
        return expected.join(for_all, MESSAGE, how="left")
    joined = expected.join(held, [*MESSAGE, "subscription"], how="left").join(
        for_all, MESSAGE, how="left", suffix="_for_all"
    )
    is_held = pl.col("found_at").is_not_null()
    return joined.with_columns(
        pl.when(is_held).then(name).otherwise(f"{name}_for_all").alias(name) for name in place
    ).drop(f"{name}_for_all" for name in place)


def _message_outcome(search: Search) -> pl.Expr:
    outcome, missing, nowhere = pl.col("outcome"), ~pl.col("received"), pl.col("dead_letter").is_null()
    acked_and_missing = (outcome == "acked") & missing
    promised = outcome.is_in(["acked", "unconfirmed"])
    gone = promised & missing & nowhere
    too_old = promised & missing & pl.when("dead_letter").then("dead_by_age").otherwise("over")
    cases = (
        (gone & pl.col("away"), "missed_away"),
        (too_old & ~nowhere, "expired"),
        (gone & pl.col("over") & (outcome == "acked"), "past_ttl"),
        (gone & pl.col("over"), "past_ttl_unconfirmed"),
        (gone & search.leaves_out(), "unaccounted"),
        (acked_and_missing & nowhere, "lost"),
        (acked_and_missing & pl.col("dead_letter"), "dead_lettered"),
        (acked_and_missing & pl.col("unselected"), "unselected"),
        (acked_and_missing, "stranded"),
        ((outcome == "in_doubt") & pl.col("received"), "recovered"),
        ((outcome == "failed") & pl.col("received"), "refused_yet_received"),
        (outcome == "failed", "failed"),
        ((outcome == "unconfirmed") & missing & nowhere, "missing_unconfirmed"),
        ((outcome == "unconfirmed") & missing, "left_unconfirmed"),
    )
    text = pl.lit(None, pl.String)
    for condition, name in reversed(cases):
        text = pl.when(condition).then(pl.lit(name)).otherwise(text)
    return text
