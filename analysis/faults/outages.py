"""Finds the outages of users whose clients lost their connections to a fault's broker.

A producer's success is a confirmed send. Brokers do not confirm non-durable sends, which count when they are written. A
consumer's success is a receipt. Users that share a connection lose it together, but each user has a separate outage.
"""

from collections.abc import Sequence

import polars as pl

from analysis.events.run import by_user
from analysis.events.timeline import FOREVER_NS, FaultSpan
from analysis.messages.expectations import NOTHING_SPECIAL, Expectations
from records.tables.results import OUTAGES

CUT = ["fault", "user"]
"""The key of an outage."""
SUBSCRIPTION = ["destination", "subscription"]
READABLE = ("stranded", "left_unconfirmed")
"""Outcomes of messages that a consumer of their subscription could still read."""
OWED = (
    *READABLE,
    "lost",
    "unaccounted",
    "missing_unconfirmed",
    "dead_lettered",
    "expired",
    "past_ttl",
    "past_ttl_unconfirmed",
)
"""Outcomes of messages that a subscription should have received, and did not."""


def cut_off(connections: pl.DataFrame, members: pl.DataFrame, faults: Sequence[FaultSpan]) -> pl.DataFrame:
    """Return one row per fault and user whose client lost its connection to the fault's broker.

    Columns: fault, kind, target, applied_ns, client, group, lost_ns, and the columns of `reconnections`.
    """
    return by_user(reconnections(connections, losses(connections, faults)), members)


def outages(cut_off: pl.DataFrame, successes: pl.DataFrame, roles: pl.DataFrame, load_began_ns: int) -> pl.DataFrame:
    """Return rows of OUTAGES without ``due``, which `with_due` adds. Times count from the start of the load.

    ``successes``: the merged table. ``roles``: user and role.
    """
    joined = cut_off.join(successes, CUT, how="left").join(roles, "user", how="left")
    began_ns = pl.max_horizontal("last_success_ns", "applied_ns")
    times_ns = ("last_success_ns", "lost_ns", "connected_ns", "ready_ns", "first_success_ns")
    return joined.select(
        *("fault", "kind", "target", "client", "user", "group"),
        pl.col("role").fill_null(""),
        (began_ns - load_began_ns).alias("began_ns"),
        *[pl.col(name) - load_began_ns for name in times_ns],
        "to_broker",
        "attempts",
        pl.col("in_flight").fill_null(0),
    )


def losses(connections: pl.DataFrame, faults: Sequence[FaultSpan]) -> pl.DataFrame:
    """Return the first loss of each client during each fault, if it was connected to the fault's broker."""
    schema = {
        "fault": pl.Int32,
        "kind": pl.String,
        "target": pl.String,
        "applied_ns": pl.Int64,
        "from_ns": pl.Int64,
        "until_ns": pl.Int64,
    }
    rows = [(span.number, span.kind, span.target, span.began_ns, span.began_ns, span.until_ns) for span in faults]
    spans = pl.DataFrame(rows, schema, orient="row")
    lost = connections.filter(pl.col("event") == "lost").join(spans, left_on="broker", right_on="target", how="inner")
    during = lost.filter(pl.col("at_ns").is_between(pl.col("from_ns"), pl.col("until_ns")))
    of_clients = during.rename({"broker": "target"}).group_by("fault", "kind", "target", "applied_ns", "client")
    return of_clients.agg(pl.min("group"), pl.min("at_ns").alias("lost_ns"))


def reconnections(connections: pl.DataFrame, lost: pl.DataFrame) -> pl.DataFrame:
    """Add each client's next connection (null: never), its previous connection, and the attempts in between.

    ``ready_ns``: when the next connection, or a later one, was ready.
    """
    at_ns, event, after = pl.col("at_ns"), pl.col("event"), pl.col("at_ns") >= pl.col("lost_ns")
    events = connections.select("client", "event", "at_ns", "broker").join(lost, "client").sort("at_ns", "broker")
    back = (event == "connected") & after
    connected_ns = pl.coalesce(at_ns.filter(back).first(), pl.lit(FOREVER_NS))
    tried = (event == "attempt") & after
    return events.group_by(lost.columns).agg(
        at_ns.filter(back).first().alias("connected_ns"),
        pl.col("broker").filter(back).first().alias("to_broker"),
        at_ns.filter((event == "ready") & after).min().alias("ready_ns"),
        at_ns.filter((event == "connected") & ~after).max().alias("connected_before_ns"),
        (at_ns.filter(tried) <= connected_ns).sum().cast(pl.Int32).alias("attempts"),
    )


