"""Checks the backlog of links in each second: in their own queues, in queues that they read, and in bridges."""

from analysis.messages.order import overtaken, reordered, summarized
from analysis.network.resources import link_backlog
from tests.analysis.rows import LOAD_FROM_MS, QUEUE, TIMELINE, Row, frame, sample, table


def bridge(broker: str, at_s: float, to: str, **values: int) -> list[Row]:
    at = LOAD_FROM_MS + at_s * 1_000
    return [
        sample(metric, value, at=at, kind="bridge", broker=broker, object=f"{broker}-to-{to}|{to}")
        for metric, value in values.items()
    ]


def test_each_kind_of_link_tells_what_waits_for_it_in_every_second() -> None:
    samples = [
        *bridge("a", -0.5, "b", enqueue_count=17, dequeue_count=10, unconfirmed=0),  # 7 of 17 were advisories
        *bridge("a", 0.1, "b", enqueue_count=117, dequeue_count=30, unconfirmed=80),
        *bridge("a", 0.9, "b", enqueue_count=127, dequeue_count=60, unconfirmed=60),
        *bridge("a", 1.9, "b", enqueue_count=7, dequeue_count=2, unconfirmed=5),  # a new bridge, after a cut
        *bridge("a", 2.9, "b", enqueue_count=7, dequeue_count=8, unconfirmed=0),
        *bridge("c", 0.5, "d", enqueue_count=500, dequeue_count=100, backlog=412),  # 12 are from before the restart
        *bridge("e", 0.5, "f", dequeue_count=9, queue_backlog=33),
        *bridge("g", 0.5, "h", mirror_events=9, mirror_backlog=3),
        *bridge("i", 0.5, "j", received_count=9),
        sample("depth", 90, at=1_500, kind="queue", broker="a", object="orders"),
    ]
    rows = link_backlog(frame("samples", samples), TIMELINE).to_dicts()
    assert sorted(tuple(row.values()) for row in rows) == [
        (-1, "a", "b", "a-to-b", "bridge", 0),
        (0, "a", "b", "a-to-b", "bridge", 60),
        (0, "c", "d", "c-to-d", "link queue", 412),
        (0, "e", "f", "e-to-f", "queues", 33),
        (1, "a", "b", "a-to-b", "bridge", 5),
        (2, "a", "b", "a-to-b", "bridge", 0),
    ]


def test_messages_out_of_order_are_counted_for_each_producer() -> None:
    """Producer 1: 5 and 6 came before 2 and 4. Producer 2 kept its order. Producer 3 has two consumers."""
    came = [(1, seq, 7) for seq in (1, 5, 6, 2, 4, 7)] + [(2, seq, 7) for seq in (1, 2, 3)]
    came += [(3, 2, 7), (3, 1, 8), (3, 3, 8), (3, 2, 8)]
    deliveries = table(
        [
            (producer, seq, consumer, QUEUE, "orders", at, 1, "a", 0)
            for at, (producer, seq, consumer) in enumerate(came)
        ],
        "producer int, seq bigint, consumer int, destination string, subscription string, received_ns bigint, "
        "copy int, from_broker string, due_ns bigint",
    )
    rows = reordered(summarized(overtaken(deliveries))).iter_rows()
    assert sorted(rows) == [(QUEUE, "orders", 1, 2, 4), (QUEUE, "orders", 3, 1, 1)]
