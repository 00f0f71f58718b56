"""Checks which doubts a report lists, and that it lists none without a reason."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from records.figures.faults import FaultRecovery
from records.figures.load import WarmUpResult
from records.figures.summary import Summary
from records.run import Phases, RunInfo, UserInfo
from records.tables.results import PATHS, RESOURCES
from reports.build import render
from reports.inputs import read_results
from reports.run.doubts import (
    accounting_doubts,
    connection_doubts,
    doubts,
    duration_doubts,
    generator_doubts,
    machine_doubts,
    sample_doubts,
    slow_start_doubts,
    transaction_doubts,
)
from reports.run.for_ci import run_markdown
from reports.run.headline import headline, key_figures
from tests.reports.markup import parse
from tests.reports.run_folder import LOAD_BEGAN_NS, RunPlan, run_info, summary, write_run_folder

SECOND_NS = 1_000_000_000
FILLING: dict[str, str | int | float | bool] = {"transaction_size": 20}
RUN = RunInfo("run", "steady", "mesh", "processes", "stomp")


def summary_with(**changes: Any) -> Any:
    plan = RunPlan(load_s=60, per_s=20, fault_s=None)
    return summary(plan) | changes


def warm_up(lasted_s: float, end: str = "fixed") -> WarmUpResult:
    return WarmUpResult(end=end, lasted_s=lasted_s, at_most_s=15.0)


def doubts_of(parent: Path, plan: RunPlan) -> str:
    results = read_results(write_run_folder(parent, plan))
    return "\n".join(doubts(results.run, results.summary, results.tables))


def test_what_the_harness_found_comes_first_and_once(tmp_path: Path) -> None:
    findings = {
        "problems": ("a worker was lost",),
        "unknowns": ("q was not browsed",),
        "warnings": ("a worker was lost",),
    }
    results = read_results(write_run_folder(tmp_path, RunPlan(load_s=3, run=findings)))
    without_reasons = cast(Summary, {**results.summary, "reasons": []})
    lines = doubts(results.run, without_reasons, results.tables)
    assert lines[:2] == ("A worker was lost.", "Q was not browsed.")
    assert lines.count("A worker was lost.") == 1
    assert "A worker was lost." not in doubts(results.run, results.summary, results.tables), "the verdict says it"


def test_brokers_on_one_machine_are_labeled_host_limited(tmp_path: Path) -> None:
    sentences = doubts_of(tmp_path, RunPlan(load_s=3))
    assert "Host-limited: 3 brokers and the load generator share the 2 cores of one machine." in sentences


def test_brokers_elsewhere_are_not_host_limited(tmp_path: Path) -> None:
    assert "Host-limited" not in doubts_of(tmp_path, RunPlan(load_s=3, run={"runtime": "external"}))


def test_steal_is_told_from_one_per_cent(tmp_path: Path) -> None:
    assert "(steal)" not in doubts_of(tmp_path, RunPlan(load_s=10))
    busy = RunPlan(load_s=10, steal_ns=60_000_000.0, seed=3)
    assert "of the CPU time (steal)." in doubts_of(tmp_path / "stolen", busy)


@given(st.floats(0.0, 3.0), st.floats(0.0, 3.0), st.sampled_from([1, 2, 16]))
def test_no_machine_is_more_than_100_per_cent_busy_or_stolen(busy: float, stolen: float, cores: int) -> None:
    """``busy``, ``stolen``: share of all cores in the samples."""
    run = replace(run_info(RunPlan(load_s=10)), machine={"cores": cores})
    rows = [
        (second, "", "machine", "", metric, round(share * cores * 1e9))
        for second in range(10)
        for metric, share in (("cpu_busy_ns", busy), ("steal_ns", stolen))
    ]
    table = pa.Table.from_pylist([dict(zip(RESOURCES.names, row, strict=True)) for row in rows], RESOURCES)
    shares = [
        float(share_text) for text in machine_doubts(run, table, 10.2) for share_text in re.findall(r"([\d.]+) %", text)
    ]
    assert all(share <= 100 for share in shares)
    assert len(shares) >= (busy > 0.9) + (stolen > 0.02)


def test_a_busy_machine_is_told_though_the_last_second_is_cut_short() -> None:
    """The load lasts 1.9 s, and one whole second of it was sampled."""
    run = replace(run_info(RunPlan(load_s=10)), machine={"cores": 2})
    row = (0, "", "machine", "", "cpu_busy_ns", 1_950_000_000)
    table = pa.Table.from_pylist([dict(zip(RESOURCES.names, row, strict=True))], RESOURCES)
    assert any("98 % busy" in text for text in machine_doubts(run, table, 1.9))


def test_a_steady_run_does_not_drift_and_an_unsteady_one_is_told(tmp_path: Path) -> None:
    assert "No steady state" not in doubts_of(tmp_path, RunPlan(load_s=30, fault_s=None))
    assert "No steady state" in doubts_of(tmp_path / "drifting", RunPlan(load_s=30, fault_s=None, drift_ms_per_s=0.2))


def test_a_stalled_generator_is_told_with_the_verdict_and_both_figures_are_shown(tmp_path: Path) -> None:
    stalled = read_results(write_run_folder(tmp_path, RunPlan(load_s=40, fault_s=None, stall_ms=150)))
    text = parse(render(stalled)).text()
    assert stalled.summary["verdict"] == "pass"
    assert "Do not rely on these latencies: due → received" in text
    assert "doubtful: do not rely on it" in text, "the legend of the curves"
    assert "due → received, less the generator's own delay" in text
    (figure,) = (key_figure for key_figure in key_figures(stalled.summary) if key_figure.label == "Latency, p99.9")
    assert figure.tone == "doubtful"
    assert "Doubtful: the load generator itself was late: most of p99.9, " in figure.note


def test_a_generator_in_time_leaves_every_figure_as_it_is(tmp_path: Path) -> None:
    prompt = read_results(write_run_folder(tmp_path, RunPlan(load_s=20, fault_s=None)))
    assert prompt.summary["timing"]["doubtful"] == {}
    text = parse(render(prompt)).text()
    assert "Do not rely on these latencies" not in text
    assert not any(figure.tone == "doubtful" for figure in key_figures(prompt.summary))
    assert "due → received, less the generator's own delay" in text


def test_blocked_slots_and_clocks_are_told() -> None:
    lag = summary_with()["lag_ms"] | {"blocked_slots": 1}
    sentences = list(generator_doubts(summary_with(lag_ms=lag, clocks={"error_bound_ms": 0.25})))
    assert sentences == [
        "The in-flight cap, or a commit, made 1 send wait: the brokers confirmed too slowly for the rate.",
        "Clocks of several hosts were compared: latencies across hosts may be off by 0.250 ms.",
    ]


def test_producers_that_a_broker_blocked_are_told_with_the_broker_and_for_how_long() -> None:
    held = {"periods": 3, "total_ms": 12_345.0, "longest_ms": 10_000.0, "brokers": ["hub", "spoke-1"]}
    assert list(generator_doubts(summary_with(blocked=held))) == [
        "Producers were blocked 3 times, for a total of 12.3 s; the longest period was 10 s. In these periods, "
        "hub and spoke-1 accepted no messages from them. A full broker blocks producers, and so does a paused broker."
    ]


def test_few_samples_and_negative_latencies_are_told() -> None:
    latency = summary_with()["latency_ms"]
    latency["due_to_received"] |= {"count": 900, "negative": 2}
    assert list(sample_doubts(summary_with(latency_ms=latency))) == [
        "2 latencies are negative: the clocks disagree. None was left out.",
        "900 samples: fewer than ten lie beyond p99, so from there on the tail has no figures.",
    ]


def test_a_broker_that_counts_other_clients_than_there_are_is_named() -> None:
    assert list(connection_doubts(summary_with())) == []
    counts = {"compared": 240, "differed": 12, "brokers": ["broker-1", "broker-2"]}
    assert list(connection_doubts(summary_with(connection_counts=counts))) == [
        "In 12 of 240 comparisons, a broker's connection count differed from the clients' count (broker-1 and "
        "broker-2). Either other programs used the broker, or a broker or client had not yet noticed a lost connection."
    ]


def test_a_long_run_with_a_long_warm_up_is_not_called_short() -> None:
    assert list(duration_doubts(60.0, warm_up(10.0))) == []
    assert len(list(duration_doubts(59.0, warm_up(9.0)))) == 2


@pytest.mark.parametrize(
    ("end", "words"),
    [
        ("settled", ""),
        ("not_settled", "The warm-up ended after 15 s without a settled median latency: the load began unsteady."),
        ("no_latency", "The warm-up took 15 s. It is not known whether latency had settled"),
    ],
)
def test_a_warm_up_that_settled_is_not_doubted_and_another_is_in_words(end: str, words: str) -> None:
    sentences = list(duration_doubts(60.0, warm_up(6.0, end)))
    assert [line[: len(words)] for line in sentences] == ([words] if words else [])


def test_unconfirmed_and_doubtful_sends_limit_what_is_claimed() -> None:
    messages = summary_with()["messages"] | {"unconfirmed": 3, "in_doubt": 1, "recovered": 1}
    paths = made_up_paths()
    sentences = list(accounting_doubts(summary_with(messages=messages), paths))
    assert sentences[0].startswith("3 messages were sent without asking for a confirmation")
    assert sentences[1].startswith("1 message stayed in doubt")
    assert len(sentences) == 2


def made_up_paths() -> Any:
    row = {"from_broker": "a", "to_broker": "b", "hops": 1, "messages": 4}
    return pa.Table.from_pylist([row], schema=PATHS)


def test_a_figure_is_bad_when_its_check_failed_and_neutral_when_its_check_allows_it() -> None:
    def tone(label: str, **changes: Any) -> str:
        return next(figure.tone for figure in key_figures(summary_with(**changes)) if figure.label == label)

    twice = summary_with()["messages"] | {"duplicated": 7}
    assert tone("Duplicated", messages=twice) == ""
    assert tone("Duplicated", messages=twice, checks=[]) == "bad"
    assert tone("Duplicated") == "good"
    assert tone("Generator lag, p99", lag_ms=summary_with()["lag_ms"] | {"p99": 5_000.0}) == ""


def test_a_figure_that_is_not_known_has_no_unit() -> None:
    throughput = summary_with()["throughput"] | {
        "cpu_ms_per_message_brokers": None,
        "cpu_ms_per_message_generator": None,
    }
    figures = {figure.label: figure for figure in key_figures(summary_with(latency_ms={}, throughput=throughput))}
    units = {label: figure.unit for label, figure in figures.items() if figure.value == "–"}
    assert units == dict.fromkeys(("Latency, median", "Latency, p99", "Latency, p99.9", "CPU per message"), "")
    assert figures["CPU per message"].note.startswith("All brokers together.")
    assert figures["Sent"].unit == "messages"


def test_a_run_interrupted_before_its_load_is_reported_all_the_same(tmp_path: Path) -> None:
    plan = RunPlan(load_s=0, fault_s=None, run={"phases": Phases(), "state": "interrupted"})
    assert "Interrupted" in parse(render(read_results(write_run_folder(tmp_path, plan)))).text()


def test_the_length_of_the_load_is_that_between_its_marks(tmp_path: Path) -> None:
    """The harness' own duration may hold the stopping of users: it once said 15.5 s of a load of 10 s."""
    marks = Phases(LOAD_BEGAN_NS - 5 * SECOND_NS, LOAD_BEGAN_NS, LOAD_BEGAN_NS + 10 * SECOND_NS)
    plan = RunPlan(load_s=15, fault_s=None, run={"phases": marks})
    assert "· 10 s of load ·" in parse(render(read_results(write_run_folder(tmp_path, plan)))).text()


