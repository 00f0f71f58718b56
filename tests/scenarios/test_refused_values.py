"""Checks that values which no run can have are refused in one sentence: of options, of locustfiles and of the form."""

import json
import sys
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from locust import events
from locust.argument_parser import get_empty_argument_parser, setup_parser_arguments
from locust.util.load_locustfile import load_locustfile

from drivers.users.locust_users import ConsumerUser, ProducerUser
from records.errors import UserError
from records.message_properties import MessageProperties
from scenarios.harness import Hold, Scenario, locustfile_errors, no_acked_send_lost
from scenarios.harness.options.arguments import add_arguments
from scenarios.harness.options.plan import Plan, make
from scenarios.harness.options.run_options import read
from scenarios.harness.options.user_settings import remember, restore
from scenarios.harness.web.form import namespace_of
from tests.support.locust_run import REPOSITORY, make_run
from topologies.model.spelling import shortened


class Producer(ProducerUser):
    group, destination, fixed_count = "producers", "queue://q", 2


class Consumer(ConsumerUser):
    group, destination, fixed_count = "consumers", "queue://q", 3


SCENARIO = Scenario((Producer, Consumer), "mesh", Hold(for_s=30), (no_acked_send_lost(),))
NINES, MANY_NINES = "9" * 3_900, "9" * 5_000  # Python makes whole numbers of up to 4,300 digits
DEEP = 3_000


@pytest.fixture(autouse=True)
def restore_user_classes() -> Iterator[None]:
    own = remember(SCENARIO)
    yield
    restore(own)


def plan_of(*arguments: str) -> Plan:
    parser = ArgumentParser()
    add_arguments(parser, SCENARIO)
    return make(SCENARIO, read(parser.parse_args(["--runtime", "processes", *arguments]), SCENARIO, None))


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--rate", "1e18"), "--rate 1e+18: must be at most 10,000,000;"),
        (("--rate", "1e-300"), "--rate 1e-300: must be at least 0.001;"),
        (("--rate", NINES), "(3,901 characters) has more than 100 characters; write a number, steps"),
        (("--rate", f"100@{NINES}s"), "lasts too long; a step lasts at most 2,678,400 s"),
        (("--rate", "1e18,2e18@20s"), "a rate is at most 10,000,000 messages a second"),
        (("--rate", "0.0001,1@20s"), "a rate is at least 0.001 messages a second"),
        (("--rate", MANY_NINES), "has 5,000 characters; write at most 4,000"),
        (("--rate", "search(1e18)"), "the rate must be at least 0.001 and at most 10,000,000 messages a second"),
        (("--rate", "search(100, step=1e18)"), "a step lasts at most 2,678,400 s"),
        (("--producers", "100000000000"), "--producers 100000000000: must be at most 100,000;"),
        (("--consumers", "100001"), "--consumers 100001: must be at most 100,000;"),
        (("--destinations", "1000000"), "--destinations 1000000: must be at most 100,000;"),
        (("--messages", "1" + "0" * 20), "--messages 100000000000000000000: must be at most 1,000,000,000,000;"),
        (("--body-bytes", "1" + "0" * 20), "--body-bytes 100000000000000000000: must be at most 1,073,741,824;"),
        (("--prefetch", "2147483648"), "--prefetch 2147483648: must be at most 2,147,483,647;"),
        (("--warm-up", "1e9"), "--warm-up 1e+09: must be at most 86,400;"),
        (("--seed", "1" + "0" * 20), "--seed 100000000000000000000: must be at most 9,223,372,036,854,775,807"),
        (("--broker-memory", "99999999"), "--broker-memory 99999999: must be at most 4,194,304;"),
        (("--failover", "timeout=1&timeout=2"), "the option 'timeout' is given twice; keep one of them"),
        (("--failover", "randomize=maybe"), "--failover randomize=maybe: randomize='maybe' is neither true nor false"),
        (("--failover", "randomize=true&Randomize=false"), "the option 'randomize' is given twice"),
        (("--failover", f"timeout={NINES}"), "is too much; write at most 9223372036854775807"),
        (("--failover", "reconnectDelayExponent=1e999"), "reconnectDelayExponent='1e999' is too much"),
        (("--runs", "/etc/passwd"), "--runs /etc/passwd: /etc/passwd is a file; name a folder"),
        (("--runs", "/etc/passwd/runs"), "--runs /etc/passwd/runs: /etc/passwd is a file; name a folder"),
        (("--runs", ""), "--runs: names no folder of its own; write a name, such as runs"),
        (("--junit", "9" * 400), "(401 characters) the name of a file has at most 255 bytes; name another"),
        (("--runs", "x" * 300), "the name of a file has at most 255 bytes; name another"),
        (
            ("--spark-master", "nonsense"),
            "--spark-master nonsense: no master of Spark; write local[4], spark://HOST:70",
        ),
        (("--spark-master", "local[0]"), "--spark-master local[0]: no master of Spark"),
        (("--check", "latency.p99 < 5"), "no figure 'latency.p99'; did you mean 'latency_ms.due_to_received.p99'?"),
        (("--check", "lost == 0"), "no figure 'lost'; did you mean 'messages.lost'?"),
        (("--fault", "explode(broker-1 at=5)"), "no fault 'explode'; there are kill, stop, restart"),
        (("--fault", "kil(broker-1 at=5)"), "no fault 'kil'; did you mean 'kill'? There are kill, stop, restart"),
        (("--fault", "kill(broker-1 at=5)"), "cannot be read; write a comma behind broker-1, as in kill(broker-2, at="),
        (("--fault", "kill(" + " " * 100_000), "has 100,005 characters; write at most 4,000"),
        (("--topology", "mesh\x1b[31m"), "--topology 'mesh\\x1b[31m': holds control characters; write it in one line"),
        (("--topology", "mesh\udcff"), "--topology mesh\\udcff: holds bytes that are no UTF-8; write it in UTF-8"),
        (("--selector", "a = '\udcff'", "--protocol", "core"), "--selector a = '\\udcff': holds bytes that are no UTF"),
    ],
)
def test_a_value_that_no_run_can_have_is_refused_with_its_rule_before_anything_starts(
    arguments: tuple[str, ...], told: str
) -> None:
    with pytest.raises(UserError) as raised:
        plan_of(*arguments)
    sentence = shortened(str(raised.value))  # as Locust's log shows it
    assert told in sentence
    assert len(sentence) < 800
    assert len(sentence.splitlines()) == 1


