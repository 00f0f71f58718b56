"""Checks the page's charts of the last two minutes, and the figures for Prometheus."""

from collections import Counter
from typing import Any

import pytest

from drivers.users.session import Tally
from harness.live.history import KEPT_S, History, LiveFault, bands
from harness.live.metrics import metrics
from harness.run.snapshot import FaultState, Snapshot
from records.units import NS_PER_S
from tests.webui.snapshots import IN_THE_LOAD, NOW_NS, readings, snapshot

MS = 1_000_000
KILL = FaultState("kill", "b1", 10.0, 5.0, "going on")


def after(seconds: float, sent: int, received: int, **fields: Any) -> Snapshot:
    tally = Tally(sent=sent, received=received)
    return snapshot(now_ns=NOW_NS + round(seconds * NS_PER_S), tally=tally, **fields)


def test_rates_are_those_since_the_moment_before() -> None:
    history = History()
    history.note(after(0, 1_000, 900))
    assert not history.moments
    history.note(after(2, 1_240, 1_000, connected={("p", "b1"): 2, ("c", "b1"): 1}))
    (moment,) = history.moments
    assert (moment.load_s, moment.sent_per_s, moment.received_per_s) == (9.0, 120.0, 50.0)
    assert moment.connections == {"b1": 3, "b2": 0}
    assert (moment.p50_ms, moment.p99_ms) == (None, None)


def test_latencies_are_those_of_the_last_whole_second() -> None:
    later = after(2, 10, 10)
    later.tally.live.begin(0)
    for at_s, took_ms in ((5, 900), (6, 10), (6, 10), (6, 80), (7, 900)):
        later.tally.live.received(at_s * NS_PER_S, took_ms * MS)
    history = History()
    history.note(after(1, 10, 10))
    history.note(later)
    assert history.moments[0].p50_ms == pytest.approx(10, rel=0.01)
    assert history.moments[0].p99_ms == pytest.approx(80, rel=0.01)


def test_latency_ends_when_nothing_arrives() -> None:
    """The last value is not repeated after the load. Latency returns when messages arrive again."""
    history, tally = History(), Tally()
    tally.live.begin(0)

    def shown_at(at_s: float) -> float | None:
        history.note(snapshot(now_ns=NOW_NS + round(at_s * NS_PER_S), tally=tally))
        return history.moments[-1].p99_ms

    for at_s in (0, 1, 2):
        tally.live.received(at_s * NS_PER_S, 10 * MS)
        history.note(snapshot(now_ns=NOW_NS + at_s * NS_PER_S, tally=tally))
    assert shown_at(3.5) == pytest.approx(10, rel=0.01)
    assert [shown_at(at_s) for at_s in (4, 5, 60)] == [None, None, None]
    tally.live.received(61 * NS_PER_S, 10 * MS)
    tally.live.received(62 * NS_PER_S, 10 * MS)
    assert shown_at(62) == pytest.approx(10, rel=0.01)


def test_only_two_minutes_of_one_run_are_kept() -> None:
    history = History()
    for at_s in range(KEPT_S + 30):
        history.note(after(at_s, at_s, at_s))
    assert len(history.moments) == KEPT_S
    history.note(after(200, 5, 5, run_id="another"))
    assert not history.moments
    history.note(after(201, 9, 9, run_id="another", over=True))
    history.note(snapshot(window=None))
    history.note(None)
    assert not history.moments


def test_a_fault_that_has_begun_is_a_band_to_its_end() -> None:
    over, planned = FaultState("kill", "b2", 30.0, 5.0, "over"), FaultState("cut", "l", 50.0, None, "planned")
    assert bands((KILL, over, planned)) == [LiveFault("kill b1", 10.0, None), LiveFault("kill b2", 30.0, 35.0)]


def test_prometheus_reads_each_figure_with_its_labels() -> None:
    shown = snapshot(
        connected=Counter({("producers", "b1"): 6}),
        brokers={"b1": "up", "b2": "dead"},
        faults=(KILL, FaultState("kill", "b1", 60.0, 5.0, "planned")),
        readings=readings(("b1", "queue", 'a "b"', "depth", 7), ("b1", "broker", "", "connections", 9)),
    )
    lines = metrics(shown, None).splitlines()
    assert "# TYPE brokerbench_messages_sent_total counter" in lines
    assert {
        "brokerbench_running 1.0",
        'brokerbench_run_info{run_id="20261121-120000-steady-mesh-abcdef",runtime="processes",'
        'scenario="steady",topology="mesh"} 1.0',
        "brokerbench_messages_sent_total 1200.0",
        'brokerbench_broker_up{broker="b1"} 1.0',
        'brokerbench_broker_up{broker="b2"} 0.0',
        'brokerbench_clients_connected{broker="b1",group="producers"} 6.0',
        'brokerbench_fault_active{kind="kill",target="b1"} 1.0',
        'brokerbench_broker_connections{broker="b1"} 9.0',
        'brokerbench_queue_messages{broker="b1",queue="a \\"b\\""} 7.0',
    } <= set(lines)
    assert not [line for line in lines if "latency" in line]


@pytest.mark.parametrize("state", ["dead", "not running", "not serving", "frozen"])
def test_prometheus_has_no_figures_of_a_broker_that_does_not_serve(state: str) -> None:
    """Its last samples are kept, but they are out of date."""
    rows = [("broker", "", "connections", 9), ("broker", "", "heap_used_bytes", 7), ("queue", "orders", "depth", 3)]
    rows.append(("bridge", "a-b|b", "dequeue_count", 5))
    latest = readings(*((broker, *row) for broker in ("b1", "b2") for row in rows))
    lines = metrics(snapshot(brokers={"b1": "up", "b2": state}, readings=latest), None).splitlines()
    assert [line for line in lines if 'broker="b2"' in line] == ['brokerbench_broker_up{broker="b2"} 0.0']
    assert len([line for line in lines if 'broker="b1"' in line]) == 1 + len(rows)


def test_prometheus_has_no_figures_that_a_broker_told_long_ago() -> None:
    latest = readings(("b1", "broker", "", "connections", 9))
    for silent_s, count in ((2, 1), (4, 0)):
        shown = snapshot(readings=latest, now_ns=NOW_NS + silent_s * NS_PER_S)
        lines = metrics(shown, None).splitlines()
        assert len([line for line in lines if line.startswith("brokerbench_broker_connections{")]) == count


def test_prometheus_has_the_latency_of_a_run_that_goes_on_only() -> None:
    history = History()
    later = after(2, 10, 10)
    later.tally.live.begin(0)
    for at_s in (5, 6):
        later.tally.live.received(at_s * NS_PER_S, 10 * MS)
    for shown in (after(1, 10, 10), later):
        history.note(shown)
    line = 'brokerbench_latency_due_to_received_ms{quantile="0.99"} '
    assert line in metrics(IN_THE_LOAD, history.moments[-1])
    assert line not in metrics(snapshot(over=True), history.moments[-1])
    assert metrics(None, None).splitlines()[-1] == "brokerbench_running 0.0"
