"""Checks client outages: a planted history is found exactly, and random ones match plain Python."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.events.timeline import FAULT_GRACE_NS, FOREVER_NS, FaultSpan, fault_spans
from analysis.faults import outages
from analysis.messages.deliveries import deliveries, first, messages
from analysis.messages.expectations import NOTHING_SPECIAL, Expectations, SentTo
from analysis.messages.outcomes import absences, expected, leftover_places, message_outcomes
from records.figures.faults import back_ns
from records.loads.message_properties import MessageProperties
from tests.analysis import outage_oracle
from tests.analysis.rows import (
    LOAD_FROM_MS,
    MS,
    Row,
    connection,
    frame,
    leftover,
    member,
    receipt,
    send,
    subscription,
)

LOAD_NS = LOAD_FROM_MS * MS
KILL = FaultSpan(1, "kill", "a", 5_000 * MS, 9_000 * MS)
PRODUCER, CONSUMER, LOST_FOR_GOOD, ELSEWHERE = 1, 7, 2, 3


def outages_of(
    connections: list[Row],
    sends: list[Row],
    receipts: list[Row],
    faults: tuple[FaultSpan, ...] = (KILL,),
    subscriptions: tuple[Row, ...] = (),
    members: Sequence[Row] = (),
    leftovers: Sequence[Row] = (),
    expectations: Expectations = NOTHING_SPECIAL,
) -> dict[tuple[int, int], dict[str, Any]]:
    """Return rows of OUTAGES by (fault, user). Times are as recorded."""
    frames = [
        frame(name, rows)
        for name, rows in (
            ("connections", connections),
            ("sends", sends),
            ("receipts", receipts),
            ("subscriptions", subscriptions),
            ("members", members),
        )
    ]
    changes, sent, received, held, sharing = frames
    cut_off = outages.cut_off(changes, sharing, faults)
    roles = outages.roles(sent.select(pl.col("producer").alias("user")), held)
    its = outages.outages(cut_off, outages.successes(cut_off, sent, received), roles, LOAD_NS)
    of_messages = messages(sent)
    arrived = deliveries(received, of_messages, sent)
    owed_to = expected(of_messages, held, absences(changes, sharing), expectations)
    outcomes = message_outcomes(owed_to, first(arrived), leftover_places(frame("leftovers", leftovers)))
    due = outages.due(its, of_messages, arrived, LOAD_NS)
    rows = outages.with_due(
        its, due, outages.count_owed_messages(its, outcomes, held, LOAD_NS, expectations)
    ).to_dicts()
    for row in rows:
        row |= {key: value + LOAD_NS for key, value in row.items() if key.endswith("_ns") and value is not None}
    return {(row["fault"], row["user"]): row for row in rows}


def ms(row: dict[str, Any], name: str) -> float | None:
    value = row[f"{name}_ns"]
    return None if value is None else value / MS


def test_a_planted_history_of_a_kill_is_found_exactly() -> None:
    """Broker a is killed at 5 s. A producer reconnects after two attempts, a consumer to b, and one client never."""
    connections = [
        *(connection("connected", at=100, client=client) for client in (PRODUCER, CONSUMER, LOST_FOR_GOOD)),
        connection("connected", at=100, client=ELSEWHERE, broker="b"),
        *(connection("lost", at=5_100, client=client) for client in (PRODUCER, CONSUMER, LOST_FOR_GOOD)),
        connection("attempt", at=5_110, client=PRODUCER),
        connection("attempt", at=5_200, client=PRODUCER, broker="b"),
        connection("connected", at=5_250, client=PRODUCER, broker="b"),
        connection("ready", at=5_255, client=PRODUCER, broker="b"),
        connection("attempt", at=5_150, client=CONSUMER, broker="c"),
        connection("connected", at=5_300, client=CONSUMER, broker="c"),
        connection("ready", at=5_310, client=CONSUMER, broker="c"),
        connection("attempt", at=5_120, client=LOST_FOR_GOOD),
        connection("attempt", at=9_120, client=LOST_FOR_GOOD),
        connection("lost", at=6_000, client=ELSEWHERE, broker="b"),  # at another broker: not caused by this fault
    ]
    sends = [
        send(1, due=4_980, settled=4_990),
        send(2, due=5_080, outcome="in_doubt"),
        send(2, attempt=2, due=5_080, sent=5_260, settled=5_280),
        send(3, due=5_180, sent=5_265, settled=5_290),
    ]
    receipts = [receipt(1, at=4_995), receipt(2, at=5_099), receipt(2, at=5_400), receipt(3, at=5_500)]
    its = outages_of(connections, sends, receipts, subscriptions=(subscription("orders", kind="queue"),))
    assert set(its) == {(1, PRODUCER), (1, CONSUMER), (1, LOST_FOR_GOOD)}
    producer, consumer, gone = its[1, PRODUCER], its[1, CONSUMER], its[1, LOST_FOR_GOOD]
    names = ("began", "last_success", "lost", "connected", "ready", "first_success")
    assert [ms(producer, name) for name in names] == [5_000, 4_990, 5_100, 5_250, 5_255, 5_280]
    assert [ms(consumer, name) for name in names] == [5_099, 5_099, 5_100, 5_300, 5_310, 5_400]
    assert [ms(gone, name) for name in names] == [5_000, None, 5_100, None, None, None]
    assert [row["attempts"] for row in (producer, consumer, gone)] == [2, 1, 2]
    assert [row["in_flight"] for row in (producer, consumer, gone)] == [1, 0, 0]
    assert [row["role"] for row in (producer, consumer, gone)] == ["producer", "consumer", ""]
    assert [row["to_broker"] for row in (producer, consumer, gone)] == ["b", "c", None]
    assert [row["due"] for row in (producer, consumer, gone)] == [2, 1, 0]  # 2 and 3; 3, as 2 had arrived; none


def test_due_messages_count_from_start_to_end_of_an_outage() -> None:
    """Each outage lasts from 5,000 to 5,400 ms. One producer and one consumer had no messages due in it."""
    clients = {1: "producer", 2: "producer", 7: "consumer", 8: "consumer", 9: "consumer"}
    changes = (("connected", 100, "a"), ("lost", 5_100, "a"), ("connected", 5_200, "b"))
    connections = [
        connection(event, at=at, client=client, broker=broker) for client in clients for event, at, broker in changes
    ]
    sends = [
        send(0, due=4_999, settled=5_000),
        send(1, due=5_000, outcome="in_doubt"),
        send(1, attempt=2, due=5_000, sent=5_395, settled=5_400),
        send(2, due=5_399, settled=5_401),
        send(3, due=5_400, settled=5_402),
        send(0, due=4_990, settled=5_000, producer=2),
        send(1, due=5_400, sent=5_400, settled=5_400, producer=2),
        send(4, due=5_350, settled=5_351, producer=3),
    ]
    receipts = [
        receipt(0, at=5_000, consumer=7),
        receipt(1, at=5_400, consumer=7),
        receipt(1, at=5_410, consumer=7, redelivered=True),
        receipt(2, at=5_405, consumer=7),
        receipt(3, at=5_405, consumer=7),
        receipt(0, at=5_000, consumer=8, producer=2),
        receipt(1, at=5_400, consumer=8, producer=2),
        receipt(4, at=4_999, consumer=9, producer=3),  # it receives nothing after the loss and is never ready again
    ]
    held = tuple(subscription("orders", kind="queue", consumer=consumer) for consumer in (7, 8, 9))
    its = outages_of(connections, sends, receipts, subscriptions=held)
    assert {user: row["due"] for (_, user), row in its.items()} == {1: 2, 2: 0, 7: 2, 8: 0, 9: None}


READY_AGAIN_MS = 5_310
OTHERS = 99
"""A consumer that no fault cuts off."""


@dataclass(frozen=True)
class Idle:
    """A consumer that a's kill cut off, and that received nothing after it was ready at b. ``due``: its owed messages.

    ``sent``: (seq, when, outcome); ``by_others``: which of them other consumers received; ``left_at``: brokers by seq.
    """

    because: str
    due: int
    sent: tuple[tuple[int, float, str], ...] = ()
    by_others: tuple[int, ...] = ()
    left_at: Mapping[int, str] = field(default_factory=dict)
    topic: bool = False
    color: str = ""


LATER, EARLIER, UNPROMISED = (1, 7_000.0, "acked"), (1, 3_000.0, "acked"), (1, 7_000.0, "unconfirmed")
IDLE = (
    Idle("other consumers took all messages of its queue", 0, (LATER, (2, 7_500.0, "acked")), by_others=(1, 2)),
    Idle("nothing was sent any more", 0),
    Idle("a message of its queue was lost", 1, (LATER, (2, 7_500.0, "acked")), by_others=(1,)),
    Idle("one is left at another broker", 1, (LATER,), left_at={1: "c"}),
    Idle("an earlier message is at its own broker", 1, (EARLIER,), left_at={1: "b"}),
    Idle("one from before lies at the dead broker", 0, (EARLIER,), left_at={1: "a"}),
    Idle("an unpromised message was not found", 0, (UNPROMISED,)),
    Idle("an unpromised message is at its broker", 1, (UNPROMISED,), left_at={1: "b"}),
    Idle("a message of its topic came to others only", 1, (LATER,), by_others=(1,), topic=True),
    Idle("its topic had none any more", 0, (EARLIER,), by_others=(1,), topic=True),
    Idle("an unpromised message of its topic only reached others", 1, (UNPROMISED,), by_others=(1,), topic=True),
    Idle("it selects red messages, and a blue one lies there", 0, (LATER,), left_at={1: "b"}, color="red"),
    Idle("it selects blue messages, and one lies there", 1, (LATER,), left_at={1: "b"}, color="blue"),
)
COLOURS = SentTo(MessageProperties.parse('{"color": ["red", "blue"]}'))


def test_a_consumer_that_is_ready_again_is_back_unless_a_message_was_due_to_it() -> None:
    """Each consumer has a separate destination and producer. The last one is never ready again."""
    connections, sends, receipts, subscriptions, leftovers = ([], [], [], [], [])  # type: tuple[list[Row], ...]
    for number, idle in enumerate(IDLE):
        consumer, producer, name = 100 + number, 200 + number, f"d{number}"
        where = {"destination": f"{'topic' if idle.topic else 'queue'}://{name}"}
        mine = {"subscription": "mine" if idle.topic else name}
        theirs = {"subscription": "theirs" if idle.topic else name}
        connections += [
            connection("connected", at=100, client=consumer),
            connection("lost", at=5_100, client=consumer),
            connection("connected", at=5_300, client=consumer, broker="b"),
            connection("ready", at=READY_AGAIN_MS, client=consumer, broker="b"),
        ]
        kind, selector = "topic" if idle.topic else "queue", f"color = '{idle.color}'" if idle.color else ""
        subscriptions.append({**subscription("", consumer=consumer, kind=kind, selector=selector), **where, **mine})
        if idle.topic:
            subscriptions.append({**subscription("", consumer=OTHERS, kind=kind), **where, **theirs})
        sends += [{**send(seq, due=at, outcome=outcome, producer=producer), **where} for seq, at, outcome in idle.sent]
        receipts += [
            {**receipt(seq, at=8_000, consumer=OTHERS, producer=producer), **where, **theirs} for seq in idle.by_others
        ]
        leftovers += [leftover(seq, queue=name, broker=at, producer=producer) for seq, at in idle.left_at.items()]
    connections += [connection("connected", at=100, client=300), connection("lost", at=5_100, client=300)]
    subscriptions.append(subscription("orders", consumer=300, kind="queue"))
    selectors = {row["destination"]: (row["selector"],) for row in subscriptions if row["selector"]}
    expectations = Expectations(
        dict.fromkeys(selectors, COLOURS),
        {
            (name, name.removeprefix("queue://") if name.startswith("queue://") else ""): (
                "color = 'red'",
                "color = 'blue'",
            )
            for name in selectors
        },
    )
    its = outages_of(
        connections, sends, receipts, subscriptions=tuple(subscriptions), leftovers=leftovers, expectations=expectations
    )
    due = {idle.because: its[1, 100 + number]["due"] for number, idle in enumerate(IDLE)}
    assert due == {idle.because: idle.due for idle in IDLE}
    back = {idle.because: back_ns(its[1, 100 + number]) for number, idle in enumerate(IDLE)}
    assert back == {idle.because: None if idle.due else READY_AGAIN_MS * MS for idle in IDLE}
    assert (its[1, 300]["due"], back_ns(its[1, 300])) == (None, None), "it was never ready again"


def test_users_that_share_a_lost_connection_have_an_outage_each() -> None:
    """Producers 1 and 2 share connection 5, with separate confirmations. Producer 3 has a separate connection."""
    connections = [
        connection("connected", at=100, client=5),
        connection("connected", at=100, client=3),
        connection("lost", at=5_100, client=5),
        connection("connected", at=5_200, client=5, broker="b"),
        connection("ready", at=5_210, client=5, broker="b"),
    ]
    sends = [
        send(1, due=5_010, settled=5_020),
        send(2, due=5_090, outcome="in_doubt"),
        send(2, attempt=2, due=5_090, sent=5_205, settled=5_230),
        send(1, due=5_040, settled=5_050, producer=2),
        send(2, due=5_900, settled=5_910, producer=2),
        send(1, due=5_040, settled=5_050, producer=3),
    ]
    its = outages_of(connections, sends, [], members=[member(1, 5), member(2, 5), member(3, 3), member(4, None)])
    assert set(its) == {(1, 1), (1, 2)}
    names = ("began", "lost", "connected", "ready", "first_success")
    assert [ms(its[1, 1], name) for name in names] == [5_020, 5_100, 5_200, 5_210, 5_230]
    assert [ms(its[1, 2], name) for name in names] == [5_050, 5_100, 5_200, 5_210, 5_910]
    assert [(row["client"], row["role"], row["in_flight"]) for row in its.values()] == [
        (5, "producer", int(user == 1)) for _, user in its
    ]


def test_a_send_that_the_clients_library_repeats_by_itself_was_in_flight_too() -> None:
    connections = [
        connection("connected", at=100),
        connection("lost", at=5_100),
        connection("connected", at=5_200, broker="b"),
    ]
    its = outages_of(connections, [send(1, due=5_090, settled=5_300)], [])
    assert its[1, 1]["in_flight"] == 1
    assert ms(its[1, 1], "first_success") == 5_300


def test_a_producer_whose_sends_nobody_confirms_is_back_when_it_writes_again() -> None:
    connections = [
        connection("connected", at=100),
        connection("lost", at=5_100),
        connection("connected", at=5_200, broker="b"),
    ]
    sends = [send(seq, due=at, sent=at, outcome="unconfirmed") for seq, at in enumerate((5_050, 5_250, 5_350))]
    (outage,) = outages_of(connections, sends, []).values()
    assert [ms(outage, name) for name in ("began", "first_success")] == [5_050, 5_250]
    assert outage["in_flight"] == 0, "it waits for no answer"


def test_a_loss_before_the_fault_or_after_its_grace_is_none_of_it() -> None:
    for at in (4_999, 9_001):
        assert outages_of([connection("connected", at=100), connection("lost", at=at)], [], []) == {}


TIMES = st.integers(0, 40)
BROKERS = st.sampled_from(["a", "b"])
SPANS = (
    FaultSpan(1, "kill", "a", 5 * MS, 14 * MS),
    FaultSpan(3, "freeze", "b", 10 * MS, 30 * MS),
    FaultSpan(4, "kill", "a", 15 * MS, FOREVER_NS),
)


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[Row], list[Row], list[Row], list[Row]]:
    """Random client histories, plausible or not, without simultaneous events of a client. Some have two users."""
    connections: list[Row] = []
    sends: list[Row] = []
    receipts: list[Row] = []
    members: list[Row] = []
    for client in range(1, draw(st.integers(2, 16))):
        for at in draw(st.lists(TIMES, unique=True, max_size=12)):
            event = draw(st.sampled_from(["attempt", "connected", "ready", "lost", "moved"]))
            connections.append(connection(event, at=at, client=client, broker=draw(BROKERS)))
        users = draw(st.sampled_from([(), (client,), (client, 100 + client), (100 + client, 200 + client)]))
        members += [member(user, client) for user in users]
        user = st.sampled_from((client, *users))
        for seq, at in enumerate(draw(st.lists(TIMES, max_size=8))):
            outcome = draw(st.sampled_from(["acked", "in_doubt", "failed", "unconfirmed"]))
            settled = at + 0.5 + draw(st.integers(0, 9))
            answered = settled if outcome in ("acked", "failed") else None
            sends.append(send(seq, due=at, settled=answered, outcome=outcome, producer=draw(user)))
        receipts += [receipt(seq, at=at + 0.25, consumer=draw(user)) for seq, at in enumerate(draw(st.lists(TIMES)))]
    return connections, sends, receipts, members


@settings(deadline=None)
@given(history=histories())
def test_outages_of_any_history_are_those_of_plain_python(
    history: tuple[list[Row], list[Row], list[Row], list[Row]],
) -> None:
    expected = outage_oracle.outages(*history, SPANS)
    outage_rows = outages_of(*history[:3], SPANS, members=history[3])
    assert {key: {name: row[name] for name in expected.get(key, row)} for key, row in outage_rows.items()} == expected


def fault_row(began: float, ended: float | None, *, target: str = "a", **columns: Any) -> dict[str, Any]:
    row = {"kind": "kill", "target": target, "began_ns": int(began * MS), "error": None}
    ended_ns = None if ended is None else int(ended * MS)
    return {**row, "ended_ns": ended_ns, "effective_ns": None, "restored_ns": None, **columns}


def test_a_faults_effects_end_before_the_next_fault_of_its_broker() -> None:
    """They end some time after mending, or when the next fault begins."""
    rows = [
        fault_row(7_000, 8_000),
        fault_row(1_000, 2_000, restored_ns=3_000 * MS),
        fault_row(2_500, None, target="b"),
        fault_row(20_000, 21_000, error="it had no effect within 10 s"),
        fault_row(30_000, 31_000, error="the load ended before the fault was over", effective_ns=30_001 * MS),
    ]
    spans = fault_spans(rows)
    assert [(span.number, span.target) for span in spans] == [(1, "a"), (2, "b"), (3, "a"), (5, "a")]
    ends = [7_000 * MS - 1, FOREVER_NS, 8_000 * MS + FAULT_GRACE_NS, 31_000 * MS + FAULT_GRACE_NS]
    assert [span.until_ns for span in spans] == ends
