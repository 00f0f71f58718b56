"""Checks that the web UI's tab shows exactly the known facts of a run."""

import re
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drivers.users.session import Window
from harness.live.view import STEPS, UNKNOWN, TextTable, lag, phase, summary_rows, view
from harness.run.snapshot import FaultState, Snapshot
from records.figures.buckets import bucket_of
from records.units import NS_PER_S
from tests.house.tree import ROOT
from tests.webui.snapshots import MIB, MS, NOW_NS, readings, snapshot


def table(shown: Snapshot, title: str) -> TextTable:
    return next(text_table for text_table in view(shown).tables if text_table.title == title)


def test_before_the_first_run_the_tab_says_how_to_start_one() -> None:
    shown = view(None)
    assert shown.lines == (("Phase", "no run yet: start one in Locust's form"),)
    assert (shown.running, shown.tables, shown.trouble) == (False, (), ())


def test_why_a_start_was_refused_is_shown_with_and_without_a_run() -> None:
    assert view(None, "--rate x: must be a number").trouble == ("--rate x: must be a number",)
    assert view(snapshot(problems=("disk full",)), "refused").trouble == ("disk full", "refused")


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        ((), "brokers come up, 12 s"),
        (("up",), "links and paths are proven, 12 s"),
        (("up", "prove"), "clients connect, 12 s"),
        (("up", "prove", "clients", "load"), "consumers drain, 12 s"),
        (("up", "prove", "clients", "load", "drain"), "queues are browsed, 12 s"),
        (("up", "prove", "clients", "load", "drain", "browse"), "brokers go down, 12 s"),
        (("up", "prove", "clients", "load", "drain", "browse", "down"), "analysis, 12 s"),
        (("up", "prove", "clients", "load", "drain", "browse", "down", "analysis"), "report, 12 s"),
        (("up", "a step of tomorrow"), "after a step of tomorrow, 12 s"),
    ],
)
def test_the_phase_is_what_follows_the_last_step_behind_the_run(steps: tuple[str, ...], words: str) -> None:
    assert phase(snapshot(step_ends_ns=dict.fromkeys(steps, NOW_NS))) == words


def test_warm_up_and_load_are_told_on_the_loads_clock() -> None:
    assert phase(snapshot()) == "load, 7 s of 30 s"
    assert phase(snapshot(load_s=None)) == "load, 7 s"
    assert phase(snapshot(load_s=60.0, load_bound="about ")) == "load, 7 s of about 60 s"
    ahead = Window(NOW_NS, NOW_NS + 3 * NS_PER_S, None)
    assert phase(snapshot(window=ahead)) == "warm-up, 3 s to go"
    assert phase(snapshot(window=replace(ahead, is_open=True))) == "warm-up, at most 3 s to go"


@pytest.mark.parametrize(
    ("state", "words"),
    [("ended", "ended"), ("interrupted", "interrupted"), ("failed", "failed before the load")],
)
def test_a_run_that_is_over_says_how_it_ended(state: str, words: str) -> None:
    over = snapshot(over=True, state=state)
    assert phase(over) == words
    assert not view(over).running


def test_lag_is_its_p99_and_its_worst() -> None:
    counts = Counter({bucket_of(MS): 99, bucket_of(50 * MS): 1})
    assert lag(counts) == "p99 1.0 ms, worst 50.1 ms"
    assert lag({}) == UNKNOWN


