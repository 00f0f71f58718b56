"""Checks the options for message properties and selectors: each mistake is one sentence before anything starts."""

from dataclasses import replace

from drivers.users.locust_users import ConsumerUser, Stay
from harness.options.plan import make
from harness.options.run_options import read
from tests.harness.test_options import Consumer, Producer, namespace, scenario


def test_options_set_message_properties_and_run_json_has_them() -> None:
    arguments = ["--protocol", "openwire", "--ttl", "2.5", "--message-priority", "9", "--selector", "weight > 1"]
    options = read(namespace(*arguments, "--properties", '{"weight": [1, 2], "shop": "north"}'), scenario(), None)
    plan = make(scenario(), options)
    producer, consumer = plan.info.users
    assert (producer.settings["time_to_live_s"], producer.settings["message_priority"]) == (2.5, 9)
    assert producer.settings["properties"] == '{"weight": [1, 2], "shop": ["north"]}'
    assert consumer.settings["selector"] == "weight > 1"
    made = plan.users[0]
    assert issubclass(made, Producer)
    assert made.message_settings().headers(3).properties == {"weight": 2, "shop": "north"}
    assert (Producer.properties, Producer.time_to_live_s, Consumer.selector) == ({}, None, "")


def test_consumers_of_a_class_take_its_selectors_in_turn() -> None:
    Producer.properties, Consumer.selector = {"color": ["red", "blue"]}, ("color = 'red'", "")
    plan = make(scenario(), read(namespace(), scenario(), None))
    assert plan.info.users[1].settings["selector"] == "color = 'red' | "


def test_a_selector_of_a_class_may_match_no_message_if_it_asks_for_no_property() -> None:
    Producer.properties = {"color": ["red", "blue"]}
    Consumer.selector = ("color = 'red'", "FALSE", "color IS NOT NULL")
    assert make(scenario(), read(namespace(), scenario(), None))


def test_classes_with_different_brokers_need_a_topology_with_them() -> None:
    class Elsewhere(ConsumerUser):
        group, destination, fixed_count = "consumers", "queue://q", 1
        stays = (Stay(place=1),)

    class Here(ConsumerUser):
        group, destination, fixed_count = "consumers", "queue://q", 1
        stays = (Stay(place=0),)

    placed = replace(scenario(), users=(Producer, Here, Elsewhere))
    assert make(placed, read(namespace(), placed, None)).counts["Here"] == 1
