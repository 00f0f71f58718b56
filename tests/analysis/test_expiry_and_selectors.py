"""Checks outcomes of messages that expire or that no selector matches: planted cases have exact results."""

from collections.abc import Mapping

import pyarrow as pa
import pytest

from analysis.messages.accounting import COUNTS, expired_counts, settled
from analysis.messages.expectations import Expectations, SentTo
from analysis.messages.outcomes import Search
from records.loads.message_properties import MessageProperties
from records.loads.selectors import parse
from records.run import Phases, RunInfo, UserInfo
from tests.analysis.rows import MS, QUEUE, TOPIC, Row, frame, leftover, receipt, sample, send, subscription
from tests.analysis.test_accounting import counted

COLOURS = MessageProperties.of({"color": ["red", "blue", "green"], "weight": [1, 2]})
LIVE = 1_000 * MS
ENDED = 9_000 * MS
OF_QUEUE, OF_TOPIC = (QUEUE, "orders"), (TOPIC, "")
MORTAL = Expectations({QUEUE: SentTo(time_to_live_ns=LIVE)}, ended_ns=ENDED)
LATE = 8_500  # ms: a message sent then was not expired at the end
DEAD = {"queue": "ActiveMQ.DLQ", "dead_letter": True}


def test_messages_past_their_time_to_live_are_told_apart_by_where_they_are() -> None:
    sends = [send(seq) for seq in range(7)] + [send(7, due=LATE), send(8, due=LATE), send(9, outcome="unconfirmed")]
    resent = [send(10, outcome="in_doubt"), send(10, attempt=2, due=2_000, sent=LATE)]
    receipts = [receipt(0), receipt(1, at=3_000), receipt(2, at=3_001)]
    leftovers = [leftover(3, expired=True, **DEAD), leftover(4, **DEAD), leftover(5), leftover(7)]
    of_queue = counted(sends + resent, receipts, leftovers=leftovers, expectations=MORTAL)[QUEUE, "orders"]
    assert of_queue == dict.fromkeys(COUNTS, 0) | {
        "sent": 11,
        "acked": 10,
        "unconfirmed": 1,
        "received": 3,
        "expired_yet_received": 1,  # 2: a millisecond too late; 1 arrived within its time to live
        "expired": 2,  # 3: a dead letter for that reason; 5: on a queue from which no consumer can get it
        "dead_lettered": 1,  # 4: for another reason
        "past_ttl": 1,  # 6
        "stranded": 1,  # 7: not expired at the end
        "lost": 2,  # 8 and the resend of 10: not expired, and not found
        "past_ttl_unconfirmed": 1,  # 9
    }


def test_nothing_expires_without_a_time_to_live_or_a_known_end() -> None:
    for never in (Expectations({QUEUE: SentTo()}, ended_ns=ENDED), Expectations(MORTAL.sent_to)):
        of_queue = counted([send(1)], [], expectations=never)[QUEUE, "orders"]
        assert (of_queue["lost"], of_queue["past_ttl"]) == (1, 0)


def row(**counts: int) -> dict[str, object]:
    return {"destination": QUEUE, "subscription": "orders", **dict.fromkeys(COUNTS, 0), **counts}


@pytest.mark.parametrize(
    ("accounted", "counted_by_brokers", "searched", "becomes"),
    [
        ({"past_ttl": 5}, {"orders": 5}, True, {"expired": 5}),
        ({"past_ttl": 5}, {"orders": 3}, True, {"expired": 3, "lost": 2}),
        ({"past_ttl": 5, "expired": 4}, {"orders": 9}, True, {"expired": 9}),
        ({"past_ttl": 5, "expired": 4}, {"orders": 4}, True, {"expired": 4, "lost": 5}),
        ({"past_ttl": 5}, {"orders": 0}, True, {"lost": 5}),
        ({"past_ttl": 5}, {"orders": 3}, False, {"expired": 3, "unaccounted": 2}),
        ({"past_ttl": 5}, {}, True, {"unaccounted": 5}),
        ({"past_ttl": 2, "past_ttl_unconfirmed": 2}, {"orders": 3}, True, {"expired": 3, "missing_unconfirmed": 1}),
    ],
)
def test_as_many_as_brokers_count_expired_and_further_ones_are_lost(
    accounted: Mapping[str, int], counted_by_brokers: Mapping[str, int], searched: bool, becomes: Mapping[str, int]
) -> None:
    table, doubts = settled(pa.Table.from_pylist([row(**accounted)]), counted_by_brokers, Search(searched))
    assert table.to_pylist() == [row(**becomes)]
    assert bool(doubts) is (not counted_by_brokers)


def test_messages_past_their_time_may_have_gone_to_other_clients() -> None:
    table, _ = settled(pa.Table.from_pylist([row(past_ttl=5)]), {"orders": 3}, Search(shared=("orders",)))
    assert table.to_pylist() == [row(expired=3, unaccounted=2)]


