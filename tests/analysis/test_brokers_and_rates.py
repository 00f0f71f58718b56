"""Checks the connections, rates, resources and bridge traffic that the analysis computes for each second."""

from dataclasses import replace

import polars as pl
import polars.selectors as cs
from polars.testing import assert_frame_equal

from analysis.load.rates import rates, totals
from analysis.load.topic import blocked
from analysis.messages.deliveries import deliveries, messages, outcomes, strangers
from analysis.network.resources import cores_in_load, links, resources
from analysis.network.topic import link_traffic
from records.run import LinkInfo
from tests.analysis.client_parts import connections_of
from tests.analysis.rows import MS, TIMELINE, connection, frame, receipt, sample, send, table


def test_connections_stand_until_they_end_and_seconds_without_events_are_told_too() -> None:
    events = [
        connection("attempt", at=900),
        connection("connected", at=1_000),
        connection("connected", at=1_500, client=2),
        connection("lost", at=3_100),
        connection("attempt", at=3_150, broker=None),
        connection("connected", at=3_200, broker="b"),
        connection("moved", at=3_200, broker="b"),
    ]
    counts = connections_of(frame("connections", events), TIMELINE)
    expected = [(at_s, "a", "producers", count) for at_s, count in zip(range(-1, 3), (0, 2, 2, 1), strict=True)]
    expected += [(at_s, "b", "producers", count) for at_s, count in zip(range(-1, 3), (0, 0, 0, 1), strict=True)]
    schema = "second int, broker string, group string, count bigint"
    same(counts, table(expected, schema))


def test_a_client_that_opens_the_better_connection_first_ends_with_that_one() -> None:
    events = [
        connection("connected", at=1_000, broker="a"),
        connection("connected", at=2_000, broker="b"),
        connection("closed", at=2_100, broker="a"),
    ]
    counts = connections_of(frame("connections", events), TIMELINE).filter(pl.col("second") == 1).to_dicts()
    assert {row["broker"]: row["count"] for row in counts} == {"a": 0, "b": 1}


def test_without_connection_events_there_are_no_rows() -> None:
    assert connections_of(frame("connections", []), TIMELINE).to_dicts() == []


def test_a_blocked_period_lasts_from_blocked_to_unblocked() -> None:
    of_producer_1, of_producer_2 = "producer 1: no answer", "producer 2: no answer"
    events = [
        connection("connected", at=900),
        connection("blocked", at=1_000, reason=of_producer_1),
        connection("unblocked", at=3_000, reason=of_producer_1),
        connection("blocked", at=3_000, reason=of_producer_1),
        connection("unblocked", at=7_500, reason=of_producer_1),
        connection("blocked", at=2_000, reason=of_producer_2),  # another producer on the same connection
        connection("unblocked", at=4_000, reason=of_producer_2),
        connection("blocked", at=2_000, broker="b", client=9, reason=of_producer_1),
        connection("unblocked", at=3_500, broker="b", client=9, reason=of_producer_1),
        connection("lost", at=8_000),
    ]
    its = blocked(frame("connections", events))
    assert its == {"periods": 4, "total_ms": 10_000, "longest_ms": 4_500, "brokers": ["a", "b"]}


def test_brokers_that_took_everything_blocked_nobody() -> None:
    its = blocked(frame("connections", [connection("connected", at=1)]))
    assert its == {"periods": 0, "total_ms": 0, "longest_ms": 0, "brokers": []}


def test_rates_count_events_in_their_own_second_and_the_phase_of_the_due_time() -> None:
    sends = frame("sends", [send(1, due=999, sent=1_000, settled=2_000), send(2, due=1_500, outcome="unconfirmed")])
    others = [receipt(0, at=2_300, integrity="unreadable"), receipt(0, at=2_300, integrity="foreign")]
    receipts = frame("receipts", [receipt(1, at=2_100), receipt(1, at=2_200), *others])
    sent = messages(sends)
    counts = rates(sends, sent, deliveries(receipts, sent, sends), strangers(receipts), TIMELINE)
    expected = [
        (-1, "warm-up", "due", "a", 1),
        (0, "load", "due", "a", 1),
        (0, "warm-up", "sent", "a", 1),
        (0, "load", "sent", "a", 1),
        (1, "warm-up", "acked", "a", 1),
        (1, "warm-up", "received", "b", 2),
        (1, "load", "received", "b", 1),
    ]
    schema = "second int, phase string, event string, broker string, count bigint"
    same(counts, table(expected, schema))


