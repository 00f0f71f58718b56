"""Checks that the analysis counts message outcomes like plain Python, for any set of events."""

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import polars as pl
import pytest

from analysis.events.routes import EQUAL_NAMES, Routes
from analysis.events.timeline import FOREVER_NS
from analysis.messages import deliveries, order
from analysis.messages import outcomes as message_outcomes
from analysis.messages.accounting import COUNTS, added_up, count_reordered, counts, with_derived
from analysis.messages.deliveries import messages
from analysis.messages.expectations import NOTHING_SPECIAL, Expectations
from analysis.messages.outcomes import NOBODY
from records.figures.messages import NOT_RECEIVED
from records.run import UserInfo
from records.tables.schemas import UNKNOWN
from tests.analysis import oracle
from tests.analysis.rows import MS, QUEUE, TOPIC, Row, connection, frame, leftover, member, receipt, send, subscription


def parts(counts: dict[str, int]) -> int:
    """The received messages add up with the outcomes of the others to the expected ones."""
    return counts["received"] - counts["unowed_yet_received"] + sum(counts[name] for name in NOT_RECEIVED)


def counted(
    sends: list[Row],
    receipts: list[Row],
    subscriptions: list[Row] | None = None,
    leftovers: list[Row] | None = None,
    connections: list[Row] | None = None,
    members: Sequence[Row] = (),
    *,
    searched: bool = True,
    expectations: Expectations = NOTHING_SPECIAL,
    durable: Mapping[str, str] = message_outcomes.NO_QUEUES,
    routes: Routes = EQUAL_NAMES,
) -> dict[oracle.Key, dict[str, int]]:
    """The accounting by (destination, subscription)."""
    attempts = frame("sends", sends)
    sent = messages(attempts)
    arrived = routes.relabel_receipts(frame("receipts", receipts), sent)
    held = routes.relabel_subscriptions(frame("subscriptions", subscriptions or []))
    delivered = deliveries.deliveries(arrived, sent, attempts)
    absences = message_outcomes.absences(frame("connections", connections or []), frame("members", members))
    expected = message_outcomes.expected(sent, held, absences, expectations, routes)
    places = message_outcomes.leftover_places(frame("leftovers", leftovers or []), durable, routes.queues)
    became = message_outcomes.message_outcomes(
        expected, deliveries.first(delivered), places, message_outcomes.Search(searched)
    )
    disorder, strange = order.overtaken(deliveries.first(delivered)), deliveries.strangers(arrived)
    marked = expectations.with_late_and_unselected(delivered, held)
    rows = [counts(expected, became, marked, strange), count_reordered(order.summarized(disorder))]
    result = with_derived(added_up(pl.concat(rows, how="diagonal")))
    return {
        (row["destination"], row["subscription"]): {name: row[name] for name in COUNTS} for row in result.to_dicts()
    }


@dataclass(frozen=True)
class AccountingCase:
    """Sent, received and leftover messages, and the counts that are then not zero."""

    counts: dict[str, int]
    sends: tuple[Row, ...] = ()
    receipts: tuple[Row, ...] = ()
    leftovers: tuple[Row, ...] = ()


IN_DOUBT = send(1, outcome="in_doubt")
DEAD = leftover(1, queue="ActiveMQ.DLQ", dead_letter=True)

