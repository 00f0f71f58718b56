"""Checks the sentences that answer a scenario's question: shares of consumers, destinations, regions."""

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from analysis.clients.balance import evenness
from records.figures.clients import Consumers, Division
from records.figures.latency import Latency, Regions
from records.figures.messages import Destinations, FirstReceiptSpread
from reports.clients.consumers import shares_sentences
from reports.inputs import read_results
from reports.latency.places import regions_sentence
from reports.messages import destinations_sentence
from reports.parts.over_time import Backdrop
from reports.run.headline import UNMEASURED, answer
from reports.run.page import latency_section
from tests.reports.run_folder import RunPlan, summary


def division(
    messages_by_broker: dict[str, list[int]], destination: str = "queue://q", subscription: str = "q"
) -> Division:
    """``messages_by_broker``: the messages of each consumer, by broker."""
    counts = [count for consumer_counts in messages_by_broker.values() for count in consumer_counts]
    return Division(
        **evenness(counts),
        destination=destination,
        subscription=subscription,
        consumers=len(counts),
        messages=sum(counts),
        least=min(counts),
        most=max(counts),
        idle=counts.count(0),
        brokers={broker: sum(consumer_counts) for broker, consumer_counts in messages_by_broker.items()},
    )


def shares(*subscriptions: Division) -> str:
    return shares_sentences(cast(Consumers, {"subscriptions": [*subscriptions]}))


def test_consumers_at_one_broker_that_got_all_are_told_beside_those_that_got_none() -> None:
    assert shares(division({"sink": [0, 0], "source": [30]})) == (
        "Of queue://q the consumers at source got 30 of 30 messages, those at sink 0; 2 of 3 consumers got none."
    )


def test_an_uneven_share_is_told_with_the_least_and_the_most_of_a_consumer() -> None:
    assert shares(division({"source": [16], "sink": [7, 7]})) == (
        "Of queue://q the consumers at source got 16 of 30 messages, those at sink 14; each of 3 consumers got 7 to 16."
    )


@pytest.mark.parametrize(
    "messages_by_broker",
    [
        pytest.param({"a": [10], "b": [10, 10]}, id="even"),
        pytest.param({"a": [12], "b": [8, 9]}, id="nearly even"),
        pytest.param({"a": [25, 5]}, id="uneven at one broker, where no link divides"),
        pytest.param({"a": [0], "b": [0, 0]}, id="nothing received"),
        pytest.param({"a": [1, 0], "b": [1]}, id="fewer messages than consumers"),
    ],
)
def test_nothing_is_told_of_consumers_that_share_as_one_expects(messages_by_broker: dict[str, list[int]]) -> None:
    assert shares(division(messages_by_broker)) == ""


def test_a_consumer_without_messages_is_told_also_if_all_are_at_one_broker() -> None:
    assert shares(division({"a": [20, 10, 0]}, "topic://t", "audit")) == (
        "Of topic://t (audit) the consumers at a got 30 of 30 messages; 1 of 3 consumers got none."
    )


def test_of_many_brokers_the_one_with_most_and_the_one_with_fewest_messages_are_told() -> None:
    messages_by_broker = {f"broker-{n}": [n] for n in range(1, 6)} | {"broker-9": [100]}
    assert shares(division(messages_by_broker)) == (
        "Of queue://q the consumers at broker-9 got 100 of 115 messages, the most of 6 brokers, those at broker-1 1; "
        "each of 6 consumers got 1 to 100."
    )


def test_of_many_subscriptions_the_two_most_uneven_are_told() -> None:
    sentences = shares(*(division({"a": [40], "b": [n, n]}, f"queue://q{n}", f"q{n}") for n in (9, 1, 5)))
    assert sentences.count("Of queue://") == 2
    assert sentences.index("queue://q1 ") < sentences.index("queue://q5 ")


def destinations(reached: int, count: int) -> Destinations:
    flow = 1.7 if reached == count else None
    return Destinations(
        count=count, reached=reached, all_flow_s=flow, first_ms=FirstReceiptSpread(p50=18.47, max=827.9)
    )


@pytest.mark.parametrize(
    ("counts", "sentence"),
    [
        (destinations(1, 1), ""),
        (
            destinations(100, 100),
            "Messages flowed on all 100 destinations 1.7 s after the first was due; "
            "on the slowest destination, the first message took 828 ms.",
        ),
        (destinations(1, 3), "Messages were received from 1 of 3 destinations."),
    ],
)
def test_a_run_with_several_destinations_says_when_messages_flowed_on_all(counts: Destinations, sentence: str) -> None:
    assert destinations_sentence(counts) == sentence


def test_the_figures_of_several_destinations_are_in_a_table(mesh_run: Path) -> None:
    results = read_results(mesh_run)

    def rows(counts: Destinations) -> list[Any]:
        summary: Any = {**results.summary, "destinations": counts}
        tables = latency_section(replace(results, summary=summary), Backdrop(0, 10, 10.0)).tables
        return [table.rows for table in tables if table.caption.startswith("Time until messages flow")]

    assert rows(destinations(20, 20)) == [((20, 20, 1.7, 18.47, 827.9),)]
    assert rows(destinations(1, 1)) == []


def latency(least: float, p50: float | None) -> Latency:
    return {**UNMEASURED, "count": 300, "min": least, "p50": p50}


WITHIN, ACROSS = latency(0.614, 3.87), latency(43.16, 50.46)


def regions(within: Latency, across: Latency, *doubtful: str) -> str:
    return regions_sentence(Regions(within=within, across=across, across_per_s=30.0), doubtful)


def test_messages_that_crossed_are_told_beside_those_that_stayed_in_their_region() -> None:
    assert regions(WITHIN, ACROSS) == (
        "Messages that stayed in their region took 0.614 ms at least and 3.87 ms at the median. "
        "Messages that crossed to another region took 43.2 ms at least and 50.5 ms at the median."
    )
    assert regions(UNMEASURED, latency(43.16, None)) == (
        "No message stayed in its region. Messages that crossed to another region took 43.2 ms at least."
    )


def test_nothing_is_told_of_regions_if_no_message_crossed() -> None:
    assert regions(WITHIN, UNMEASURED) == ""


def test_a_doubtful_figure_of_all_messages_is_marked_in_the_sentence_on_regions() -> None:
    sentence = regions(WITHIN, ACROSS, "latency_ms.due_to_received.p50", "latency_ms.sent_to_received.min")
    assert "took 0.614 ms at least and 3.87 ms (doubtful) at the median" in sentence
    assert sentence.endswith("took 43.2 ms at least and 50.5 ms (doubtful) at the median.")


def test_the_answer_has_what_became_of_the_messages_first_and_the_latency_last() -> None:
    plan = RunPlan(load_s=2, per_s=10)
    run_summary: Any = summary(plan) | {
        "destinations": destinations(20, 20),
        "regions": Regions(within=WITHIN, across=ACROSS, across_per_s=30.0),
        "consumers": {"subscriptions": [division({"a": [30], "b": [0]})]},
    }
    sentences = answer(run_summary)
    parts = ("All 120 messages", "Of queue://q", "Messages flowed", "Messages that stayed", "Half arrived")
    places = [sentences.index(part) for part in parts]
    assert places == sorted(places)