def test_totals_of_the_load_take_each_event_by_its_own_time_and_each_message_once() -> None:
    sends = [
        send(1, due=999, sent=1_001, outcome="in_doubt", blocked=True),
        send(1, attempt=2, due=999, sent=1_002),
        send(2, due=10_999, sent=10_999, settled=11_000, blocked=True),
    ]
    attempts = frame("sends", sends)
    sent = messages(attempts)
    receipts = frame("receipts", [receipt(1, at=1_003), receipt(1, at=1_004), receipt(2, at=11_002)])
    arrived = deliveries(receipts, sent, attempts)
    (row,) = totals(sent, arrived, TIMELINE).to_dicts()
    assert row == {"due": 1, "sent": 2, "acked": 1, "received": 1, "blocked_slots": 1}
    assert dict(outcomes(sent).iter_rows()) == {"acked": 2}


def test_gauges_show_last_values_and_counters_show_growth() -> None:
    """A broker that is away has neither."""
    samples = [
        sample("rss_bytes", 10, at=1_100),
        sample("rss_bytes", 20, at=1_900),
        sample("cpu_ns", 100, at=1_100),
        sample("cpu_ns", 150, at=2_100),
        sample("cpu_ns", 30, at=3_100),  # the process was restarted
        sample("cpu_ns", 41, at=6_100),  # two seconds without a sample
        sample("cpu_ns", 90, at=2_100, broker="b"),
        sample("cpu_ns", 80, at=8_100, broker="b"),  # it was away, and was restarted
        sample("cpu_ns", 86, at=9_100, broker="b"),
    ]
    rows = resources(frame("samples", samples), TIMELINE).to_dicts()
    values = {(row["second"], row["metric"], row["value"]) for row in rows if row["broker"] == "a"}
    in_the_gap = {(3, "cpu_ns", 3), (4, "cpu_ns", 3), (5, "cpu_ns", 5)}
    assert values == {(0, "rss_bytes", 20), (1, "cpu_ns", 50), (2, "cpu_ns", 30)} | in_the_gap
    of_b = {(row["second"], row["value"]) for row in rows if row["broker"] == "b"}
    assert of_b == {(7, 80), (8, 6)}, "nothing while it was away"


def test_cpu_counts_within_the_load_separately_for_brokers_and_generator() -> None:
    samples = [
        sample("cpu_ns", 0, at=500),
        sample("cpu_ns", 20, at=1_500),  # half of it before the load
        sample("cpu_ns", 50, at=10_500),
        sample("cpu_ns", 70, at=11_500),  # half of it after the load
        sample("cpu_ns", 1, at=2_000, broker="b"),  # from its first to its last second
        sample("cpu_ns", 81, at=10_000, broker="b"),
        sample("cpu_ns", 0, at=5_000, broker="c"),  # it was killed in the middle of the load
        sample("cpu_ns", 7, at=6_000, broker="c"),
        sample("core_wait_ns", 100, at=1_000),
        sample("core_wait_ns", 190, at=11_000),
    ]
    cores = cores_in_load(frame("samples", samples), TIMELINE)
    assert cores["cpu_ns"] == {"brokers_ns": 10 + 30 + 10 + 100 + 7, "generator_ns": None}
    assert cores["core_wait_ns"]["brokers_ns"] == 90


def bridge(broker: str, metric: str, value: int, at: float, remote: str) -> dict[str, object]:
    return sample(metric, value, at=at, kind="bridge", broker=broker, object=f"mesh-link|{remote}")


def test_a_bridge_carried_what_it_forwarded_between_its_first_and_last_sample() -> None:
    samples = [bridge("a", "dequeue_count", value, value * MS, "b") for value in (3, 5, 9)]
    same(carried(samples), expected_links([("a", "b", "mesh-link", 6)]))


