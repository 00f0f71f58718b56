"""Checks ``--closed``: which loads can be closed, and that figures from due times cannot be checked then."""

from argparse import ArgumentParser
from typing import Any

import pytest

from brokerbench import (
    Check,
    ConsumerUser,
    Hold,
    ProducerUser,
    Scenario,
    Search,
    Stay,
    at_least_one_rate_held,
    at_least_one_step_held,
    every_client_back,
    no_acked_send_lost,
    no_message_withheld,
)
from harness.checks import parse_check, parse_checks
from harness.options.arguments import add_arguments
from harness.options.plan import Plan, expected_messages, make
from harness.options.run_options import read
from records.errors import UserError
from records.loads.arrivals import CLOSED

NO_DUE_TIMES = "messages of a closed load have no due times, so it lacks this figure"


class ClosedOrders(ProducerUser):
    fixed_count, sends_per_second = 4, 10
    group, destination = "producers", "queue://orders"


class Transactions(ClosedOrders):
    transaction_size = 5


class PlainOrders(ClosedOrders):
    durable = False


class Closed(ClosedOrders):
    arrivals = CLOSED
    destination = "queue://others"


class Consumer(ConsumerUser):
    group, destination = "consumers", "queue://orders"


class OfOthers(ConsumerUser):
    group, destination = "consumers", "queue://others"


def planned(*words: str, users: Any = (ClosedOrders, Consumer), load: Any = None, checks: Any = ()) -> Plan:
    scenario = Scenario(users, "mesh", load or Hold(for_s=30), (no_acked_send_lost(), *checks))
    parser = ArgumentParser()
    add_arguments(parser, scenario)
    options = parser.parse_args(["--runtime", "memory", "--protocol", "memory", *words])
    return make(scenario, read(options, scenario, None))


@pytest.mark.parametrize("words", [("--closed",), ("--arrivals", CLOSED)])
def test_a_closed_load_has_neither_rate_nor_limit(words: tuple[str, ...]) -> None:
    plan = planned(*words)
    settings = plan.info.users[0].settings
    assert settings["arrivals"] == plan.info.arrivals == plan.info.options["arrivals"] == CLOSED
    assert plan.info.is_closed
    assert {"sends_per_second", "in_flight"}.isdisjoint(settings)
    assert expected_messages(plan) is None


def test_a_closed_producer_has_one_send_in_flight() -> None:
    closed_orders, _ = planned("--closed").users
    assert issubclass(closed_orders, ClosedOrders)
    assert closed_orders.producer_settings().in_flight == 1


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("--arrivals", "poisson"), "--closed --arrivals poisson: both set when producers send; leave one of them out"),
        (
            ("--rate", "100"),
            "--closed: a closed load has no rate: it sends as fast as it is answered; leave --rate out",
        ),
        (("--rate", "ClosedOrders=100"), "--closed: a closed load has no rate"),
        (("--rate", "100,200@10s"), "--closed: a load in 2 steps sets the rate, and a closed load has none"),
        (("--rate", "search"), "--closed: a search for the highest rate sets the rate"),
        (("--in-flight", "5"), "--closed: each producer of a closed load has one send in flight; leave --in-flight 5"),
        (("--transaction-size", "5"), "--closed: ClosedOrders sends 5 messages per transaction"),
        (("--check", "latency_ms.due_to_received.p99 < 50"), f"'latency_ms.due_to_received.p99 < 50': {NO_DUE_TIMES}"),
        (("--check", "latency_ms.due_to_received.p99{Consumer} < 50"), NO_DUE_TIMES),
        (("--check", "throughput.due_per_s > 1"), NO_DUE_TIMES),
        (("--check", "messages.withheld == 0"), NO_DUE_TIMES),
        (("--check", "destinations.first_ms.max < 9"), NO_DUE_TIMES),
        (
            ("--abort-on", "messages.failed > 0; latency_ms.due_to_received.p99 > 500 for 10s"),
            f"--abort-on 'latency_ms.due_to_received.p99 > 500 for 10s': {NO_DUE_TIMES}",
        ),
    ],
)
def test_other_loads_and_due_figures_are_rejected(words: tuple[str, ...], error: str) -> None:
    with pytest.raises(UserError) as caught:
        planned("--closed", *words)
    assert error in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("users", "error"),
    [
        ((Transactions, Consumer), "--closed: Transactions sends 5 messages per transaction"),
        ((PlainOrders, Consumer), "--closed: PlainOrders sends non-durable messages, which no broker answers"),
    ],
)
def test_sends_without_own_answers_are_rejected(users: Any, error: str) -> None:
    with pytest.raises(UserError) as caught:
        planned("--closed", users=users)
    assert error in str(caught.value)


