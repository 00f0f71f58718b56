"""Checks how numbers of clients in steps are read, written, shared among classes and turned into times."""

import re

import pytest

from records.errors import UserError
from records.loads.client_steps import ClientStep, ClientSteps, parse_client_steps

ASKED = parse_client_steps("10,20@10s,60@20s,connect=800,p99=50")


def test_steps_without_a_time_take_that_of_the_next_and_limits_stand_behind_them() -> None:
    steps = (ClientStep(10, 10), ClientStep(20, 10), ClientStep(60, 20))
    assert ClientSteps(steps, connect_ms=800, p99_ms=50) == ASKED
    assert (ASKED.most, ASKED.for_s, ASKED.spans_s) == (60, 40, [(0, 10), (10, 20), (20, 40)])


@pytest.mark.parametrize("text", ["5@10s", "1,2,400@60", "10@5,20@7s,p99=0.5"])
def test_what_is_written_is_read_as_the_same(text: str) -> None:
    assert parse_client_steps(str(parse_client_steps(text))) == parse_client_steps(text)


def test_clients_connect_in_the_first_half_of_their_step() -> None:
    """The clients of the first step connect before the load."""
    assert {ASKED.joins_s(index) for index in range(10)} == {0.0}
    assert [ASKED.joins_s(index) for index in (10, 11, 19)] == pytest.approx([10, 10.5, 14.5])
    assert [ASKED.joins_s(index) for index in (20, 40, 59)] == pytest.approx([20, 25, 29.75])


@pytest.mark.parametrize("classes", [1, 2, 3])
def test_the_shares_of_several_classes_add_up_in_each_step(classes: int) -> None:
    shares = [ASKED.share(classes, place) for place in range(classes)]
    for number, step in enumerate(ASKED.steps):
        assert sum(share.steps[number].clients for share in shares) == step.clients
    assert {share.for_s for share in shares} == {ASKED.for_s}


def test_a_class_that_gets_nobody_in_a_step_goes_on_with_the_next() -> None:
    second_share = parse_client_steps("2,3,4@10s").share(2, 1)
    assert [step.clients for step in second_share.steps] == [1, 1, 2]
    assert [second_share.joins_s(index) for index in range(2)] == [0.0, 20.0]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("50,100", "the last step has no duration"),
        ("50,40@10s", "each step must have more clients than the one before"),
        ("50,50@10s", "each step must have more clients than the one before"),
        ("50@4s", "a step lasts at least 5 s"),
        ("many@10s", "'many@10s' cannot be read"),
        ("50@10s,p98=3", "'p98=3' cannot be read"),
        ("50@10s,p99=0", "a limit must be more than 0 ms"),
        ("p99=5", "it has no number of clients"),
        ("", "'' cannot be read"),
    ],
)
def test_what_is_no_number_of_clients_in_steps_is_refused(text: str, problem: str) -> None:
    with pytest.raises(UserError, match=re.escape(problem)):
        parse_client_steps(text)