def test_a_bridge_that_came_up_after_the_first_sample_of_its_broker_began_at_0() -> None:
    """The broker ``b`` already ran, with its bridge, when the samples began."""
    began = [sample("connections", 0, at=MS, kind="broker", broker=broker, object="") for broker in ("a", "b")]
    counted = [("a", 4, 2), ("a", 6, 3), ("b", 4, 1), ("b", 6, 2)]
    samples = [bridge(broker, "dequeue_count", value, at * MS, "z") for broker, value, at in counted]
    same(carried([*began, *samples]), expected_links([("a", "z", "mesh-link", 6), ("b", "z", "mesh-link", 2)]))


def test_the_far_bridge_or_else_the_near_one_counts_returned_messages() -> None:
    """Both bridges of a duplex link can count the messages that it brought back."""
    samples = [
        bridge("a", "received_count", 0, 1, "b"),
        bridge("a", "received_count", 7, 2, "b"),
        bridge("a", "received_count", 0, 1, "c"),
        bridge("a", "received_count", 4, 2, "c"),
        bridge("c", "dequeue_count", 0, 1, "a"),
        bridge("c", "dequeue_count", 5, 2, "a"),
    ]
    expected = [("b", "a", "mesh-link", 7), ("c", "a", "mesh-link", 5)]
    same(carried(samples), expected_links(expected))


def test_of_parallel_duplex_links_each_opener_tells_what_its_own_link_brought_back() -> None:
    """The far ends are called #0 and #1, and it is unknown which link each belongs to."""
    grown = [
        ("a", "left", "dequeue_count", 2),
        ("a", "left", "received_count", 7),
        ("a", "right", "dequeue_count", 3),
        ("a", "right", "received_count", 0),
        ("b", "#0", "dequeue_count", 0),
        ("b", "#1", "dequeue_count", 7),
    ]
    samples = [
        sample(
            metric, value * end, at=end * MS, kind="bridge", broker=here, object=f"{link}|{'b' if here == 'a' else 'a'}"
        )
        for here, link, metric, value in grown
        for end in (0, 1)
    ]
    expected = [("a", "b", "left", 2), ("a", "b", "right", 3), ("b", "a", "left", 7), ("b", "a", "right", 0)]
    same(carried(samples), expected_links(expected))


def test_a_far_end_without_a_name_tells_what_came_back_if_its_opener_was_not_sampled() -> None:
    samples = [
        sample("dequeue_count", 9 * end, at=end * MS, kind="bridge", broker="b", object="#0|a") for end in (0, 1)
    ]
    same(carried(samples), expected_links([("b", "a", "#0", 9)]))


def test_what_a_link_carried_after_the_load_is_not_in_the_load() -> None:
    """The load lasts from 1 to 11 s. Two of three bridges have samples for only a part of it."""
    counts = {"a": {500: 0, 1_500: 10, 10_500: 100, 11_500: 120, 30_000: 400}, "b": {1_500: 5, 10_500: 95}, "c": {0: 7}}
    samples = [
        bridge(broker, "dequeue_count", value, at_ms, "z")
        for broker, of_broker in counts.items()
        for at_ms, value in of_broker.items()
    ]
    measured = {row["from_broker"]: row for row in links(frame("samples", samples), TIMELINE).to_dicts()}
    assert (measured["a"]["forwarded"], measured["a"]["forwarded_in_load"]) == (400, 5 + 90 + 10)
    assert (measured["b"]["forwarded"], measured["b"]["forwarded_in_load"]) == (90, 100), "its mean in the rest"
    assert measured["c"]["forwarded_in_load"] is None


