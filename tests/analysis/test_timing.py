"""Checks which latency figures are marked doubtful, and the given reason."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.latency.timing import (
    FIGURES,
    FROM_A_BACKLOG,
    FROM_DUE,
    WORDS,
    Clocks,
    doubtful_recovery,
    doubtful_regions,
    judge_timing,
    metric,
)
from records.figures.faults import Outages, OutageSpread
from records.figures.latency import Latency, Regions, Timing, differs, tolerance_ms
from records.figures.summary import FIGURES as ALL_FIGURES

NO_CLOCKS = Clocks()
milliseconds = st.floats(-1e6, 1e6)
figures = st.one_of(st.none(), milliseconds)


def latency(**changed: Any) -> Latency:
    """All figures that are not given are 5 ms."""
    return Latency(count=1_000, negative=0, **(dict.fromkeys(FIGURES, 5.0) | changed))


latencies = st.fixed_dictionaries(dict.fromkeys(FIGURES, figures)).map(lambda changed: latency(**changed))


def judged(less_own: Latency, clocks: Clocks = NO_CLOCKS, **measures: Latency) -> Timing:
    """``less_own``: figures from due to received."""
    return judge_timing({**dict.fromkeys(WORDS, latency()), **measures}, {FROM_DUE: less_own}, clocks)


@pytest.mark.parametrize(
    ("value_ms", "other_ms", "apart"),
    [
        (1.0, 0.81, False),  # below 2 ms, the limit is 0.2 ms
        (1.0, 0.79, True),
        (100.0, 90.1, False),
        (100.0, 89.9, True),
        (0.0, 0.2, False),
        (-100.0, -89.9, True),
    ],
)
def test_figures_differ_by_more_than_a_tenth_and_more_than_0_2_ms(
    value_ms: float, other_ms: float, apart: bool
) -> None:
    assert differs(value_ms, other_ms) == apart


def test_without_own_delay_and_on_one_clock_every_figure_is_sound() -> None:
    timing = judged(latency())
    assert (timing["doubtful"], timing["note"]) == ({}, "")
    assert timing["sound"] == [metric(measure, figure) for measure in WORDS for figure in FIGURES]


def test_a_late_generator_makes_the_figures_doubtful_that_it_changes_and_is_named() -> None:
    timing = judged(latency(), due_to_received=latency(p99_9=131.0, p99_99=150.0, max=155.0))
    assert timing["doubtful"] == {
        f"latency_ms.due_to_received.{figure}": (
            f"the load generator itself was late: most of {title}, {value} ms, is its own delay, "
            "and the brokers' part is unknown"
        )
        for figure, title, value in (("p99_9", "p99.9", 131), ("p99_99", "p99.99", 150), ("max", "max", 155))
    }
    assert timing["note"] == (
        "Do not rely on these latencies: due → received p99.9, p99.99 and max (the load generator itself was late, "
        "and most of p99.9, 131 ms, is its own delay, and the brokers' part is unknown)."
    )


def test_a_generator_that_reads_late_makes_the_figures_from_sent_doubtful_too() -> None:
    measured = {"sent_to_received": latency(max=155.0), "sent_to_settled": latency(max=20.0)}
    less_own = {"sent_to_received": latency(max=6.0), "sent_to_settled": latency(max=19.0)}
    timing = judge_timing({FROM_DUE: latency(), **measured}, less_own, NO_CLOCKS)
    assert timing["doubtful"] == {
        "latency_ms.sent_to_received.max": (
            "the load generator itself was late: most of max, 155 ms, is its own delay, "
            "and the brokers' part is unknown"
        )
    }
    assert timing["note"].startswith("Do not rely on these latencies: sent → received max (the load generator itself")


def test_the_example_is_the_median_rather_than_the_smallest() -> None:
    timing = judged(latency(), due_to_received=latency(min=9.0, p50=8.0))
    assert timing["note"] == (
        "Do not rely on these latencies: due → received min and p50 (the load generator itself was late, "
        "and without its own delay p50 would be 5 ms instead of 8 ms)."
    )


def test_clock_errors_above_a_tenth_make_figures_doubtful() -> None:
    """Only figures between processes are doubtful."""
    timing = judged(latency(), Clocks(error_bound_ms=1.0), sent_to_received=latency(max=11.0))
    between = {metric(measure, figure) for measure in ("due_to_received", "sent_to_received") for figure in FIGURES}
    assert set(timing["doubtful"]) == between - {"latency_ms.sent_to_received.max"}
    assert set(timing["doubtful"].values()) == {"the clocks of the processes may differ by 1 ms"}
    assert timing["note"].count(". ") == 0, "one sentence"
    assert timing["note"].startswith("Do not rely on these latencies: due → received min, p50,")


def test_impossible_durations_make_all_dependent_figures_doubtful() -> None:
    """No clock error explains them."""
    timing = judged(latency(), Clocks(0.5, {"sent_to_received": 3}))
    assert {name.split(".")[1] for name in timing["doubtful"]} == {"due_to_received", "sent_to_received"}
    assert "the clocks disagree: 3 durations are negative beyond their error bound of 0.5 ms" in timing["note"]
    assert len(timing["doubtful"]) == 2 * len(FIGURES)


def test_a_clock_that_moved_is_a_reason_in_its_own_words() -> None:
    timing = judged(latency(), Clocks(doubts=("worker w: its clock moved",)))
    assert timing["doubtful"]["latency_ms.sent_to_received.p50"] == "worker w: its clock moved"
    assert metric("sent_to_settled", "p50") in timing["sound"]


NOT_HELD = "the offered rate was not held, and the machine was the limit"


def test_a_backlog_not_caused_by_brokers_makes_its_measure_doubtful() -> None:
    measured = dict.fromkeys(WORDS, latency(p99_99=None))
    timing = judge_timing(measured, {}, NO_CLOCKS, {FROM_DUE: NOT_HELD})
    changed = [figure for figure in FIGURES if figure != "p99_99"]
    assert timing["doubtful"] == {metric(FROM_DUE, figure): NOT_HELD for figure in changed}
    assert {name.split(".")[1] for name in timing["sound"]} == set(WORDS) - {FROM_DUE}
    assert timing["note"] == (
        f"Do not rely on these latencies: due → received min, p50, p90, p99, p99.9 and max ({NOT_HELD})."
    )


def test_outages_and_recovery_times_are_doubtful_but_message_counts_are_not() -> None:
    spread = OutageSpread(p50=None, max=7.0)
    changed: Any = dict.fromkeys(("outage_ms", "producers_outage_ms", "consumers_outage_ms", "reconnect_ms"), spread)
    changed |= dict.fromkeys(("late", "throughput_back_s", "backlog_highest", "lost", "duplicated"), 3)
    changed |= dict.fromkeys(("p99_back_s", "backlog_drained_s", "drain_per_s"))
    assert doubtful_recovery(changed, NOT_HELD) == dict.fromkeys(
        (
            *("recovery.outage_ms.max", "recovery.producers_outage_ms.max", "recovery.consumers_outage_ms.max"),
            *("recovery.late", "recovery.throughput_back_s", "recovery.backlog_highest"),
        ),
        NOT_HELD,
    )


def test_what_a_backlog_changes_of_recovery_are_keys_of_it() -> None:
    assert set(FROM_A_BACKLOG) <= set(Outages.__annotations__)


def test_latencies_by_region_are_those_of_the_backlog_too() -> None:
    regions = Regions(within=latency(), across=latency(p50=None), across_per_s=1.0)
    doubtful = doubtful_regions(regions, NOT_HELD)
    assert "regions.within.p50" in doubtful
    assert "regions.across.p50" not in doubtful
    assert doubtful.keys() <= {*ALL_FIGURES}


@given(latencies, latencies, st.floats(0, 1e4))
def test_every_figure_that_there_is_is_either_sound_or_doubtful(
    whole: Latency, less_own: Latency, error_bound_ms: float
) -> None:
    timing = judged(less_own, Clocks(error_bound_ms), due_to_received=whole)
    there = {metric("due_to_received", name) for name in FIGURES if dict(whole)[name] is not None}
    other_metrics = {metric(measure, name) for measure in set(WORDS) - {"due_to_received"} for name in FIGURES}
    assert sorted([*timing["sound"], *timing["doubtful"]]) == sorted(there | other_metrics)
    assert bool(timing["note"]) == bool(timing["doubtful"])
    assert all(timing["doubtful"].values())


@given(latencies, latencies)
def test_on_one_clock_a_figure_is_doubtful_just_if_its_own_delay_changes_it(whole: Latency, less_own: Latency) -> None:
    doubtful = judged(less_own, due_to_received=whole)["doubtful"]
    for name in FIGURES:
        value_ms, less_ms = dict(whole)[name], dict(less_own)[name]
        changed = value_ms is not None and less_ms is not None and differs(value_ms, less_ms)  # type: ignore[arg-type]
        assert (metric("due_to_received", name) in doubtful) == changed


@given(milliseconds, st.floats(0, 1))
def test_less_than_the_tolerance_is_never_a_difference(value_ms: float, share: float) -> None:
    assert not differs(value_ms, value_ms + 0.999 * share * tolerance_ms(value_ms))