def test_one_closed_class_of_two_is_rejected() -> None:
    with pytest.raises(UserError, match="either all producer classes are closed or none"):
        planned(users=(ClosedOrders, Closed, Consumer, OfOthers))
    assert planned(users=(Closed, OfOthers)).info.is_closed


def test_a_scenario_that_searches_is_rejected() -> None:
    with pytest.raises(UserError, match="a search for the highest rate sets the rate"):
        planned("--closed", load=Search())


def test_a_scenarios_due_check_is_rejected() -> None:
    check = parse_check("latency_ms.due_to_received.p99 < 50", name="fast")
    assert planned(checks=(check,)).info.checks[-1] == check
    with pytest.raises(UserError, match=r"check 'fast' on latency_ms.*: messages of a closed load"):
        planned("--closed", checks=(check,))


def test_no_message_withheld_is_left_out() -> None:
    """Nothing is due, so the check would hold without saying anything."""
    assert [check.metric for check in planned(checks=(no_message_withheld(),)).info.checks][-1] == "messages.withheld"
    closed = planned("--closed", checks=(no_message_withheld(),)).info
    assert [check.metric for check in closed.checks] == ["messages.lost"]
    (warning,) = (text for text in closed.warnings if "no message withheld" in text)
    assert warning.startswith(f"check 'no message withheld' was left out: {NO_DUE_TIMES}")


@pytest.mark.parametrize(
    ("check", "why"),
    [
        (at_least_one_rate_held(), "'at least one rate held': only a load in steps and a search have this figure"),
        (at_least_one_step_held(), "'at least one step held': only a load with a growing number of clients has this"),
        (every_client_back(), "'every client back': a run without a fault does not have this figure; add a fault"),
    ],
)
def test_a_check_whose_figure_the_scenario_cannot_have_is_refused(check: Check, why: str) -> None:
    """Each would be left out, or hold without saying anything."""
    with pytest.raises(UserError, match=f"scenario test_closed_loads: check {why}"):
        planned(checks=(check,))


def test_a_check_applies_if_an_option_provides_what_it_needs() -> None:
    checks = (at_least_one_rate_held(), every_client_back())
    plan = planned("--rate", "100,200@10s", "--fault", "kill(broker-1, at=2, for=3)", checks=checks)
    assert plan.info.checks[1:] == checks


def test_a_check_that_needs_another_topology_stays_and_will_be_unknown() -> None:
    (check,) = parse_checks("mirror.lag_s.max < 5")
    assert planned(checks=(check,)).info.checks[-1] == check


def test_a_check_on_absences_is_left_out_of_a_load_that_may_end_before_them() -> None:
    class Away(Consumer):
        stays = (Stay(until_s=5), Stay(from_s=9))

    (check,) = parse_checks("recovery.backlog_drained_s < 20")
    assert planned(users=(ClosedOrders, Away), checks=(check,)).info.checks[-1] == check
    by_count = planned("--messages", "500", users=(ClosedOrders, Away), checks=(check,)).info
    assert [check.metric for check in by_count.checks] == ["messages.lost"]
    assert any(text.startswith(f"check {check.name!r} was left out: ") for text in by_count.warnings)


def test_a_check_is_left_out_with_a_warning_if_an_option_takes_away_what_it_needs() -> None:
    plan = planned("--rate", "500", load=Search(), checks=(at_least_one_rate_held(),))
    assert [check.name for check in plan.info.checks] == ["no acked send lost"]
    assert [text for text in plan.info.warnings if text.startswith("check 'at least one rate held' was left out: ")]


def test_figures_that_do_not_need_due_times_can_be_checked() -> None:
    metric = "latency_ms.sent_to_received.p99"
    plan = planned("--closed", "--check", f"{metric} < 50", "--abort-on", "latency_ms.sent_to_settled.p99 > 500")
    assert plan.info.checks[-1].metric == metric
    assert [condition.figure for condition in plan.abort_on] == ["latency_ms.sent_to_settled.p99"]