def successes(cut_off: pl.DataFrame, sends: pl.DataFrame, receipts: pl.DataFrame) -> pl.DataFrame:
    """Return, by outage, the last success before the loss, the first after it, and the sends in flight."""
    unconfirmed = pl.col("outcome") == "unconfirmed"
    users = cut_off.select(*CUT, "lost_ns", "connected_ns", "connected_before_ns")
    sent = sends.join(users, left_on="producer", right_on="user").select(
        "fault",
        pl.col("producer").alias("user"),
        pl.when(pl.col("outcome") == "acked").then("settled_ns").when(unconfirmed).then("sent_ns").alias("success_ns"),
        *("lost_ns", "connected_ns"),
        (
            ~unconfirmed
            & (pl.col("sent_ns") <= pl.col("lost_ns"))
            & (pl.col("sent_ns") >= pl.col("connected_before_ns").fill_null(0))
            & (pl.col("settled_ns").is_null() | (pl.col("settled_ns") > pl.col("lost_ns")))
        ).alias("in_flight"),
    )
    received = receipts.join(users, left_on="consumer", right_on="user").select(
        "fault",
        pl.col("consumer").alias("user"),
        pl.col("received_ns").alias("success_ns"),
        *("lost_ns", "connected_ns"),
        pl.lit(False).alias("in_flight"),
    )
    success_ns = pl.col("success_ns")
    return (
        pl.concat([sent, received])
        .group_by(CUT)
        .agg(
            success_ns.filter(success_ns < pl.col("lost_ns")).max().alias("last_success_ns"),
            success_ns.filter(success_ns > pl.col("connected_ns")).min().alias("first_success_ns"),
            pl.col("in_flight").sum().cast(pl.Int64),
        )
    )


def roles(senders: pl.DataFrame, subscriptions: pl.DataFrame) -> pl.DataFrame:
    """Return the role of each user that sent or subscribed. ``senders``: rows with the ``user`` of each sender."""
    producers = senders.select("user", pl.lit("producer").alias("role"))
    consumers = subscriptions.select(pl.col("consumer").alias("user"), pl.lit("consumer").alias("role"))
    return pl.concat([producers, consumers]).group_by("user").agg(pl.max("role"))


def with_due(outages: pl.DataFrame, due: pl.DataFrame, owed: pl.DataFrame) -> pl.DataFrame:
    """Add ``due``: the number of the user's messages that were due during the outage.

    For a producer, its own messages. For a consumer, the messages that it received at any time (``due``). If it was
    ready again but received nothing: the messages of its subscription since then that no consumer received (``owed``).
    Null for a consumer that was never ready again, as its messages are unknown.
    """
    counted = (
        pl.when(~_without_success())
        .then(pl.col("due").fill_null(0))
        .when(pl.col("ready_ns").is_not_null())
        .then(pl.col("owed").fill_null(0))
    )
    joined = outages.join(due, CUT, how="left").join(owed, CUT, how="left")
    return joined.with_columns(counted.alias("due")).select(OUTAGES.names)


def due(outages: pl.DataFrame, messages: pl.DataFrame, deliveries: pl.DataFrame, load_began_ns: int) -> pl.DataFrame:
    """Count the user's messages that were due during each outage. The counts of parts add up."""
    of_producers = messages.select(pl.col("producer").alias("user"), "due_ns")
    arrived = deliveries.filter((pl.col("copy") == 1) & pl.col("due_ns").is_not_null())
    of_consumers = arrived.select(pl.col("consumer").alias("user"), "due_ns")
    until_ns = pl.col("first_success_ns").fill_null(FOREVER_NS)
    gaps = outages.select(*CUT, "began_ns", until_ns.alias("until_ns"))
    due_ns = pl.col("due_ns") - load_began_ns
    within = (due_ns >= pl.col("began_ns")) & (due_ns < pl.col("until_ns"))
    joined = pl.concat([of_producers, of_consumers]).join(gaps, "user").filter(within)
    return joined.group_by(CUT).agg(pl.len().cast(pl.Int64).alias("due"))


def count_owed_messages(
    outages: pl.DataFrame,
    undelivered: pl.DataFrame,
    subscriptions: pl.DataFrame,
    load_began_ns: int,
    expectations: Expectations = NOTHING_SPECIAL,
) -> pl.DataFrame:
    """Count the messages of each consumer's subscription that no consumer received though this one was ready again.

    A message counts if it was sent after the consumer was ready, or is on the consumer's broker. A queue's messages
    received by other consumers do not count. A missing unconfirmed message counts for topics only: a queue would have
    kept it. ``undelivered``: rows of `analysis.messages.outcomes`. The counts of parts add up.
    """
    idle = outages.filter(_without_success()).select(*CUT, "ready_ns", "to_broker")
    user = pl.col("consumer").alias("user")
    held = subscriptions.select(user, *SUBSCRIPTION, "kind", "selector").unique()
    missing = undelivered.filter(pl.col("message_outcome").is_in(OWED)).select(
        *SUBSCRIPTION, "seq", "sent_ns", "left_at", "message_outcome"
    )
    on_its_broker = pl.col("message_outcome").is_in(READABLE) & (pl.col("left_at") == pl.col("to_broker"))
    since = (pl.col("sent_ns") - load_began_ns) >= pl.col("ready_ns")
    promised = (pl.col("kind") != "queue") | (pl.col("message_outcome") != "missing_unconfirmed")
    joined = missing.join(idle.join(held, "user"), SUBSCRIPTION)
    counted = joined.filter(promised & (since | on_its_broker) & expectations.matches(pl.col("selector")))
    return counted.group_by(CUT).agg(pl.len().cast(pl.Int64).alias("owed"))


def _without_success() -> pl.Expr:
    return (pl.col("role") == "consumer") & pl.col("first_success_ns").is_null()
