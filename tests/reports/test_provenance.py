"""Does the report say how clients held their connections, wherever a run says it?"""

from dataclasses import replace
from typing import Any

import pytest

from records.run import RunInfo
from reports.views.provenance import facts, habits, in_a_line
from tests.reports.run_folder import Plan, made_up, run_info, summary


def told(producers: dict[str, str | int], consumers: dict[str, str | int]) -> RunInfo:
    info = run_info(Plan())
    one, other = info.users
    return replace(info, users=(replace(one, settings={**producers}), replace(other, settings={**consumers})))


@pytest.mark.parametrize(
    ("producers", "consumers", "said", "headed"),
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
def test_the_habit_stands_in_the_facts_and_an_unusual_one_below_the_title(
    producers: dict[str, str | int], consumers: dict[str, str | int], said: tuple[str, ...], headed: str
) -> None:
    run = told(producers, consumers)
    assert habits(run) == said
    found: Any = summary(Plan(), made_up(Plan()))
    assert ("Connections", "; ".join(said)) in facts(run, found).rows
    assert in_a_line(run, found).startswith(headed)


def test_a_run_of_before_says_nothing_of_it() -> None:
    assert habits(run_info(Plan())) == ()
