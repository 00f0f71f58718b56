"""Checks the plan of a run with a load in steps: its length, its warm-up, and the options that exclude it."""

from argparse import ArgumentParser, Namespace

from brokerbench import Hold, Scenario, Search, Steps
from drivers.users.locust_users import ConsumerUser, ProducerUser
from harness.options import plan
from harness.options.arguments import add_arguments
from harness.options.run_options import read
from harness.scenario import SEARCH_AT_MOST_S, WARM_UP_AT_MOST_S
from records.loads.rate_search import SearchSettings
from records.loads.rate_steps import RateStep

TWO = (RateStep(100, 100, 20), RateStep(400, 400, 20))


class Producer(ProducerUser):
    group, fixed_count = "producers", 2


class Consumer(ConsumerUser):
    group, fixed_count = "consumers", 3


def scenario(load: Hold | Steps | Search | None = None, warm_up_s: float | None = 0.0) -> Scenario:
    return Scenario((Producer, Consumer), "single", load or Hold(for_s=30), (), warm_up_s=warm_up_s)


def options_of(rate: str, **settings: str) -> Namespace:
    parser = ArgumentParser()
    add_arguments(parser, scenario())
    return Namespace(**{**vars(parser.parse_args(["--runtime", "memory"])), "rate": rate, **settings})


def test_the_load_lasts_as_long_as_its_steps_and_each_producer_has_its_share() -> None:
    made_plan = plan.make(scenario(), read(options_of("100,400@20s", producers="4"), scenario(), None))
    assert (made_plan.load_s, made_plan.options.rate, made_plan.options.steps) == (40.0, None, TWO)
    producer = made_plan.users[0]
    assert issubclass(producer, Producer)
    assert (producer.sends_per_second, producer.rate_steps) == (25.0, "25@20s,100@20s")
    assert made_plan.info.rate_steps == TWO
    assert made_plan.info.options["rate"] == "100@20s,400@20s"
    assert plan.would_run(made_plan)["rate_steps"] == "100@20s,400@20s"


def test_steps_without_a_time_divide_the_load() -> None:
    assert read(options_of("100,400"), scenario(), 40.0).steps == TWO


def test_a_scenario_of_its_own_steps_keeps_them_unless_a_rate_is_asked_for() -> None:
    stepped = scenario(load=Steps("100,400@20s"))
    assert read(options_of(""), stepped, None).steps == TWO
    one_rate = read(options_of("300"), stepped, None)
    assert (one_rate.steps, one_rate.rate, one_rate.load_s) == ((), 300.0, None)
    assert plan.make(stepped, one_rate).load_s == 40.0
    assert scenario(load=Hold(for_s=9)).load.steps == ()


def test_a_load_that_begins_with_a_ramp_has_a_warm_up_of_known_length() -> None:
    assert read(options_of("100..400@20s"), scenario(warm_up_s=None), None).warm_up_s == WARM_UP_AT_MOST_S
    assert read(options_of("100,400@20s"), scenario(warm_up_s=None), None).warm_up_s is None
    assert read(options_of("100..400@20s", warm_up="2"), scenario(), None).warm_up_s == 2


def test_a_search_has_the_scenarios_length_and_first_rate() -> None:
    searching = scenario(load=Search(SearchSettings(400), for_s=120))
    made_plan = plan.make(searching, read(options_of(""), searching, None))
    assert (made_plan.load_s, made_plan.info.held_p99_ms) == (120, 500)
    assert made_plan.info.options["rate"] == "search(400, step=10, p99=500)"
    assert [step.from_per_s for step in made_plan.info.rate_steps] == [400, 1.0]
    assert made_plan.info.users[0].settings["sends_per_second"] == 200
    made_plan = plan.make(scenario(), read(options_of("search"), scenario(), None))
    assert (made_plan.load_s, made_plan.load_bound) == (SEARCH_AT_MOST_S, "about ")
    assert 3 * 60 <= (made_plan.expected_load_s or 0) <= 5 * 60, "as docs/scenarios/capacity.md says"
    assert plan.make(scenario(), read(options_of("search"), scenario(), 60.0)).load_s == 60