@pytest.mark.parametrize(("received_per_s", "doubted"), [(120.0, False), (125.0, False), (159.0, True)])
def test_a_backlog_from_the_warm_up_is_no_steady_throughput(received_per_s: float, doubted: bool) -> None:
    rates = summary_with()["throughput"] | {"due_per_s": 120.0, "received_per_s": received_per_s}
    lines = list(generator_doubts(summary_with(throughput=rates)))
    assert any("backlog from the warm-up" in line for line in lines) == doubted


@pytest.mark.parametrize(("received_per_s", "doubted"), [(240.0, False), (318.0, True)])
def test_two_subscriptions_that_each_receive_what_is_due_are_no_backlog(received_per_s: float, doubted: bool) -> None:
    rates = summary_with()["throughput"] | {"due_per_s": 120.0, "received_per_s": received_per_s}
    messages = summary_with()["messages"] | {"expected": 2 * summary_with()["messages"]["sent"]}
    lines = list(generator_doubts(summary_with(throughput=rates, messages=messages)))
    assert any("backlog from the warm-up" in line for line in lines) == doubted


def test_time_spent_filling_transactions_is_told_as_no_part_of_the_brokers() -> None:
    plain, filling = (UserInfo("P", "producer", "g", "queue://q", 1, settings) for settings in ({}, FILLING))
    told_of_it = list(transaction_doubts(replace(RUN, users=(plain, filling))))
    assert told_of_it == [
        "Messages were sent in transactions of 20: sent → received includes the time until the producer committed, "
        "so the brokers did not cause all of it."
    ]
    assert list(transaction_doubts(replace(RUN, users=(plain,)))) == []


