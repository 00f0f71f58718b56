"""Checks that invalid values of options, locustfiles and the form are rejected in one sentence."""

import sys
from argparse import ArgumentParser
from pathlib import Path

import pytest
from locust import events
from locust.argument_parser import get_empty_argument_parser, setup_parser_arguments
from locust.util.load_locustfile import load_locustfile

from brokerbench import Hold, Scenario, no_acked_send_lost
from drivers.users.locust_users import ConsumerUser, ProducerUser
from harness import locustfile_errors
from harness.options.arguments import add_arguments
from harness.options.plan import Plan, make
from harness.options.run_options import read
from harness.web.form import namespace_of
from records.errors import UserError
from records.loads.message_properties import MessageProperties
from tests.support.locust_run import REPOSITORY, make_run
from tests.support.refusal_tables import Refusal, refusals


class Producer(ProducerUser):
    group, destination, fixed_count = "producers", "queue://q", 2


class Consumer(ConsumerUser):
    group, destination, fixed_count = "consumers", "queue://q", 3


SCENARIO = Scenario((Producer, Consumer), "mesh", Hold(for_s=30), (no_acked_send_lost(),))


def plan_of(*arguments: str) -> Plan:
    parser = ArgumentParser()
    add_arguments(parser, SCENARIO)
    return make(SCENARIO, read(parser.parse_args(["--runtime", "processes", *arguments]), SCENARIO, None))


def test_a_control_character_or_half_of_a_surrogate_pair_is_in_no_property() -> None:
    with pytest.raises(ValueError, match="half of a surrogate pair"):
        MessageProperties.of({"color": ["red", "\udcff"]})


def test_heaps_beyond_the_machines_memory_cause_a_warning(tmp_path: Path) -> None:
    """A memory limit may be as large as the heap."""
    (warning,) = (text for text in plan_of("--broker-memory", "4000000").info.warnings if "heaps" in text)
    assert warning.startswith("the heaps of 3 brokers take 12,000,000 MiB, and this machine has ")
    assert not [text for text in plan_of().info.warnings if "heaps" in text]
    overlay = tmp_path / "limits.yaml"
    overlay.write_text("brokers: {all: {memory_limit_bytes: 536870913}}", encoding="utf-8")
    plan_of("--overlay", str(overlay), "--broker-memory", "513")


@pytest.mark.parametrize(
    "text", ["999999999999999h", "9" * 5_000, "-5s", "forever"], ids=["huge", "digits", "negative", "word"]
)
def test_a_run_time_that_is_none_is_refused_by_the_form(text: str) -> None:
    parser = get_empty_argument_parser()
    setup_parser_arguments(parser)
    with pytest.raises(UserError, match="write it as 20, 20s, 3m, 2h or 1h20m"):
        namespace_of({"run_time": text}, parser.parse_args([]))


# -- locustfiles -------------------------------------------------------------------------------------------------------

STEADY = (REPOSITORY / "scenarios/steady.py").read_text(encoding="utf-8")
LOAD = "load=Hold(for_s=30)"


def refusal_of(locustfile: Path) -> str:
    """Return the last line that Locust's process would print."""
    handlers = list(events.init_command_line_parser._handlers), list(events.init._handlers)
    try:
        load_locustfile(str(locustfile))
    except Exception as error:
        return locustfile_errors.sentence(error, error.__traceback__)
    finally:
        events.init_command_line_parser._handlers, events.init._handlers = handlers
        sys.modules.pop(locustfile.stem, None)
    raise AssertionError("it was not refused")


@pytest.mark.parametrize("refusal", refusals(Path(__file__).parent / "golden" / "locustfile-errors.txt"), ids=str)
def test_a_locustfile_that_breaks_a_rule_is_refused_with_its_line(refusal: Refusal, tmp_path: Path) -> None:
    refusal.write_files(tmp_path)
    sentence = refusal_of(tmp_path / refusal.words[0])
    refusal.assert_refused_with(sentence.removeprefix(f"{tmp_path}/"))


def test_an_error_that_is_no_rule_of_ours_keeps_its_stack_trace(tmp_path: Path) -> None:
    (tmp_path / "refused.py").write_text("raise ValueError('mine')", encoding="utf-8")
    assert refusal_of(tmp_path / "refused.py") == ""


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
