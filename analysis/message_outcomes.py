"""Finds the outcome of each message at each subscription that should receive it.

Jepsen's total queue, per subscription: what was attempted, acknowledged and received decides, over all attempts.
"""

from collections.abc import Callable, Collection

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from analysis.expectations import NOTHING_SPECIAL, Expectations
from analysis.members import of_users
from analysis.messages import MESSAGE, laid_out
from analysis.timeline import FOREVER_NS
from records.units import NS_PER_S

QUEUE_PREFIX = "^queue://"
GRACE_NS = NS_PER_S
NOBODY = ""
"""The subscription of a topic's message that nobody was subscribed for."""


def expected(
    messages: DataFrame, subscriptions: DataFrame, absences: DataFrame, of: Expectations = NOTHING_SPECIAL
) -> DataFrame:
    """One row a (message, subscription): a queue's own, and each of a topic's that had begun before the first attempt
    and whose selector matches.

    Adds subscription; it is NOBODY for a message to a topic that had no subscription then. Adds away: the subscription
    is not durable, and its consumer was away as the message was sent. unselected: no consumer of its queue has a
    selector that matches. over: its time to live was over at the end.
    """
    topics = (
        subscriptions.where(F.col("kind") != "queue")
        .join(F.broadcast(absences), (F.col("consumer") == F.col("user")) & (F.col("kind") == "topic"), "left")
        .groupBy("destination", F.col("subscription").alias("subscriber"))
        .agg(
            F.min("began_ns").alias("began_ns"),
            F.flatten(F.collect_list("absences")).alias("absences"),
            F.min("selector").alias("selector"),
        )
        .withColumnRenamed("destination", "topic")
    )
    had_begun = (F.col("destination") == F.col("topic")) & (F.col("began_ns") <= F.col("sent_ns"))
    owed = had_begun & of.matches(F.col("selector")) if of.selects else had_begun
    queue = F.when(~F.col("destination").startswith("topic://"), queue_name(F.col("destination")))
    return (
        messages.join(F.broadcast(topics), owed, "left")
        .withColumn("subscription", F.coalesce(queue, F.col("subscriber"), F.lit(NOBODY)))
        .withColumn("away", F.coalesce(F.exists("absences", _holds(F.col("sent_ns"))), F.lit(False)))
        .withColumn("unselected", of.unselected())
        .withColumn("over", of.over())
        .drop("topic", "subscriber", "began_ns", "absences", "selector", "last_sent_ns")
    )


def _holds(at_ns: Column) -> Callable[[Column], Column]:
    """Whether an absence holds a moment."""
    return lambda absence: at_ns.between(absence["from_ns"], absence["until_ns"])


def absences(connections: DataFrame, members: DataFrame) -> DataFrame:
    """One row a user whose client lost its connection: user, and absences, an array of (from_ns, until_ns).

    Each lasts from the loss to the next connection, and GRACE_NS more at either end: messages were on their way to the
    client as it went, and a network of brokers takes a moment to notice that it is back.
    """
    until_ns = F.lead("at_ns").over(Window.partitionBy("client").orderBy("at_ns"))
    gaps = (
        connections.where(F.col("event").isin("lost", "connected"))
        .withColumn("until_ns", F.coalesce(until_ns + F.lit(GRACE_NS), F.lit(FOREVER_NS)))
        .where(F.col("event") == "lost")
    )
    absence = F.struct((F.col("at_ns") - F.lit(GRACE_NS)).alias("from_ns"), "until_ns")
    of_clients = gaps.groupBy("client").agg(F.collect_list(absence).alias("absences"))
    return of_users(of_clients, members).select("user", "absences")


def queue_name(column: Column) -> Column:
    """``queue://orders`` and ``orders`` are the same queue."""
    return F.regexp_replace(column, QUEUE_PREFIX, "")