def test_a_subscription_named_like_a_queue_has_none_of_its_expired_messages() -> None:
    of_topic = row(past_ttl=5) | {"destination": TOPIC}
    table, doubts = settled(pa.Table.from_pylist([of_topic]), {"orders": 5})
    assert table.to_pylist() == [row(unaccounted=5) | {"destination": TOPIC}]
    assert doubts


def test_expired_messages_are_added_up_over_brokers_and_their_restarts() -> None:
    def counter_samples(broker: str, *values: int, queue: str = "orders") -> list[Row]:
        return [
            sample("expired_count", value, at=at, kind="queue", broker=broker, object=queue)
            for at, value in enumerate(values)
        ]

    samples = frame(
        "samples",
        [
            *counter_samples("a", 2, 2, 5),
            *counter_samples("b", 0, 4, 1, 1),
            *counter_samples("a", 0, 0, queue="others"),
            *counter_samples("b", 7)[:0],
        ],
    )
    assert expired_counts(samples, fresh=True) == {"orders": 5 + 4 + 1, "others": 0}
    assert expired_counts(samples, fresh=False) == {"orders": 3 + 4 + 1, "others": 0}


def test_a_queues_message_that_no_selector_matches_is_expected_to_stay() -> None:
    expectations = Expectations(
        {QUEUE: SentTo(COLOURS)}, {OF_QUEUE: {"color = 'red'", "color = 'blue' AND weight = 2"}}
    )
    held = [
        subscription("orders", kind="queue", consumer=7, selector="color = 'red'"),
        subscription("orders", kind="queue", consumer=8, selector="color = 'blue' AND weight = 2"),
    ]
    # 0 red 1 | 1 blue 2 | 2 green 1 | 3 red 2 | 4 blue 1 | 5 green 2
    receipts = [receipt(0, consumer=7), receipt(1, consumer=7)]
    of_queue = counted(
        [send(seq) for seq in range(6)],
        receipts,
        held,
        [leftover(2), leftover(3), leftover(4)],
        expectations=expectations,
    )[QUEUE, "orders"]
    assert of_queue == dict.fromkeys(COUNTS, 0) | {
        "sent": 6,
        "acked": 6,
        "received": 2,
        "unselected": 2,  # 2 and 4 are on a queue without a matching selector
        "stranded": 1,  # 3 is red
        "lost": 1,  # 5 was not found
        "unselected_yet_received": 1,  # 1 went to the consumer of red messages
    }


def test_a_queue_with_a_consumer_without_a_selector_strands_what_is_left() -> None:
    expectations = Expectations({QUEUE: SentTo(COLOURS)}, {OF_QUEUE: {"color = 'red'", ""}})
    of_queue = counted([send(1)], [], leftovers=[leftover(1)], expectations=expectations)[QUEUE, "orders"]
    assert (of_queue["stranded"], of_queue["unselected"]) == (1, 0)


def test_a_topics_subscription_is_owed_what_its_selector_matches_and_no_more() -> None:
    selectors = {"a": "color = 'red'", "b": "weight = 2", "c": ""}
    expectations = Expectations({TOPIC: SentTo(COLOURS)}, {OF_TOPIC: {*selectors.values()}})
    held = [
        subscription(name, consumer=number, selector=selector)
        for number, (name, selector) in enumerate(selectors.items())
    ]
    sends = [send(seq, destination=TOPIC) for seq in range(12)]
    counts = counted(sends, [], held, expectations=expectations)
    expected = {
        name: sum(not selector or parse(selector).matches(COLOURS.of_message(seq)) for seq in range(12))
        for name, selector in selectors.items()
    }
    assert expected == {"a": 4, "b": 6, "c": 12}
    assert {name: counts[TOPIC, name]["lost"] for name in selectors} == expected


def test_what_is_expected_is_read_from_the_settings_of_a_run() -> None:
    settings: dict[str, str | int | float | bool] = {"properties": str(COLOURS), "time_to_live_s": 1.5}
    users = (UserInfo("Selling", "producer", "producers", QUEUE, 1, settings),)
    info = RunInfo("r", "s", "t", "memory", "memory", users=users, phases=Phases(drain_ended_ns=5, browse_ended_ns=7))
    expectations = Expectations.from_run(info, [(*OF_QUEUE, ""), (*OF_QUEUE, "color = 'red'"), (*OF_TOPIC, "")])
    assert expectations == Expectations(
        {QUEUE: SentTo(COLOURS, 1_500_000_000)}, {OF_QUEUE: {"", "color = 'red'"}, OF_TOPIC: {""}}, ended_ns=7
    )
    assert (expectations.selects, expectations.expires) == (True, True)
