"""Checks that the report states how clients connected and how the warm-up ended."""

from dataclasses import replace
from typing import Any

import pytest

from records.run import Phases, RunInfo
from reports.run.provenance import connection_modes, facts, in_a_line, phases
from tests.reports.run_folder import RunPlan, run_info, summary


@pytest.mark.parametrize(
    ("end", "words"),
    [
        ("fixed", "6.5 s"),
        ("settled", "6.5 s, until the median latency had settled"),
        ("not_settled", "6.5 s: the median latency did not settle"),
        ("no_latency", "6.5 s: too few latencies were known to see whether they settle"),
    ],
)
def test_the_warm_up_says_how_long_it_took_and_what_ended_it(end: str, words: str) -> None:
    plan = RunPlan(load_s=3, per_s=20)
    run_summary: Any = summary(plan) | {"warm_up": {"end": end, "lasted_s": 6.5, "at_most_s": 15.0}}
    info = replace(run_info(plan), phases=Phases())
    run_summary["phases"]["warm_up"] = 6.5
    assert dict(phases(info, run_summary).rows)["warm-up"] == words


def run_with(producers: dict[str, str | int], consumers: dict[str, str | int]) -> RunInfo:
    info = run_info(RunPlan())
    producer_info, consumer_info = info.users
    return replace(
        info, users=(replace(producer_info, settings={**producers}), replace(consumer_info, settings={**consumers}))
    )


@pytest.mark.parametrize(
    ("producers", "consumers", "words", "headed"),
    [
        (
            {"connections": "one"},
            {"connections": "one"},
            ("producers: one each", "consumers: one each"),
            "stomp clients · ",
        ),
        (
            {"connections": "per-message"},
            {"connections": "one"},
            ("producers: one for each message", "consumers: one each"),
            "stomp clients, connections per-message · ",
        ),
        (
            {"connections": "pooled", "pool_size": 2},
            {"connections": "pooled", "pool_size": 4},
            ("producers: 2 shared by each group in each process", "consumers: 4 shared by each group in each process"),
            "stomp clients, connections pooled · ",
        ),
    ],
)
def test_the_connection_mode_stands_in_the_facts_and_an_unusual_one_below_the_title(
    producers: dict[str, str | int], consumers: dict[str, str | int], words: tuple[str, ...], headed: str
) -> None:
    run = run_with(producers, consumers)
    assert connection_modes(run) == words
    run_summary: Any = summary(RunPlan())
    assert ("Connections", "; ".join(words)) in facts(run, run_summary).rows
    assert in_a_line(run, run_summary).startswith(headed)


def test_a_run_of_before_says_nothing_of_it() -> None:
    assert connection_modes(run_info(RunPlan())) == ()