@given(st.dictionaries(st.integers(0, 10**10).map(bucket_of), st.integers(1, 1000), min_size=1))
def test_p99_of_the_lag_is_that_of_all_values_sorted(counts: dict[int, int]) -> None:
    everything = sorted(Counter(counts).elements())
    only_p99 = {everything[-(-len(everything) * 99 // 100) - 1]: 1}
    assert lag(counts).split(",")[0] == lag(only_p99).split(",")[0]


def test_a_broker_is_shown_with_heap_cpu_connections_and_what_waits() -> None:
    latest = readings(
        ("b1", "broker", "", "heap_used_bytes", 100 * MIB),
        ("b1", "broker", "", "heap_max_bytes", 512 * MIB),
        ("b1", "broker", "", "connections", 9),
        ("b1", "queue", "orders", "depth", 1_000),
        ("b1", "queue", "ActiveMQ.DLQ", "depth", 2),
        ("b1", "process", "", "cpu_ns", 5 * NS_PER_S),
        then={("b1", "process", "", "cpu_ns"): 4 * NS_PER_S},
    )
    assert table(snapshot(readings=latest), "Brokers").rows == (
        ("b1", "up", "100 of 512 MiB", "0.50 cores", "9", "1,002"),
        ("b2", "up", *[UNKNOWN] * 4),
    )


@pytest.mark.parametrize("state", ["dead", "not running", "not serving"])
def test_a_broker_that_does_not_serve_keeps_no_old_figures(state: str) -> None:
    figures = [("broker", "", "connections", 9), ("broker", "", "heap_used_bytes", MIB), ("process", "", "cpu_ns", 9)]
    figures += [("queue", "orders", "depth", 3), ("bridge", "b1-b2|b2", "dequeue_count", 4)]
    gone = snapshot(readings=readings(*(("b1", *figure) for figure in figures)), brokers={"b1": state})
    assert table(gone, "Brokers").rows == (("b1", state, *[UNKNOWN] * 4),)
    assert table(gone, "Bridges").rows == ()


@pytest.mark.parametrize("figure", [("broker", "", "heap_used_bytes"), ("queue", "orders", "depth")])
def test_a_broker_that_does_not_answer_says_for_how_long(figure: tuple[str, str, str]) -> None:
    """A product may show no heap."""
    latest = readings(("b1", *figure, MIB), ("b2", "process", "", "cpu_ns", 1))
    later = snapshot(readings=latest, brokers={"b1": "frozen"}, now_ns=NOW_NS + 5 * NS_PER_S)
    assert table(later, "Brokers").rows[0][1] == "frozen, silent for 5 s"
    of_process = snapshot(readings=latest, brokers={"b2": "frozen"}, now_ns=NOW_NS + 5 * NS_PER_S)
    assert table(of_process, "Brokers").rows[0][1] == "frozen"


def test_a_restarted_broker_has_used_no_negative_cpu() -> None:
    latest = readings(("b1", "process", "", "cpu_ns", 0), then={("b1", "process", "", "cpu_ns"): 9 * NS_PER_S})
    assert table(snapshot(readings=latest), "Brokers").rows[0][3] == "0.00 cores"


def test_each_direction_of_a_bridge_has_its_messages_and_their_rate() -> None:
    latest = readings(
        ("b1", "bridge", "b1-b2|b2", "dequeue_count", 1_500),
        ("b2", "bridge", "b1-b2|b1", "dequeue_count", 7),
        then={("b1", "bridge", "b1-b2|b2", "dequeue_count"): 1_400},
    )
    assert table(snapshot(readings=latest), "Bridges").rows == (
        ("b1-b2", "b1", "b2", "1,500", "50"),
        ("b1-b2", "b2", "b1", "7", UNKNOWN),
    )


def test_clients_are_counted_by_group_and_broker() -> None:
    shown = table(
        snapshot(connected={("producers", "b1"): 4, ("producers", "b2"): 2, ("consumers", "b2"): 2}),
        "Clients connected",
    )
    assert shown.head == ("Group", "b1", "b2")
    assert shown.rows == (("consumers", "0", "2"), ("producers", "4", "2"))


def test_faults_are_shown_with_their_place_on_the_loads_clock_and_their_state() -> None:
    faults = (FaultState("freeze", "b1", 10, 3.5, "going on"),)
    assert table(snapshot(faults=faults), "Faults").rows == (("freeze", "b1", "10 s", "3.5 s", "going on"),)


def test_a_fault_without_an_end_lasts_for_the_rest_of_the_load() -> None:
    faults = (FaultState("kill", "b1", 10.0, None, "planned"),)
    assert table(snapshot(faults=faults), "Faults").rows[0][3] == "the rest of the load"


def test_locusts_own_tab_has_the_lines_and_the_trouble() -> None:
    rows = summary_rows(view(snapshot(problems=("disk full",))))
    assert rows[0] == {"what": "Phase", "now": "load, 7 s of 30 s"}
    assert {"what": "Messages", "now": "1,200 sent, 1,180 received"} in rows
    assert rows[-1] == {"what": "Trouble", "now": "disk full"}


def test_every_step_of_a_run_has_its_words() -> None:
    run = ROOT / "harness" / "run"
    texts = [(run / name).read_text(encoding="utf-8") for name in ("controller.py", "load.py")]
    steps = re.findall(r'run_record\.ended\("(\w+)"\)', "".join(texts))
    assert steps
    assert set(STEPS) == {"", *steps}