@pytest.mark.parametrize(
    ("properties", "told"),
    [
        ('{"a": "x", "a": "y"}', "property 'a' is given twice; keep one, with a list of values where it has several"),
        ('{"a": ' + "[" * DEEP + "]" * DEEP + "}", "its lists lie too deep in each other"),
        ("[" * DEEP, "its lists lie too deep in each other"),
        ('{"a": "\\ud800"}', "has half of a surrogate pair, which no UTF-8 has; write the character itself"),
        (f'{{"a": {MANY_NINES}}}', "a number of 5,000 digits must fit into 64 bits"),
        ('{"a": ["' + '", "'.join(map(str, range(1_001))) + '"]}', "property a has 1,001 values; 1,000 is the most"),
        (
            json.dumps({"a": list(range(997)), "b": list(range(991))}),
            "repeat after 988,027 messages only; 1,000 is the most",
        ),
    ],
    ids=["twice", "deep", "deep and open", "surrogate", "digits", "values", "period"],
)
def test_properties_that_no_message_can_have_are_refused(properties: str, told: str) -> None:
    with pytest.raises(UserError) as raised:
        plan_of("--protocol", "openwire", f"--properties={properties}")
    assert told in str(raised.value)


@pytest.mark.parametrize(
    ("selector", "told"),
    [
        ("(" * DEEP + "a" + ")" * DEEP, "more than 40 brackets, NOT or signs are inside each other"),
        ("NOT " * DEEP + "a", "more than 40 brackets, NOT or signs are inside each other"),
        ("a = " + "-" * DEEP + "1", "more than 40 brackets, NOT or signs are inside each other"),
        ("a = 'x' OR " * DEEP + "a = 'x'", "has 33,007 characters; write at most 20,000"),
        (f"a = {MANY_NINES}", "does not fit into 64 bits; write less"),
        ("a = 1e999", "1e999 does not fit into 64 bits; write less"),
    ],
    ids=["brackets", "NOT", "signs", "long", "digits", "infinite"],
)
def test_a_selector_that_no_broker_could_read_is_refused(selector: str, told: str) -> None:
    with pytest.raises(UserError) as raised:
        plan_of("--protocol", "openwire", "--selector", selector)
    assert told in str(raised.value)


def test_a_control_character_or_half_of_a_surrogate_pair_is_in_no_property() -> None:
    with pytest.raises(ValueError, match="half of a surrogate pair"):
        MessageProperties.of({"colour": ["red", "\udcff"]})


