"""Checks that every scenario ends by itself with its defaults, passes, and has the figures that it is made for."""

from pathlib import Path

import pytest

from analysis.run.checks import value_at
from brokerbench.locustfiles import questions
from tests.support.locust_run import LocustRun, nothing_left

TIMEOUT_S = 900  # capacity looks for its limit, a quarter of an hour at most
OF_LOSSES = ("recovery.cut_off", "recovery.in_flight", "recovery.outage_ms.max", "recovery.ready_ms.max")
FIGURES = {
    "steady": ("latency_ms.due_to_received.p99",),
    "failover": OF_LOSSES,
    "takeover": OF_LOSSES,
    "rebalance": ("rebalance.moves", "rebalance.moves_per_client.max", "rebalance.at_end.jain", "recovery.cut_off"),
    "partition": ("recovery.backlog_highest", "recovery.backlog_drained_s"),
    "backlog": ("recovery.backlog_highest",),
    "capacity": ("throughput.held_per_s",),
    "rolling_restart": ("recovery.cut_off", "recovery.ready_ms.max"),
    "sharing": ("consumers.share.max_to_mean",),
    "message_selectors": ("messages.stranded",),
    "throttle": ("consumers.share.max_to_mean",),
    "parallel_connectors": ("throughput.received_per_s", "messages.reordered"),
    "many_destinations": ("destinations.reached", "destinations.all_flow_s"),
    "connections": ("connections.held",),
    "churn": ("messages.received", "throughput.cpu_ms_per_message_brokers"),
    "ttl": ("messages.received",),
    "disaster": OF_LOSSES,
    "link_failover": ("recovery.cut_off", "recovery.backlog_highest"),
    "wan": ("regions.within.p50", "regions.across.p50", "regions.across_per_s"),
    "request_reply": ("messages.received",),
    "reliability": ("recovery.cut_off", "kinds.queue_persistent.received", "kinds.durable_topic_persistent.received"),
}
"""Figures that are more than nothing in a run of the scenario. Another scenario has to have some too."""
PASSES, FAILS = ("pass", 0), ("fail", 1)
ENDS = {"message_selectors": (FAILS,), "reliability": (PASSES, FAILS)}
"""Verdict and exit status of a scenario that shows a failing: links bring messages to where nobody takes them. Durable
subscribers leave messages behind at the broker where they were if one was due before they were back elsewhere."""
NEEDS_PROXIES = {"parallel_connectors", "partition", "wan"}
SCENARIOS = [
    pytest.param(path.stem, marks=[pytest.mark.links] if path.stem in NEEDS_PROXIES else []) for path, _ in questions()
]


@pytest.mark.brokers
@pytest.mark.spark
@pytest.mark.nightly
@pytest.mark.timeout(TIMEOUT_S + 120)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_scenario_ends_by_itself_with_a_verdict_a_report_and_its_figures(scenario: str, tmp_path: Path) -> None:
    outcome = LocustRun(f"scenarios/{scenario}.py", runs=tmp_path / "runs").outcome(TIMEOUT_S + 60)
    assert (outcome.summary["verdict"], outcome.status) in ENDS.get(scenario, (PASSES,)), outcome.output
    found = {figure: value_at(outcome.summary, figure) for figure in FIGURES[scenario]}
    assert all(value and value > 0 for value in found.values()), found
    assert outcome.summary["offered_rate"]["note"] == "", "an ordinary run holds its rate, or is limited on purpose"
    assert (outcome.run / "report.html").stat().st_size > 0
    assert nothing_left(outcome.runs)


def test_it_is_known_of_every_scenario_which_figures_it_is_made_for() -> None:
    assert {path.stem for path, _ in questions()} == set(FIGURES)