CASES = {
    "a message sent and received is nothing else": AccountingCase(
        {"sent": 1, "acked": 1, "received": 1}, sends=(send(1),), receipts=(receipt(1),)
    ),
    "an acked message that is nowhere is lost": AccountingCase({"sent": 1, "acked": 1, "lost": 1}, sends=(send(1),)),
    "a message left on a queue is stranded and not lost": AccountingCase(
        {"sent": 1, "acked": 1, "stranded": 1}, sends=(send(1),), leftovers=(leftover(1),)
    ),
    "a message on a dead-letter queue is dead-lettered": AccountingCase(
        {"sent": 1, "acked": 1, "dead_lettered": 1}, sends=(send(1),), leftovers=(DEAD,)
    ),
    "a message on both kinds of queue is stranded, as it can still be read": AccountingCase(
        {"sent": 1, "acked": 1, "stranded": 1}, sends=(send(1),), leftovers=(DEAD, leftover(1))
    ),
    "a message received and yet found is received": AccountingCase(
        {"sent": 1, "acked": 1, "received": 1}, sends=(send(1),), receipts=(receipt(1),), leftovers=(leftover(1),)
    ),
    "a message in doubt that arrived is recovered": AccountingCase(
        {"sent": 1, "in_doubt": 1, "received": 1, "recovered": 1}, sends=(IN_DOUBT,), receipts=(receipt(1),)
    ),
    "a message in doubt that did not arrive is not lost": AccountingCase(
        {"sent": 1, "in_doubt": 1, "in_doubt_not_received": 1}, sends=(IN_DOUBT,)
    ),
    "a message acked at its second attempt is acked, and sent once": AccountingCase(
        {"sent": 1, "acked": 1, "received": 1}, sends=(IN_DOUBT, send(1, attempt=2)), receipts=(receipt(1, attempt=2),)
    ),
    "both attempts delivered are a duplicate by a resend": AccountingCase(
        {"sent": 1, "acked": 1, "received": 1, "duplicated": 1, "duplicated_by_resend": 1},
        sends=(IN_DOUBT, send(1, attempt=2)),
        receipts=(receipt(1), receipt(1, attempt=2, at=2_006)),
    ),
    "one attempt delivered twice is a duplicate by the broker": AccountingCase(
        {"sent": 1, "acked": 1, "received": 1, "duplicated": 1},
        sends=(send(1),),
        receipts=(receipt(1), receipt(1, at=2_006)),
    ),
    "a copy that the broker marks as redelivered is not a duplicate": AccountingCase(
        {"sent": 1, "acked": 1, "received": 1, "redelivered": 1, "repeated": 1},
        sends=(send(1),),
        receipts=(receipt(1), receipt(1, at=2_006, redelivered=True)),
    ),
    "a first delivery that the broker marks as redelivered is not a repeat": AccountingCase(
        {"sent": 1, "acked": 1, "received": 1, "redelivered": 1},
        sends=(send(1),),
        receipts=(receipt(1, redelivered=True),),
    ),
    "an unconfirmed message that is nowhere is missing and not lost": AccountingCase(
        {"sent": 1, "unconfirmed": 1, "missing_unconfirmed": 1}, sends=(send(1, outcome="unconfirmed"),)
    ),
    "an unconfirmed message that is found on a queue is left there": AccountingCase(
        {"sent": 1, "unconfirmed": 1, "left_unconfirmed": 1},
        sends=(send(1, outcome="unconfirmed"),),
        leftovers=(leftover(1),),
    ),
    "a refused message is neither lost nor missing": AccountingCase(
        {"sent": 1, "failed": 1, "failed_not_received": 1}, sends=(send(1, outcome="failed"),)
    ),
    "a refused message that arrived anyway is counted": AccountingCase(
        {"sent": 1, "failed": 1, "received": 1, "refused_yet_received": 1},
        sends=(send(1, outcome="failed"),),
        receipts=(receipt(1),),
    ),
    "a corrupted message is received": AccountingCase(
        {"sent": 1, "acked": 1, "received": 1, "corrupted": 1},
        sends=(send(1),),
        receipts=(receipt(1, integrity="corrupted"),),
    ),
    "an unreadable body is corrupted and its message lost": AccountingCase(
        {"sent": 1, "acked": 1, "lost": 1, "corrupted": 1},
        sends=(send(1),),
        receipts=(receipt(1, integrity="unreadable"),),
    ),
    "two foreign bodies are not duplicates of each other": AccountingCase(
        {"sent": 1, "acked": 1, "received": 1, "foreign": 2},
        sends=(send(1),),
        receipts=(receipt(1), receipt(1, integrity="foreign"), receipt(1, integrity="foreign", at=2_006)),
    ),
    "a message without a sender is unexpected": AccountingCase(
        {"received": 1, "unexpected": 1, "unowed_yet_received": 1}, receipts=(receipt(9),)
    ),
    "an unrecorded attempt is not a duplicate": AccountingCase(
        {"sent": 1, "acked": 1, "received": 1, "unknown_attempts": 1},
        sends=(send(1),),
        receipts=(receipt(1), receipt(1, attempt=9, at=2_006)),
    ),
    "a delivery after an unrecorded attempt is not a duplicate": AccountingCase(
        {"sent": 1, "acked": 1, "received": 1, "unknown_attempts": 1},
        sends=(send(1),),
        receipts=(receipt(1, attempt=9), receipt(1, at=2_006)),
    ),
    "a message overtaken by a later one is reordered": AccountingCase(
        {"sent": 3, "acked": 3, "received": 3, "reordered": 1},
        sends=(send(1), send(2), send(3)),
        receipts=(receipt(1, at=1), receipt(3, at=2), receipt(2, at=3)),
    ),
    "messages at different consumers have no order": AccountingCase(
        {"sent": 2, "acked": 2, "received": 2},
        sends=(send(1), send(2)),
        receipts=(receipt(2, at=1, consumer=7), receipt(1, at=2, consumer=8)),
    ),
    "a copy out of order is a duplicate and not reordered": AccountingCase(
        {"sent": 2, "acked": 2, "received": 2, "duplicated": 1},
        sends=(send(1), send(2)),
        receipts=(receipt(1, at=1), receipt(2, at=2), receipt(1, at=3)),
    ),
}