def test_heaps_beyond_the_machine_are_warned_of_and_memory_limits_beyond_the_heap_refused(tmp_path: Path) -> None:
    (warning,) = (text for text in plan_of("--broker-memory", "4000000").info.warnings if "heaps" in text)
    assert warning.startswith("the heaps of 3 brokers take 12,000,000 MiB, and this machine has ")
    assert not [text for text in plan_of().info.warnings if "heaps" in text]
    overlay = tmp_path / "limits.yaml"
    overlay.write_text("brokers: {all: {memory_limit_bytes: 536870913}}", encoding="utf-8")
    with pytest.raises(UserError, match=r"broker 'broker-1': memory_limit_bytes=536870913, but its heap is 512 MiB"):
        plan_of("--overlay", str(overlay))
    plan_of("--overlay", str(overlay), "--broker-memory", "513")


@pytest.mark.parametrize(
    "text", ["999999999999999h", MANY_NINES, "-5s", "forever"], ids=["huge", "digits", "negative", "word"]
)
def test_a_run_time_that_is_none_is_refused_by_locusts_own_parser_and_by_the_form(text: str) -> None:
    parser = get_empty_argument_parser()
    setup_parser_arguments(parser)
    add_arguments(parser, SCENARIO)
    (action,) = (action for action in parser._actions if action.dest == "run_time")
    assert isinstance(action.type, Callable)  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match="write a time of at most 31 days, such as 30s, 5m or 1h20m"):
        action.type(text)
    with pytest.raises(UserError, match="write it as 20, 20s, 3m, 2h or 1h20m"):
        namespace_of({"run_time": text}, parser.parse_args([]))


# -- locustfiles -------------------------------------------------------------------------------------------------------

STEADY = (REPOSITORY / "scenarios/steady.py").read_text(encoding="utf-8")
LOAD = "load=Hold(for_s=30)"


def refusal_of(locustfile: Path) -> str:
    """What Locust's process would print as its last line."""
    kept = list(events.init_command_line_parser._handlers), list(events.init._handlers)
    try:
        load_locustfile(str(locustfile))
    except Exception as error:
        return locustfile_errors.sentence(error, error.__traceback__)
    finally:
        events.init_command_line_parser._handlers, events.init._handlers = kept
        sys.modules.pop(locustfile.stem, None)
    raise AssertionError("it was not refused")


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (LOAD, "load=Hold(for_s=-5)", ":39: load Hold(for_s=-5): must last longer than 0 s"),
        (LOAD, "load=Hold(for_s=float('nan'))", ":39: load Hold(for_s=nan): must last longer than 0 s"),
        (LOAD, "load=Hold(for_s='5')", ":39: load Hold: for_s='5', but it must be a number"),
        (LOAD, "load=30", "scenario: load=30, but it must be of class Hold or of class Steps"),
        ("users=(SteadyProducer, SteadyConsumer)", "users=SteadyProducer", "it must be a tuple of BrokerUser"),
        ("users=(SteadyProducer,", "users=(str, SteadyProducer,", "users has str, which is no ProducerUser or Consum"),
        ('default_topology="mesh"', "default_topology=3", "default_topology=3, but it must be a text"),
        ("none_corrupted(),", "none_corrupted,", "but it must be a tuple of Check"),
        ("fixed_count = 2 ", "fixed_count = 2; stays = (1,) ", "SteadyConsumer: stays=(1,), but it must be a tuple of"),
        (LOAD, "load=Hold()", ":39: Hold(…): missing 1 required positional argument: 'for_s'; it takes for_s, and may"),
        (
            LOAD,
            "load=Hold(30, for_ever=True)",
            "Hold(…): got an unexpected keyword argument 'for_ever'; it takes for_s",
        ),
        (
            f"{LOAD},",
            "",
            "Scenario(…): missing 1 required positional argument: 'load'; it takes users, default_topology",
        ),
        ("none_corrupted(),", "duplicates_at_most(),", "duplicates_at_most(…): missing 1 required positional argument"),
        (
            "none_corrupted(),",
            "duplicates_at_most(-1),",
            ":44: duplicates_at_most(-1): must be a whole number, 0 or more",
        ),
        (
            "from scenarios.harness import (",
            "from scenarios.harness import each_delivered; each_delivered('queue')\nfrom scenarios.harness import (",
            ":7: each_delivered('queue'): no kind of messages has this name; did you mean 'queue_persistent'?",
        ),
        ("none_corrupted(),", "duplicates_at_most('2'),", "duplicates_at_most('2'): must be a whole number, 0 or more"),
        (
            STEADY[STEADY.index("\nrun(") :],
            "\nrun(1)\n",
            "run: scenario=1, but it must be of class Scenario; write run(",
        ),
        (STEADY[STEADY.index("\nrun(") :], 2 * STEADY[STEADY.index("\nrun(") :], "this process has a scenario already"),
    ],
)
def test_a_locustfile_that_breaks_a_rule_is_told_by_its_line(tmp_path: Path, old: str, new: str, told: str) -> None:
    assert old in STEADY
    (tmp_path / "refused.py").write_text(STEADY.replace(old, new, 1), encoding="utf-8")
    sentence = refusal_of(tmp_path / "refused.py")
    assert told in sentence
    assert sentence.startswith(str(tmp_path / "refused.py"))
    assert len(sentence.splitlines()) == 1