NOT_HELD = (
    "The offered rate was not held: 244 of 480 messages per second were received; latency is the age of a backlog."
)


def test_a_rate_that_was_not_held_is_in_every_output(tmp_path: Path) -> None:
    """The sentence comes first in the report, and is also in the list of doubts."""
    held = read_results(write_run_folder(tmp_path, RunPlan(load_s=20)))
    assert NOT_HELD not in render(held)
    short = {**held.summary, "offered_rate": {**held.summary["offered_rate"], "held": False, "note": NOT_HELD}}
    results = replace(held, summary=cast(Summary, short))
    top = headline(results.run, results.summary)
    assert top.answer == NOT_HELD
    assert top.further[0].startswith("broker-3 ")
    assert doubts(results.run, results.summary, results.tables)[0] == NOT_HELD
    assert f"**{NOT_HELD}**" in run_markdown(results, tmp_path)
    assert NOT_HELD in parse(render(results)).text()


@pytest.mark.parametrize(
    ("restored_s", "start_s", "told"),
    [
        (51.0, 31.0, ["broker-2 was away for 41 s instead of 10 s (F1, kill): its start took 31 s."]),
        (24.0, 4.0, []),
        (None, None, []),
        (16.5, 6.5, []),  # a restart: only the broker decides how long
        (31.0, 6.0, []),
    ],
)
def test_a_slow_start_lengthens_an_outage(restored_s: float | None, start_s: float | None, told: list[str]) -> None:
    fault = {"fault": "F1", "kind": "kill", "target": "broker-2", "began_s": 10.0}
    recorded = cast(FaultRecovery, fault | {"restored_s": restored_s, "start_s": start_s})
    assert list(slow_start_doubts([recorded])) == told
