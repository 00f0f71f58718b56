"""Checks that every scenario with its defaults ends on its own, passes, and has the figures for its question."""

from itertools import chain
from pathlib import Path

import pytest

from analysis.run.checks import value_at
from brokerbench.locustfiles import questions
from harness import faults
from records.run import ANSWERS
from tests.support.locust_run import LocustRun, nothing_left

TIMEOUT_S = 900  # capacity looks for its limit, a quarter of an hour at most
FIGURES = {
    "faults": (),  # it depends on the fault: below
    "mirror": (),  # a copy on this machine may never lag
    "steps": ("throughput.held_per_s",),
    "connections": ("connections.held",),
    "fate": ("messages.received",),
    "kinds": ("kinds.queue_persistent.received", "kinds.durable_topic_persistent.received"),
    "shares": ("consumers.share.max_to_mean",),
    "destinations": ("destinations.reached", "destinations.all_flow_s"),
    "regions": ("regions.within.p50", "regions.across.p50", "regions.across_per_s"),
    "latency": ("latency_ms.due_to_received.p99",),
    "moves": ("rebalance.moves", "rebalance.moves_per_client.max", "rebalance.at_end.jain"),
    "cost": ("throughput.cpu_ms_per_message_brokers",),
    "rate": ("throughput.received_per_s",),
}
"""Figures that must be above 0 in a run, by the kind of answer to the scenario's question."""
OF_LOSSES = ("recovery.cut_off", "recovery.in_flight", "recovery.outage_ms.max", "recovery.ready_ms.max")
MORE_FIGURES = {
    "failover": OF_LOSSES,
    "takeover": OF_LOSSES,
    "disaster": OF_LOSSES,
    "rolling_restart": ("recovery.cut_off", "recovery.ready_ms.max"),
    "rebalance": ("recovery.cut_off",),
    "reliability": ("recovery.cut_off",),
    "durability": ("recovery.cut_off", "recovery.at_risk", "recovery.start_s"),
    "link_failover": ("recovery.cut_off", "recovery.backlog_highest"),
    "partition": ("recovery.backlog_highest", "recovery.backlog_drained_s"),
    "backlog": ("recovery.backlog_highest",),
    "message_selectors": ("messages.stranded",),
    "parallel_connectors": ("messages.reordered",),
}
"""The figures that answer each scenario's question."""
PASSES, FAILS = ("pass", 0), ("fail", 1)
ENDS = {"message_selectors": (FAILS,), "reliability": (PASSES, FAILS), "disaster": (PASSES, FAILS)}
"""Verdict and exit status of scenarios that show failures.

Links bring messages to brokers without consumers. Durable subscribers leave messages that are due during their move
at their old broker. A mirror may lack acknowledged messages.
"""
CALLS_THROUGH_PROXIES = (
    "default_link=",
    *(f"{name}(" for name, kind in vars(faults).items() if getattr(kind, "through_proxy", False)),
)


def needs_proxies(locustfile: Path) -> bool:
    text = locustfile.read_text(encoding="utf-8")
    return any(call in text for call in CALLS_THROUGH_PROXIES)


def needs_disks(locustfile: Path) -> bool:
    return f"{faults.PowerLoss.__name__}(" in locustfile.read_text(encoding="utf-8")


SCENARIOS = [
    pytest.param(
        path.stem, marks=[*[pytest.mark.links] * needs_proxies(path), *[pytest.mark.disks] * needs_disks(path)]
    )
    for path, _ in questions()
]


@pytest.mark.brokers
@pytest.mark.spark
@pytest.mark.nightly
@pytest.mark.timeout(TIMEOUT_S + 120)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_scenario_ends_by_itself_with_a_verdict_a_report_and_its_figures(scenario: str, tmp_path: Path) -> None:
    outcome = LocustRun(f"scenarios/{scenario}.py", runs=tmp_path / "runs").outcome(TIMEOUT_S + 60)
    assert (outcome.summary["verdict"], outcome.status) in ENDS.get(scenario, (PASSES,)), outcome.output
    answered_by = outcome.info["answered_by"]
    assert answered_by
    assert outcome.summary["recovery"]["faults"] or "faults" not in answered_by
    names = [*chain.from_iterable(FIGURES[subject] for subject in answered_by), *MORE_FIGURES.get(scenario, ())]
    figures = {name: value_at(outcome.summary, name) for name in names}
    assert all(figure and figure > 0 for figure in figures.values()), figures
    assert outcome.summary["offered_rate"]["note"] == "", "an ordinary run holds its rate, or is limited on purpose"
    assert (outcome.run / "report.html").stat().st_size > 0
    assert nothing_left(outcome.runs)


def test_it_is_known_of_every_answer_which_figures_it_needs() -> None:
    assert {*FIGURES} == {*ANSWERS} - {"unplanned"}, "no scenario is about unplanned outages"