def on_its_own(number: int, rows: Iterable[Row]) -> list[Row]:
    """Return a case's rows, with a separate producer and queue."""
    own = {"destination": f"queue://{number}", "subscription": str(number)}
    named = [{**row, **{name: value for name, value in own.items() if name in row}} for row in rows]
    return [{**row, "producer": number} if row["producer"] != UNKNOWN else row for row in named]


@pytest.fixture(scope="module")
def counts_of_cases() -> dict[str, dict[str, int]]:
    """Return the nonzero counts of every case, from one pass over all cases."""
    numbered = list(enumerate(CASES.values()))
    sends, receipts, leftovers = (
        [row for number, case in numbered for row in on_its_own(number, getattr(case, table))]
        for table in ("sends", "receipts", "leftovers")
    )
    counts = counted(sends, receipts, leftovers=leftovers)
    return {
        name: {key: count for key, count in counts[f"queue://{number}", str(number)].items() if count}
        for number, name in enumerate(CASES)
    }


@pytest.mark.parametrize("case", CASES)
def test_of_queues(counts_of_cases: dict[str, dict[str, int]], case: str) -> None:
    assert counts_of_cases[case] == CASES[case].counts


def test_each_subscription_of_a_topic_is_to_have_each_message_sent_after_it_began() -> None:
    sends = [send(1, destination=TOPIC, due=100), send(2, destination=TOPIC, due=300)]
    arrived = [receipt(2, subscription="early", destination=TOPIC)]
    counts = counted(sends, arrived, [subscription("early", began=200), subscription("late", began=250)])
    assert {key: (count["sent"], count["received"], count["lost"]) for key, count in counts.items()} == {
        (TOPIC, ""): (1, 0, 0),  # the first message: it had no subscription
        (TOPIC, "early"): (1, 1, 0),
        (TOPIC, "late"): (1, 0, 1),
    }


def test_a_held_message_is_stranded_for_its_holder_and_lost_for_others() -> None:
    """One durable subscription holds the message. The other subscriptions have lost it."""
    sends = [send(seq, destination=TOPIC) for seq in (1, 2, 3)]
    durable = [subscription(name, kind="durable_topic") for name in ("one", "two", "three")]
    leftovers = [
        leftover(1, queue="consumers-7.one"),
        leftover(2, queue="consumers-7.two"),
        leftover(3, queue="$.artemis.internal.sf.cluster"),  # in transit to another broker: any subscription may get it
    ]
    counts = counted(
        sends,
        [receipt(1, subscription="three", destination=TOPIC)],
        durable,
        leftovers,
        durable={f"consumers-7.{name}": name for name in ("one", "two", "three")},
    )
    assert {name: (count["received"], count["stranded"], count["lost"]) for (_, name), count in counts.items()} == {
        "one": (0, 2, 1),
        "two": (0, 2, 1),
        "three": (1, 1, 1),
    }


def random_events(seed: int) -> tuple[list[Row], list[Row], list[Row], list[Row]]:
    """Return a few hundred events with every kind of error. Some have equal times."""
    rng = random.Random(seed)
    subscribed = [subscription(name, began=rng.randrange(0, 300)) for name in ("s1", "s2", "s2", "s3")]
    sends, receipts, leftovers = [], [], []
    for number in range(150):
        producer, seq = number % 3, number // 3
        destination = TOPIC if producer == 2 else QUEUE
        outcomes = rng.choice(
            [["acked"], ["acked"], ["failed"], ["unconfirmed"], ["in_doubt", "acked"], ["in_doubt"] * 3]
        )
        for attempt, outcome in enumerate(outcomes, start=1):
            due = number * 5 + attempt
            sends.append(
                send(seq, producer=producer, attempt=attempt, due=due, outcome=outcome, destination=destination)
            )
        for name in ("s1", "s2") if destination == TOPIC else ("orders",):
            for _ in range(rng.choice([0, 1, 1, 1, 2, 4])):
                receipts.append(
                    receipt(
                        seq + rng.choice([0] * 20 + [1_000]),
                        producer=producer,
                        attempt=rng.randint(1, len(outcomes)) + rng.choice([0] * 20 + [7]),
                        at=number * 5 + rng.randrange(60),
                        consumer=rng.choice([7, 8]),
                        subscription=name,
                        destination=destination,
                        redelivered=rng.random() < 0.3,
                        integrity=rng.choice(["intact"] * 9 + ["corrupted", "unreadable", "foreign"]),
                    )
                )
        for _ in range(rng.choice([0, 0, 1, 2])):
            leftovers.append(leftover(seq, producer=producer, dead_letter=rng.random() < 0.5))
    rng.shuffle(sends)
    rng.shuffle(receipts)
    return sends, receipts, subscribed, leftovers


