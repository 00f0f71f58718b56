"""Checks the plan of a run with a growing number of clients, and the options that exclude it."""

from argparse import ArgumentParser, Namespace
from collections import Counter

from brokerbench import AddClients, Hold, Scenario
from drivers.users.locust_users import ConsumerUser, ProducerUser
from drivers.users.session import Tally, Window
from harness.options import plan
from harness.options.arguments import add_arguments
from harness.options.run_options import read
from harness.run.steering import ClientStepsWatch
from records.loads.client_steps import parse_client_steps

NS_PER_S, NS_PER_MS = 1_000_000_000, 1_000_000


class Producer(ProducerUser):
    group, sends_per_second = "producers", 2


class Consumer(ConsumerUser):
    group = "consumers"


def scenario(load: Hold | AddClients | None = None) -> Scenario:
    return Scenario((Producer, Consumer), "single", load or AddClients("5,20@10s"), (), warm_up_s=0.0)


def options_of(clients: str = "", **settings: str) -> Namespace:
    parser = ArgumentParser()
    add_arguments(parser, scenario())
    return Namespace(**{**vars(parser.parse_args(["--runtime", "memory"])), "clients": clients, **settings})


def test_steps_set_the_users_and_the_length_of_the_load() -> None:
    """Also the number of users at the beginning."""
    made_plan = plan.make(scenario(), read(options_of(), scenario(), None))
    assert made_plan.counts == {"Producer": 10, "Consumer": 10}
    assert (made_plan.clients_before_load, made_plan.load_s, made_plan.load_bound) == (5, 20.0, "at most ")
    assert tuple(user.joins for user in made_plan.users) == (
        "3@10s,10@10s,connect=2000,p99=500",
        "2@10s,10@10s,connect=2000,p99=500",
    )
    assert made_plan.info.client_steps == made_plan.info.options["clients"] == "5@10s,20@10s,connect=2000,p99=500"


def test_the_option_overrides_the_scenarios_steps() -> None:
    """The rate applies to the last step."""
    made_plan = plan.make(scenario(), read(options_of("4,8@5s,p99=9", rate="40"), scenario(), None))
    producer, _ = made_plan.info.users
    assert (producer.count, made_plan.load_s, producer.settings["sends_per_second"]) == (4, 10.0, 10.0)
    assert plan.would_run(made_plan)["clients"] == "4@5s,8@5s,connect=2000,p99=9"


def test_without_steps_every_user_begins() -> None:
    Producer.fixed_count, Consumer.fixed_count = 2, 3
    held = scenario(Hold(for_s=30))
    made_plan = plan.make(held, read(options_of(), held, None))
    assert (made_plan.clients_before_load, made_plan.info.client_steps, made_plan.info.options["clients"]) == (
        5,
        "",
        None,
    )


def looked(
    ready: int, at_s: float, took_ms: float = 1.0, messages: int = 3_000, watch: ClientStepsWatch | None = None
) -> bool:
    """Whether a load of 5 and then 20 clients, with p99 at most 50 ms, ends at that second."""
    tally = Tally(ready=Counter({"Producer": ready}))
    tally.live.begin(0, 60, by_due=True)
    for _ in range(messages):
        tally.live.received(int(at_s - 2) * NS_PER_S + NS_PER_S // 2, round(took_ms * NS_PER_MS))
    watch = watch or ClientStepsWatch(parse_client_steps("5,20@10s,p99=50"))
    return watch.is_over(tally, Window(0, 0, 20 * NS_PER_S), round(at_s * NS_PER_S))


def test_a_load_ends_after_the_step_in_which_clients_are_missing_or_messages_late() -> None:
    assert looked(ready=4, at_s=11.5)
    assert looked(ready=5, at_s=11.5, took_ms=60)
    assert not looked(ready=5, at_s=11.5)
    assert not looked(ready=4, at_s=10.5), "the step is over, but not everybody has reported it"
    assert not looked(ready=5, at_s=11.5, took_ms=60, messages=9), "nine are too few to break the limit"


def test_the_second_step_is_looked_at_after_the_first_was_held() -> None:
    watch = ClientStepsWatch(parse_client_steps("5,20@10s,p99=50"))
    assert not looked(ready=5, at_s=11.5, watch=watch)
    assert not looked(ready=9, at_s=15, watch=watch)
    assert looked(ready=19, at_s=21.5, watch=watch)
