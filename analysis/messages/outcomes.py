"""Finds the outcome of each message at each subscription that should receive it.

Jepsen's total queue, per subscription: what was attempted, acknowledged and received decides, over all attempts.
"""

from collections.abc import Collection, Mapping
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
"""The subscription of a topic's message that nobody was subscribed for."""
SUBSCRIPTION = ["destination", "subscription"]
NO_QUEUES: Mapping[str, str] = MappingProxyType({})


def expected(
    messages: pl.DataFrame,
    subscriptions: pl.DataFrame,
    absences: pl.DataFrame,
    expectations: Expectations = NOTHING_SPECIAL,
    routes: Routes = EQUAL_NAMES,
) -> pl.DataFrame:
    """One row a (message, subscription): a queue's own, and each of a topic's that had begun before the first attempt
    and whose selector matches. A virtual topic's queue is owed what was sent after it was there.

    Adds subscription; it is NOBODY for a message to a topic that had no subscription then. Adds away: the subscription
    is not durable, and its consumer was away as the message was sent. unselected: no consumer of its queue has a
    selector that matches. over: its time to live was over at the end. ``subscriptions``: by the destinations that
    messages were sent to.
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
    """Whether a message may have copies for a topic's subscriptions, or for queues of a virtual topic."""
    others = routes.copies.filter((pl.col("queue") == "") | pl.col("once_subscribed"))["destination"].unique()
    return pl.col("destination").str.starts_with(TOPIC_PREFIX) | pl.col("destination").is_in(others.implode())


def _of_queues(messages: pl.DataFrame, routes: Routes) -> pl.DataFrame:
    """With subscription: each message once for every queue that gets it, whoever is there."""
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
    """One row a subscription of a topic, or queue of a virtual one: began_ns, and selector ('' for a queue, which keeps
    what its consumers do not select).
    """
    fed = routes.copies.filter("once_subscribed").select("destination", pl.col("queue").alias("subscription"))
    of_topics = subscriptions.filter(pl.col("kind") != "queue")
    of_queues = subscriptions.filter(pl.col("kind") == "queue").join(fed, SUBSCRIPTION, how="semi")
    every = pl.concat([of_topics, of_queues.with_columns(pl.lit("").alias("selector"))])
    return every.group_by(SUBSCRIPTION).agg(pl.min("began_ns"), pl.min("selector"))


def _with_away(owed: pl.DataFrame, subscriptions: pl.DataFrame, absences: pl.DataFrame) -> pl.DataFrame:
    """With ``away``: whether the subscription's consumer was away as the message was sent."""
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
    """One row a time that a user's client was without a connection it had lost: user, from_ns, until_ns.

    Each lasts from the loss to the next connection, and GRACE_NS more at either end: messages were on their way to the
    client as it went, and a network of brokers takes a moment to notice that it is back.
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
    """Rows as of `absences`: users that left during the load as their stays say, and whose client did not come back.

    ``leaves_ns``: by user class, the end of its first stay. Nothing else that closes a connection is a departure: who
    closes at the end of the run, or at an error, was owed its messages until then.
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
    """``queue://orders`` and ``orders`` are the same queue."""
    return destination.str.strip_prefix(QUEUE_PREFIX)


def durable_queues(subscriptions: pl.DataFrame, members: pl.DataFrame, queues: Collection[str]) -> dict[str, str]:
    """By the name that a leftover has in the column queue: the durable subscription that holds it.

    The name is ``<client id>.<subscription>``. Artemis escapes dots in both parts for some protocols. ``queues``: the
    queues of the run, which are none even if they have such a name.
    """
    durable = subscriptions.filter(pl.col("kind") == "durable_topic").select("subscription", "consumer").unique()
    named = durable.join(members, left_on="consumer", right_on="user").drop_nulls("connection")
    names = {}
    for subscription, group, connection in named.select("subscription", "group", "connection").iter_rows():
        client_id = f"{group}-{connection}"  # as `drivers.users.session` has it
        for escape in (str, _escaped):
            names[f"{escape(client_id)}.{escape(subscription)}"] = subscription
    return {name: subscription for name, subscription in sorted(names.items()) if name not in queues}


def _escaped(part: str) -> str:
    return part.replace("\\", "\\\\").replace(".", "\\.")


def leftover_places(
    leftovers: pl.DataFrame, durable: Mapping[str, str] = NO_QUEUES, queues: Collection[str] = ()
) -> pl.DataFrame:
    """One row a message and holder, of messages that were left somewhere: on a queue (from where it could still be
    read) before a dead one.

    holder: the durable subscription (``durable``: as `durable_queues` returns them), or of several copies the queue
    (``queues``), that alone could still read it there; null: anybody.
    dead_letter, found_at: ``queue at broker``, dead_by_age: a dead letter because it expired, left_at: the broker,
    age_ns: how long it had been there.
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
    """``queue at broker``"""
    return pl.concat_str("queue", pl.lit(" at "), "broker")


def message_outcomes(
    expected: pl.DataFrame,
    first_deliveries: pl.DataFrame,
    places: pl.DataFrame,
    *,
    searched: bool = True,
    shared: Collection[str] = (),
) -> pl.DataFrame:
    """One row a (message, subscription) worth a count; none for what is as it should be, or was never promised.

    message_outcome: lost | stranded | dead_lettered (acked, not received) | recovered (in doubt, received)
        | refused_yet_received (failed, received) | failed (failed, not received)
        | missing_unconfirmed (unconfirmed, neither received nor found)
        | left_unconfirmed (unconfirmed, not received, found)
        | expired (acked or unconfirmed, not received, found where that shows that its time to live was over)
        | unselected (acked, not received, found on a queue, no consumer's selector matches)
        | past_ttl, past_ttl_unconfirmed (neither received nor found, its time to live was over: see `expiry`)
        | missed_away (acked or unconfirmed, neither received nor found, its subscriber was away)
        | unaccounted (in place of lost and missing_unconfirmed, if not every place was searched, or if the queue is
          ``shared``: other clients consumed from it too).
    """
    to = [*MESSAGE, "subscription"]
    received = first_deliveries.select(to)
    owed = expected.filter(pl.col("subscription") != NOBODY)
    there = owed.filter(pl.col("outcome").is_in(["in_doubt", "failed"])).join(received, to, how="semi")
    missing = owed.join(received, to, how="anti")
    owed_rows = pl.concat([there.with_columns(received=pl.lit(True)), missing.with_columns(received=pl.lit(False))])
    return (
        _with_places(owed_rows, places)
        .with_columns(_message_outcome(searched, shared).alias("message_outcome"))
        .filter(pl.col("message_outcome").is_not_null())
    )


def _with_places(expected: pl.DataFrame, places: pl.DataFrame) -> pl.DataFrame:
    """With the place where the message is held for this subscription, or else where anybody could read it."""
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


def _message_outcome(searched: bool, shared: Collection[str]) -> pl.Expr:
    taken = ~pl.col("destination").str.starts_with(TOPIC_PREFIX) & pl.col("subscription").is_in(sorted(shared))
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
        (gone & (pl.lit(not searched) | taken), "unaccounted"),
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