ABSENCES = [
    connection("lost", at=-900, client=7),
    connection("connected", at=-850, client=7),  # messages of the first 150 ms are sent before it reconnects
    connection("lost", at=1_400, client=7),  # messages sent from 400 ms on are still in transit
]


def test_subscribers_sharing_a_lost_connection_are_owed_nothing_meanwhile() -> None:
    """Connection 5 of subscribers 7 and 8 is lost at 2 s. 9 has another connection, so its message is lost."""
    sends = [send(1, due=2_500, destination=TOPIC)]
    subscribed = [subscription(f"s{consumer}", consumer=consumer) for consumer in (7, 8, 9)]
    members = [member(consumer, shared, role="consumer") for consumer, shared in ((7, 5), (8, 5), (9, 6))]
    gone = [connection("lost", at=2_000, client=5)]
    counts = counted(sends, [], subscribed, connections=gone, members=members)
    missed_and_lost = {key[1]: (count["missed_away"], count["lost"]) for key, count in counts.items()}
    assert missed_and_lost == {"s7": (1, 0), "s8": (1, 0), "s9": (0, 1)}


def test_subscribers_that_leave_as_their_stays_say_are_owed_nothing_more() -> None:
    """7 leaves at 2 s. 8 comes back, 9 leaves before its class does, and 6 leaves at the end of the load, at 9 s."""
    closed_ms = {6: 9_001, 7: 2_000, 8: 2_000, 9: 500}
    connections = [connection("closed", at=at, client=client) for client, at in closed_ms.items()]
    connections.append(connection("connected", at=2_100, client=8))
    members = frame("members", [member(user, user, role="consumer") for user in closed_ms])
    left = message_outcomes.departures(
        frame("connections", connections), members, {"Orders": 2_000 * MS}, load_ended_ns=9_000 * MS
    )
    assert left.to_dicts() == [{"user": 7, "from_ns": 1_000 * MS, "until_ns": FOREVER_NS}]
    of_others = message_outcomes.departures(frame("connections", connections), members, {}, load_ended_ns=9_000 * MS)
    assert of_others.is_empty()


@pytest.mark.parametrize(
    ("stays", "leaves_s"), [("0 … 4 s", 4), ("0 … 2.5 s at 1; 6 … end s at 0", 2.5), ("0 … end s at 2", None)]
)
def test_a_class_leaves_at_the_end_of_its_first_stay(stays: str, leaves_s: float | None) -> None:
    assert UserInfo("C", "consumer", "consumers", TOPIC, 1, {"stays": stays}).leaves_s == leaves_s


@pytest.mark.parametrize(("seed", "searched"), [(1, True), (2, False)])
def test_random_events_are_accounted_for_as_plain_python_does(seed: int, searched: bool) -> None:
    sends, receipts, subscribed, leftovers = random_events(seed)
    expected = oracle.accounting(sends, receipts, subscribed, leftovers, ABSENCES, searched=searched)
    counts = counted(sends, receipts, subscribed, leftovers, ABSENCES, searched=searched)
    assert counts == expected
    owed = {key: count for key, count in counts.items() if key[1] != NOBODY}
    assert {key: parts(count) for key, count in owed.items()} == {key: count["sent"] for key, count in owed.items()}
    gone = {"unaccounted"} if searched else {"lost", "missing_unconfirmed"}
    gone |= {
        name for name in COUNTS if "expired" in name or "unselected" in name or "ttl" in name
    }  # these have separate tests
    assert all(sum(counts[name] for counts in expected.values()) for name in set(COUNTS) - gone)