def found(leftovers: DataFrame, durable: Collection[str] = ()) -> DataFrame:
    """One row a message that was left somewhere: place, on a queue (from where it could still be read) before a dead
    one, and held, an array of the places where it is held for one durable subscription each.

    A place is dead_letter, found_at: ``queue at broker``, dead_by_age: a dead letter because it expired, left_at: the
    broker, age_ns: how long it had been there, and holder: the subscription that alone could still read it there; null:
    anybody. ``durable``: the names of those.
    """
    name = F.substring_index("queue", ".", -1)  # Artemis has a queue for it: <client id>.<name>
    holder = F.when(name.isin(*durable), name)
    at = place_name().alias("found_at")
    why = F.col("expired").alias("dead_by_age")
    left_at = F.col("broker").alias("left_at")
    place = F.struct(F.col("dead_letter"), at, why, left_at, F.col("age_ns"), holder.alias("holder"))
    return (
        laid_out(leftovers)
        .withColumn("spot", place)
        .groupBy(*MESSAGE)
        .agg(
            F.min(F.when(F.col("spot.holder").isNull(), F.col("spot"))).alias("place"),
            F.collect_list(F.when(F.col("spot.holder").isNotNull(), F.col("spot"))).alias("held"),
        )
    )


def place_name() -> Column:
    """``queue at broker``"""
    return F.concat_ws(" at ", "queue", "broker")


def message_outcomes(
    expected: DataFrame, first_deliveries: DataFrame, found: DataFrame, *, searched: bool = True
) -> DataFrame:
    """One row a (message, subscription) worth a count; none for what is as it should be, or was never promised.

    message_outcome: lost | stranded | dead_lettered (acked, not received) | recovered (in doubt, received)
        | refused_yet_received (failed, received) | failed (failed, not received)
        | missing_unconfirmed (unconfirmed, neither received nor found)
        | left_unconfirmed (unconfirmed, not received, found)
        | expired (acked or unconfirmed, not received, found where that shows that its time to live was over)
        | unselected (acked, not received, found on a queue, no consumer's selector matches)
        | past_ttl, past_ttl_unconfirmed (neither received nor found, its time to live was over: `analysis.expiry`)
        | missed_away (acked or unconfirmed, neither received nor found, its subscriber was away)
        | unaccounted (in place of lost and missing_unconfirmed, if not every place was searched).
    """
    received = first_deliveries.select(*MESSAGE, "subscription", F.lit(True).alias("received"))
    return (
        expected.join(received.hint("shuffle_hash"), [*MESSAGE, "subscription"], "left")
        .join(found.hint("shuffle_hash"), MESSAGE, "left")
        .withColumn("spot", F.coalesce(F.get(F.filter("held", _of_subscription), F.lit(0)), "place"))
        .select("*", "spot.*")
        .drop("spot", "place", "held", "holder")
        .withColumn("received", F.coalesce("received", F.lit(False)))
        .withColumn("message_outcome", F.when(F.col("subscription") != NOBODY, _message_outcome(searched)))
        .where(F.col("message_outcome").isNotNull())
    )


def _of_subscription(place: Column) -> Column:
    return place["holder"] == F.col("subscription")


def _message_outcome(searched: bool) -> Column:
    outcome, missing, nowhere = F.col("outcome"), ~F.col("received"), F.col("dead_letter").isNull()
    acked_and_missing = (outcome == "acked") & missing
    promised = outcome.isin("acked", "unconfirmed")
    gone = promised & missing & nowhere
    too_old = promised & missing & F.when(F.col("dead_letter"), F.col("dead_by_age")).otherwise(F.col("over"))
    return (
        F.when(gone & F.col("away"), "missed_away")
        .when(too_old & ~nowhere, "expired")
        .when(gone & F.col("over"), F.when(outcome == "acked", "past_ttl").otherwise("past_ttl_unconfirmed"))
        .when(gone & F.lit(not searched), "unaccounted")
        .when(acked_and_missing & nowhere, "lost")
        .when(acked_and_missing & F.col("dead_letter"), "dead_lettered")
        .when(acked_and_missing & F.col("unselected"), "unselected")
        .when(acked_and_missing, "stranded")
        .when((outcome == "in_doubt") & F.col("received"), "recovered")
        .when(outcome == "failed", F.when(F.col("received"), "refused_yet_received").otherwise("failed"))
        .when(
            (outcome == "unconfirmed") & missing, F.when(nowhere, "missing_unconfirmed").otherwise("left_unconfirmed")
        )
    )