def test_a_refused_value_is_shown_as_its_author_wrote_it_and_not_as_python_has_it(tmp_path: Path) -> None:
    path = tmp_path / "refused.py"
    for old, new, told in (
        ("none_corrupted(),", "none_corrupted,", "checks=(Check(…), Check(…), Check(…), none_corrupted, Check(…)"),
        ("users=(SteadyProducer, SteadyConsumer)", "users=SteadyProducer", "users=SteadyProducer, but it must be"),
    ):
        path.write_text(STEADY.replace(old, new, 1), encoding="utf-8")
        assert told in refusal_of(path)


def test_an_error_that_is_no_rule_of_ours_keeps_its_stack_trace(tmp_path: Path) -> None:
    (tmp_path / "refused.py").write_text("raise ValueError('mine')", encoding="utf-8")
    assert refusal_of(tmp_path / "refused.py") == ""


@pytest.mark.parametrize(
    ("attributes", "told"),
    [
        ({"sends_per_second": "5"}, "Producer: sends_per_second='5', but it must be a number"),
        ({"sends_per_second": 1e18}, "Producer: sends_per_second = 1e+18: must be at most 10,000,000"),
        ({"fixed_count": "6"}, "Producer: fixed_count='6', but it must be a whole number"),
        ({"fixed_count": 6.5}, "Producer: fixed_count=6.5, but it must be a whole number"),
        ({"durable": "yes"}, "Producer: durable='yes', but it must be True or False"),
        ({"body_bytes": True}, "Producer: body_bytes=True, but it must be a whole number"),
        ({"properties": ["a"]}, "Producer: properties=['a'], but it must be a dict"),
        ({"properties": {1: "a"}}, "Producer: property 1: a name has letters, digits"),
        ({"destination": "queue://\ud800"}, "no broker takes control characters and lone surrogates in a name"),
        ({"destination": "queue://orders.>"}, "Producer: destination 'queue://orders.>': > is a wildcard for several"),
        ({"destination": "topic://*.eu"}, "Producer: destination 'topic://*.eu': * is a wildcard for several"),
        ({"destination": "queue://my orders"}, "Producer: destination 'queue://my orders': no space may be in it"),
        ({"rate_steps": ",".join(["100@5s"] * 1_001)}, "1,001 steps; write at most 1,000"),
        ({"time_to_live_s": "1"}, "Producer: time_to_live_s='1', but it must be a number or None"),
    ],
)
def test_an_attribute_of_a_user_class_that_is_none_is_refused(
    attributes: dict[str, Any], told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in attributes.items():
        monkeypatch.setattr(Producer, name, value)
    with pytest.raises(UserError) as raised:
        plan_of()
    assert told in str(raised.value)


@pytest.mark.parametrize(
    ("arguments", "edit"),
    [
        (("-t", "999999999999999h"), (LOAD, LOAD)),
        ((), (LOAD, "load=Hold(for_s=-5)")),
        ((), (LOAD, "load=Holt(for_s=5)")),
    ],
    ids=["run time", "rule", "mistake"],
)
def test_locust_itself_ends_with_status_2_then_and_not_as_if_a_check_had_failed(
    tmp_path: Path, arguments: tuple[str, ...], edit: tuple[str, str]
) -> None:
    (tmp_path / "own.py").write_text(STEADY.replace(*edit), encoding="utf-8")
    outcome = make_run(str(tmp_path / "own.py"), "--dry-run", *arguments, runs=tmp_path / "runs")
    assert outcome.status == 2, outcome.output
    assert ("Traceback" in outcome.output) == ("Holt" in edit[1]), "a mistake in Python is shown as Python does"
