"""Checks what messages may carry and consumers select: each mistake is one sentence before anything starts."""

import json
from dataclasses import replace
from typing import Any

import pytest

from drivers.users.locust_users import ConsumerUser, ProducerUser, Stay
from records.errors import UserError
from scenarios.harness.options import user_settings
from scenarios.harness.options.plan import make
from scenarios.harness.options.run_options import read
from tests.scenarios.test_options import Consumer, Producer, message_of, namespace, scenario

OWN: dict[type, dict[str, Any]] = {
    Producer: {"properties": {}, "time_to_live_s": None, "priority": 4},
    Consumer: {"selector": ""},
}


@pytest.fixture(autouse=True)
def restore_messages() -> Any:
    yield
    for user, settings in OWN.items():
        for name, value in settings.items():
            setattr(user, name, value)


def test_options_give_messages_their_properties_time_to_live_and_priority_and_run_json_has_them() -> None:
    arguments = ["--protocol", "openwire", "--ttl", "2.5", "--message-priority", "9", "--selector", "weight > 1"]
    options = read(namespace(*arguments, "--properties", '{"weight": [1, 2], "shop": "north"}'), scenario(), None)
    own = user_settings.remember(scenario())
    plan = make(scenario(), options)
    producer, consumer = plan.info.users
    assert (producer.settings["time_to_live_s"], producer.settings["message_priority"]) == (2.5, 9)
    assert producer.settings["properties"] == '{"weight": [1, 2], "shop": ["north"]}'
    assert consumer.settings["selector"] == "weight > 1"
    assert Producer.message_settings().headers(3).properties == {"weight": 2, "shop": "north"}
    user_settings.restore(own)
    assert (Producer.properties, Producer.time_to_live_s, Consumer.selector) == ({}, None, "")


def test_consumers_of_a_class_take_its_selectors_in_turn() -> None:
    Producer.properties, Consumer.selector = {"colour": ["red", "blue"]}, ("colour = 'red'", "")
    plan = make(scenario(), read(namespace(), scenario(), None))
    assert plan.info.users[1].settings["selector"] == "colour = 'red' | "


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--ttl", "0"], "--ttl 0: must be more than 0"),
        (["--message-priority", "10"], "Producer: priority = 10: must lie between 0 and 9 (--message-priority)"),
        (["--message-priority", "-1"], "--message-priority -1: must be at least 0"),
        (["--properties", "colour=red"], "--properties colour=red: "),
        (["--properties", "[1]"], '--properties [1]: is no object of JSON; write \'{"colour"'),
        (["--properties", '{"JMSType": "x"}'], "brokers use this name themselves"),
        (["--properties", '{"weight": [1]}'], "Producer: property weight = 1: STOMP carries text only; write '1'"),
        (["--selector", "colour = "], "--selector 'colour = ': at character 10"),
        (
            ["--selector", "colour = 'red"],
            """--selector "colour = 'red": at character 10: a quote is opened here and not""",
        ),
        (
            ["--selector", "colour = 3", "--properties", '{"colour": "red"}'],
            "--selector 'colour = 3': 'red' and 3 cannot be compared",
        ),
        (["--ttl", "5000000"], "Producer: time_to_live_s = 5e+06: must be at least 0.001 s"),
        (["--ttl", "5000000"], "messages that never expire (--ttl)"),
        (["--ttl", "5", "--rate", "search"], "time_to_live_s = 5 (--ttl): of messages that expire nobody can tell"),
        (
            ["--selector", "a IS NULL", "--rate", "9,10"],
            "(--selector): of messages that consumers leave out nobody can",
        ),
    ],
)
def test_what_no_message_or_consumer_can_have_is_refused(arguments: list[str], told: str) -> None:
    assert told in message_of(*arguments)


@pytest.mark.parametrize(
    ("selector", "properties", "told"),
    [
        (
            "colour = 'green'",
            '{"colour": ["red", "blue"]}',
            "colour is 'red', 'blue'; correct it, or give messages other",
        ),
        ("color = 'red'", '{"colour": "red", "shop": "n"}', "colour is 'red'; shop is 'n'; correct it, or give"),
        ("a = '1' AND b = '1'", '{"a": ["1", "2"], "b": ["2", "1"]}', "a is '1', '2'; b is '2', '1'; correct it"),
        ("n = '99'", json.dumps({"n": [*map(str, range(20))]}), "'6', '7' or 12 more; correct it"),
        (
            "colour = 'red'",
            "",
            "they have no properties; correct it, or give messages other properties (--properties); ",
        ),
    ],
)
def test_a_selector_that_no_message_of_the_run_can_match_is_refused_with_what_they_have(
    selector: str, properties: str, told: str
) -> None:
    error = message_of("--selector", selector, "--properties", properties)
    assert error.startswith(f"--selector {selector!r}: it matches no message of the run: ")
    assert told in error
    assert error.endswith("; write FALSE to select nothing on purpose")


def test_each_selector_of_a_class_has_to_match_a_message_unless_it_asks_for_no_property() -> None:
    Producer.properties, Consumer.selector = {"colour": ["red", "blue"]}, ("colour = 'red'", "", "colour = 'green'")
    assert message_of().startswith(
        """Consumer: selector "colour = 'green'": it matches no message of the run: colour"""
    )
    Consumer.selector = ("colour = 'red'", "FALSE", "colour IS NOT NULL")
    assert make(scenario(), read(namespace(), scenario(), None))


def test_a_time_to_live_of_zero_and_no_selector_at_all_are_refused_in_classes_too() -> None:
    Producer.time_to_live_s = 0
    assert message_of() == (
        "Producer: time_to_live_s = 0: must be at least 0.001 s, as brokers take 0 for never, and at most "
        "4,294,967 s; write None for messages that never expire"
    )
    Producer.time_to_live_s, Consumer.selector = None, ()
    assert "Consumer: selector is an empty list; write '' for every message" in message_of()
    Consumer.selector = "colour = 'red"
    assert message_of().startswith("""Consumer: selector "colour = 'red": at character 10: a quote is opened here""")


def test_two_classes_that_send_to_one_place_carry_the_same() -> None:
    class Other(ProducerUser):
        group, destination, fixed_count = "producers", "queue://q", 1
        time_to_live_s = 5

    class Reading(ConsumerUser):
        group, destination, fixed_count = "consumers", "queue://q", 1

    both = replace(scenario(), users=(Producer, Other, Reading))
    with pytest.raises(UserError, match="Producer and Other send to queue://q with different properties or times"):
        make(both, read(namespace(), both, None))


def test_classes_that_are_to_be_at_different_brokers_need_a_topology_that_has_them() -> None:
    class Elsewhere(ConsumerUser):
        group, destination, fixed_count = "consumers", "queue://q", 1
        stays = (Stay(place=1),)

    class Here(ConsumerUser):
        group, destination, fixed_count = "consumers", "queue://q", 1
        stays = (Stay(place=0),)

    both = replace(scenario(), users=(Producer, Here, Elsewhere))
    assert make(both, read(namespace(), both, None)).counts["Here"] == 1
    with pytest.raises(UserError) as raised:
        make(both, read(namespace("--topology", "single"), both, None))
    assert str(raised.value) == (
        f"--topology single: Here and Elsewhere of scenario {both.name} are to be at different brokers, and group "
        "'consumers' enters at 1 broker; leave --topology out for mesh, or choose one where consumers enter at 2 "
        "brokers or more"
    )