def test_advisories_are_counted_at_the_receiving_end_of_a_link() -> None:
    """They go back to the sender. Without their counter, as for Artemis, they are unknown."""
    counts = [
        *(("a", "b", "dequeue_count", value) for value in (0, 400)),
        *(("b", "a", "advisory_count", value) for value in (3, 23)),
        *(("c", "d", "dequeue_count", value) for value in (0, 50)),
        *(("a", "b", "received_count", value) for value in (0, 0)),
        *(("b", "d", "advisory_count", value) for value in (0, 9)),
    ]
    samples = [
        bridge(here, metric, value, (1_000, 11_000)[at % 2], remote)
        for at, (here, remote, metric, value) in enumerate(counts)
    ]
    traffic = links(frame("samples", samples), TIMELINE).sort("from_broker")
    assert traffic["forwarded"].to_list() == [400, 0, 50]
    assert traffic["advisories"].to_list() == [20, None, None]
    assert traffic["advisories_in_load"].to_list() == [20, None, None]
    there, further = LinkInfo("a-to-b", "a", "b", duplex=False), LinkInfo("c-to-d", "c", "d", duplex=False)
    whole = {"messages_per_s": 45.0, "advisories_per_s": None, "advisories": None}
    assert link_traffic(traffic, (there, further), load_s=10) == whole
    assert link_traffic(traffic, (replace(there, duplex=True),), load_s=10) == whole
    known = {"messages_per_s": 40.0, "advisories_per_s": 2.0, "advisories": 20}
    assert link_traffic(traffic[:2], (there,), load_s=10) == known
    assert {*link_traffic(traffic[:0], (), load_s=10).values()} == {None}


def test_what_a_bridge_carried_before_its_first_sample_in_the_load_is_in_the_load() -> None:
    """The load lasts from 1 to 11 s. The bridge came up between the samples of its broker at 4 and at 6 s."""
    of_broker = [sample("connections", 0, at=at_ms, kind="broker", object="") for at_ms in (2_000, 4_000, 6_000)]
    samples = [
        *of_broker,
        bridge("a", "dequeue_count", 4_000, 6_000, "z"),
        bridge("a", "dequeue_count", 4_100, 9_000, "z"),
    ]
    (row,) = links(frame("samples", samples), TIMELINE).to_dicts()
    assert row["forwarded"] == 4_100
    assert row["forwarded_in_load"] >= 4_100


def test_of_two_opposite_one_way_links_each_has_its_own_traffic() -> None:
    """Each bridge also counts what it received: nothing, and no advisories."""
    counts = {("a", "b", "dequeue_count"): 9, ("b", "a", "dequeue_count"): 5, ("a", "b", "advisory_count"): 2}
    counts |= {("b", "a", "advisory_count"): 3, ("a", "b", "received_count"): 0, ("b", "a", "received_count"): 0}
    samples = [
        sample(metric, value * end, at=1_000 + 10_000 * end, kind="bridge", broker=here, object=f"{connector}|{remote}")
        for (here, remote, metric), value in counts.items()
        for end in (0, 1)
        for connector in [f"{remote}-to-{here}" if metric == "advisory_count" else f"{here}-to-{remote}"]
    ]
    both = LinkInfo("a-to-b", "a", "b", duplex=False), LinkInfo("b-to-a", "b", "a", duplex=False)
    traffic = links(frame("samples", samples), TIMELINE)
    assert link_traffic(traffic, both, load_s=10) == {
        **{"messages_per_s": 1.4, "advisories_per_s": 0.5, "advisories": 5}
    }


def test_the_traffic_of_all_links_is_unknown_if_a_direction_was_not_sampled() -> None:
    samples = [bridge("a", "dequeue_count", 9 * end, 1_000 + 10_000 * end, "b") for end in (0, 1)]
    both = LinkInfo("mesh-link", "a", "b", duplex=False), LinkInfo("b-to-a", "b", "a", duplex=False)
    traffic = links(frame("samples", samples), TIMELINE)
    assert link_traffic(traffic, both[:1], load_s=9)["messages_per_s"] == 1
    assert link_traffic(traffic, both, load_s=9)["messages_per_s"] is None


def carried(samples: list[dict[str, object]]) -> pl.DataFrame:
    """Return links with their traffic in the whole run."""
    return links(frame("samples", samples), TIMELINE).select("from_broker", "to_broker", "connector", "forwarded")


def expected_links(rows: list[tuple[str, str, str, int]]) -> pl.DataFrame:
    return table(rows, "from_broker string, to_broker string, connector string, forwarded bigint")


def same(frame_1: pl.DataFrame, frame_2: pl.DataFrame) -> None:
    """Compare rows in any order."""
    texts = frame_1.with_columns(cs.enum().cast(pl.String))
    assert_frame_equal(texts, frame_2, check_row_order=False, check_column_order=False)
