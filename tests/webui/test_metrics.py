"""Checks the names and labels of all metrics with a golden file, and the events of a run."""

from collections import Counter
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from drivers.users.session import Window
from harness.live.events import FAULT, PHASE, events_of
from harness.live.history import Moment
from harness.live.metrics import METRICS, metrics
from harness.run.snapshot import FaultState, Snapshot
from records.units import NS_PER_S
from tests.support.golden import REGENERATE
from tests.webui.snapshots import NOW_NS, readings, snapshot

GOLDEN = Path(__file__).parent / "golden" / "metrics.txt"
LAST = Moment(6.0, 120.0, 119.0, 1.5, 9.25, {"b1": 6})
FULL = snapshot(
    connected=Counter({("producers", "b1"): 6, ("consumers", "b2"): 3}),
    brokers={"b1": "up", "b2": "up", "b3": "frozen"},
    faults=(
        FaultState("freeze", "b3", 3.0, 4.0, "going on"),
        FaultState("freeze", "b3", 60.0, 5.0, "planned"),
        FaultState("cut", "b1-b2", 20.0, None, "planned"),
    ),
    readings=readings(
        ("b1", "queue", 'a "b"', "depth", 7),
        ("b2", "queue", "orders", "depth", 0),
        ("b1", "broker", "", "connections", 9),
        ("b1", "broker", "", "heap_used_bytes", 209715200),
        ("b1", "bridge", "b1-b2|b2", "dequeue_count", 5),
        ("b3", "queue", "orders", "depth", 4),
    ),
)


def test_names_and_labels_are_those_of_the_golden_file() -> None:
    """Dashboards of users depend on them."""
    text = metrics(FULL, LAST)
    if REGENERATE:
        GOLDEN.write_text(text, encoding="utf-8")
    assert text == GOLDEN.read_text(encoding="utf-8")


def test_the_golden_file_has_every_metric() -> None:
    families = text_string_to_metric_families(GOLDEN.read_text(encoding="utf-8"))
    named = [sample.name for family in families for sample in family.samples]
    assert [metric.name for metric in METRICS if metric.name not in named] == []


def phases(shown: Snapshot) -> dict[str, float]:
    """Return the seconds since the beginning of the run by phase."""
    events = [event for event in events_of(shown) if event.name == PHASE]
    return {str(e.attributes["brokerbench.phase.name"]): (e.at_ns - shown.began_ns) / NS_PER_S for e in events}


def test_each_phase_begins_where_its_predecessor_ends() -> None:
    assert phases(FULL) == {"up": 0, "prove": 6, "clients": 9, "warm-up": 12, "load": 17}


def test_a_load_without_a_warm_up_has_no_warm_up_phase() -> None:
    window = Window(NOW_NS - 7 * NS_PER_S, NOW_NS - 7 * NS_PER_S, None)
    assert phases(snapshot(window=window)) == {"up": 0, "prove": 6, "clients": 9, "load": 17}


@pytest.mark.parametrize("window", [None, Window(NOW_NS - NS_PER_S, NOW_NS + NS_PER_S, None)])
def test_the_load_is_no_event_before_it_begins(window: Window | None) -> None:
    assert "load" not in phases(snapshot(window=window))


def test_the_load_of_an_open_warm_up_is_unknown() -> None:
    """The time of its beginning is only the latest one that is possible."""
    assert "load" not in phases(snapshot(window=Window(NOW_NS - 9, NOW_NS - 1, None, is_open=True)))


def test_a_run_that_ends_early_has_no_later_phases() -> None:
    ends_ns = {"up": NOW_NS - 18 * NS_PER_S, "prove": NOW_NS - 15 * NS_PER_S}
    shown = snapshot(step_ends_ns=ends_ns, window=None, over=True, state="failed")
    assert phases(shown) == {"up": 0, "prove": 6, "end": 24}
    assert list(events_of(shown))[-1].attributes["brokerbench.run.state"] == "failed"


def test_a_fault_has_an_event_for_each_stage() -> None:
    stages_ns = {"began": NOW_NS - 3 * NS_PER_S, "effective": NOW_NS - 2 * NS_PER_S, "failed": NOW_NS}
    fault = FaultState("freeze", "b2", 4.0, 9.0, "failed: the load ended", stages_ns)
    events = [event for event in events_of(snapshot(faults=(fault, fault))) if event.name == FAULT]
    assert [event.text for event in events[:3]] == [
        "fault freeze of b2: began",
        "fault freeze of b2: effective",
        "fault freeze of b2: failed: the load ended",
    ]
    assert events[0].attributes == {
        "brokerbench.fault.kind": "freeze",
        "brokerbench.fault.target": "b2",
        "brokerbench.fault.stage": "began",
        "brokerbench.broker": "b2",
        "brokerbench.load_s": 4.0,
    }
    assert len({event.key for event in events}) == 6
