"""Checks that any text in an option, YAML file, plan or run folder is read, or rejected in one sentence within 2 s.

Hypothesis damages valid input, and inserts invalid input.
"""

import copy
import json
import random
import time
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, NoReturn

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from brokerbench import Hold, Scenario, no_acked_send_lost
from brokerbench.cli import main
from brokerbench.nightly import plan as nightly_plan
from drivers.users.locust_users import ConsumerUser, ProducerUser
from harness import machine
from harness.options import plan
from harness.options.arguments import add_arguments
from harness.options.run_options import read
from harness.options.user_classes import CONFIGURED
from records.errors import RunUnreadable, UserError
from records.store.rundir import RunDirectory
from tests.reports.run_folder import RunPlan, write_run_folder
from tests.support.locust_run import REPOSITORY
from topologies.catalogue.lookup import build
from topologies.catalogue.overlay import Overlay
from topologies.catalogue.yaml_topology import parse_topology
from topologies.model.spelling import UNPRINTABLE, shortened
from topologies.model.validity import TopologyInvalid
from topologies.runtimes.choice import ContainerSupport
from topologies.runtimes.external import file as brokers_file

MOST_S = 2.0  # of the processor
LONGEST = 6_000  # characters of an error message
OFTEN, SELDOM = 900, 10
fuzzed = settings(deadline=None, suppress_health_check=[*HealthCheck])


class Producer(ProducerUser):
    group, destination, fixed_count = "producers", "queue://q", 2


class Consumer(ConsumerUser):
    group, destination, fixed_count = "consumers", "queue://q", 3


SCENARIO = Scenario((Producer, Consumer), "mesh", Hold(for_s=30), (no_acked_send_lost(),))


def read_or_refused(reading: Callable[[], object], *refusals: type[Exception]) -> None:
    """Fail the test for any other exception, and for an error message that is not a sentence."""
    began_s = time.process_time()
    try:
        reading()
    except refusals as error:
        sentence = shortened(str(error)) if type(error) is UserError else str(error)  # as commands show it
        assert sentence.strip()
        assert len(sentence) <= LONGEST
        assert not UNPRINTABLE.search(sentence), sentence
        assert "Traceback" not in sentence
        assert "set_int_max_str_digits" not in sentence
    assert time.process_time() - began_s < MOST_S


# -- options -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", autouse=True)
def known_machine() -> Iterator[None]:
    """Skip git: asking for the commit takes longer than everything else."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(machine, "versions", lru_cache(machine.versions))
        patch.setattr(machine, "describe", lru_cache(machine.describe))
        yield


class RaisingParser(ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UserError(message)


@lru_cache
def parser() -> RaisingParser:
    parser_of_options = RaisingParser()
    add_arguments(parser_of_options, SCENARIO)
    return parser_of_options


VALID = {
    "--topology": ["mesh", "mesh(brokers=5)", "cluster(brokers=3)", "source-and-sink(duplex=True)", "a.yaml"],
    "--link": ["*:delay=40ms", "broker-1-to-broker-2:delay=5ms,jitter=1ms,bandwidth=10MB/s", "broker-1<->broker-2:"],
    "--failover": ["randomize=false&timeout=3000", "nested.x=1", "priorityURIs=tcp://a:1", "backup=true"],
    "--fault": [
        "kill(broker-1, at=1, for=2)",
        "slow(x, at=1, delay=4ms)",
        "restart(producers, at=1, every=9, times=2)",
    ],
    "--check": ["messages.lost == 0", "latency_ms.due_to_received.p99 < 50; leftovers <= 1"],
    "--rate": ["100", "100,200@20s", "100..1000@30s", "search(200, step=10, p99=500)"],
    "--clients": ["50,100@10s,connect=2000,p99=500"],
    "--properties": ['{"color": ["red", "blue"]}', '{"a": 1, "b": true, "c": 1.5}'],
    "--selector": ["color = 'red'", "a BETWEEN 1 AND 2 OR NOT (b IS NULL) AND c LIKE '%x_' ESCAPE '!'", "a IN ('b')"],
    "--work-ms": ["5", "2..8", "exponential(5)"],
    "--protocol": ["stomp", "amqp", "openwire:core", "memory"],
    "--runtime": ["processes", "memory", "external"],
    "--broker-version": ["5.16.6"],
    "--client-version": ["5.16.6"],
    "--spark-master": ["local[4]", "spark://host:7077"],
    "--connections": ["one", "pooled", "per-message"],
    "--uris": ["all", "one"],
}
NASTY = (
    *("", " ", "0", "-1", "1e18", "1e-300", "nan", "inf", "-inf", "9" * 400, "9" * 4_500, "0x10", "1_000", "½", "٣"),
    *("(" * 2_000, "[" * 2_000, "{" * 999, "NOT " * 900, "a" * 5_000, "\x00", "\x1b[2J", "\udcff", "\n", "a\nb", "'"),
    *('"', "%s", "${x}", "/etc/passwd", "/", ".", "..", "~", "None", "null", "true", "--help", "=", "==", ",,,", ";;;"),
    *('{"a": ' * 300, '{"a": 1e999}', '{"a": "\\ud800"}', "a LIKE '" + "%a" * 3_000 + "'", "mesh(" + "(" * 500),
)
texts = st.sampled_from(NASTY) | st.text(max_size=30) | st.integers().map(str) | st.floats().map(str)


@st.composite
def damaged(draw: st.DrawFn, valid: str) -> str:
    """Draw the text with a part removed, doubled or replaced."""
    begin, last = sorted((draw(st.integers(0, len(valid))), draw(st.integers(0, len(valid)))))
    return valid[:begin] + draw(st.just("") | st.just(2 * valid[begin:last]) | texts) + valid[last:]


@st.composite
def options(draw: st.DrawFn) -> list[str]:
    names = [action.option_strings[-1] for action in parser()._actions if action.nargs != 0]
    chosen = draw(st.lists(st.sampled_from(names), max_size=4, unique=True))
    valid = {name: draw(st.sampled_from(VALID.get(name, ["1"]))) for name in chosen}
    values = {name: draw(st.just(text) | damaged(text) | texts) for name, text in valid.items()}
    runtime = [] if "--runtime" in values else [draw(st.sampled_from(["--runtime=memory", "--runtime=processes"]))]
    return [*(f"{name}={value}" for name, value in values.items()), *runtime]


def make_plan(arguments: list[str]) -> None:
    chosen = read(parser().parse_args(arguments), SCENARIO, None, look=lambda flavour, image: ContainerSupport())
    json.dumps(plan.would_run(plan.make(SCENARIO, chosen)))


@settings(fuzzed, max_examples=OFTEN)
@given(options())
def test_any_options_are_a_plan_or_a_sentence(arguments: list[str]) -> None:
    read_or_refused(lambda: make_plan(arguments), UserError)


@settings(fuzzed, max_examples=OFTEN)
@given(
    st.sampled_from(sorted(VALID)).flatmap(lambda name: st.tuples(st.just(name), st.sampled_from(VALID[name]))),
    st.data(),
)
def test_any_damaged_value_of_an_option_is_a_plan_or_a_sentence(option: tuple[str, str], data: st.DataObject) -> None:
    name, valid = option
    arguments = [f"{name}={data.draw(damaged(valid))}", *([] if name == "--runtime" else ["--runtime=processes"])]
    read_or_refused(lambda: make_plan([*arguments, "--protocol=amqp"]), UserError)


values = st.one_of(
    *(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=9), st.sampled_from(NASTY)),
    *(st.lists(st.integers(), max_size=2), st.just({}), st.dictionaries(st.text(max_size=3), st.text(max_size=3))),
)


@settings(fuzzed, max_examples=OFTEN // 2)
@given(st.sampled_from((Producer, Consumer)), st.sampled_from((*CONFIGURED, "destination", "group", "durable")), values)
def test_any_attribute_of_a_user_class_is_a_plan_or_a_sentence(user: type, name: str, value: object) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(user, name, value, raising=False)
        read_or_refused(lambda: make_plan(["--runtime=processes", "--protocol=amqp"]), UserError)


@settings(fuzzed, max_examples=OFTEN // 3)
@given(damaged("mesh(brokers=3, message_ttl=2)") | damaged("mirror(sync=True)") | texts)
def test_any_name_of_a_topology_is_one_or_a_sentence(text: str) -> None:
    read_or_refused(lambda: build(text), TopologyInvalid)


# -- YAML --------------------------------------------------------------------------------------------------------------

BRANCHES = (REPOSITORY / "topologies/examples/branch-offices.yaml").read_text(encoding="utf-8")
ARTEMIS = """\
name: to-the-cloud
flavour: artemis
brokers: [{name: source, addresses: [&a {name: parts, queue: parts.in}]}, {name: sink, addresses: [*a]}]
links:
  - {opened_by: sink, to: source, receivers: [{address_match: parts}], impairment: {delay_ms: 4}}
groups: [{name: producers, enter_at: [source], failover: randomize=false}, {name: consumers, enter_at: [sink]}]
"""
OVERLAY = """\
brokers:
  all: {persistence: {journal_disk_sync_strategy: periodic}, jvm: {heap_mb: 1024, options: [-XX:+UseZGC]}}
  broker-2: {memory_percent_of_heap: 50, policies: [{pattern: ">", kind: queue}]}
links: {all: {prefetch_size: 100}}
"""
NIGHTLY = (REPOSITORY / "benchmarks/nightly.yaml").read_text(encoding="utf-8")
BROKERS = """\
brokers:
  broker-1: {stomp: "stomp+ssl://b-1.example.com:61614", management: "https://b-1.example.com:8162/api/jolokia/"}
credentials_file: credentials.env
"""
in_yaml = st.sampled_from(
    (
        *(
            "*a",
            "&a",
            "<<: *a",
            "!!int x",
            "!!binary x",
            "!x y",
            "2026-13-41",
            "1:2:3",
            "0xff",
            ".inf",
            ".nan",
            "~",
            "? a",
        ),
        *(
            "- ",
            "[",
            "]",
            "{",
            "}",
            ": ",
            "#",
            "|",
            ">",
            "%",
            "@",
            "\t",
            "---\n",
            "...",
            "&a [*a]",
            "{<<: [*a, *a]}",
            "[]",
        ),
        *("null", "yes", "1e999", "9" * 4_500, "[" * 60, "a" * 300, "\x85", "\ufeff", "é" * 70, "{}", "-1", "''"),
    )
)


@st.composite
def damaged_yaml(draw: st.DrawFn, valid: str) -> str:
    """Draw the file with replaced words, and removed, doubled or moved lines."""
    text = valid
    for _ in range(draw(st.integers(1, 3))):
        if draw(st.booleans()):
            at = draw(st.integers(0, len(text)))
            text = text[:at] + draw(in_yaml | texts) + text[at + draw(st.integers(0, 9)) :]
        else:
            lines = text.splitlines(keepends=True)
            random.Random(draw(st.integers(0, 99))).shuffle(lines) if draw(st.booleans()) else lines.append(
                draw(st.sampled_from(lines or ["\n"]))
            )
            text = "".join(lines[draw(st.integers(0, 2)) :])
    return text


@settings(fuzzed, max_examples=OFTEN // 3)
@given(damaged_yaml(BRANCHES) | damaged_yaml(ARTEMIS))
def test_any_file_of_a_topology_is_one_or_a_sentence(text: str) -> None:
    read_or_refused(lambda: parse_topology(text, "my.yaml"), TopologyInvalid)


MESH = build("mesh")


@settings(fuzzed, max_examples=OFTEN // 3)
@given(damaged_yaml(OVERLAY))
def test_any_overlay_is_laid_over_or_a_sentence(text: str) -> None:
    read_or_refused(lambda: Overlay(Path("my.yaml"), text).apply(MESH), TopologyInvalid)


@pytest.mark.parametrize(
    ("valid", "reading", "refusal"),
    [
        (NIGHTLY, nightly_plan.read, UserError),
        (BROKERS, brokers_file.read, UserError),
    ],
    ids=["plan", "brokers file"],
)
def test_any_plan_and_any_brokers_file_is_one_or_a_sentence(
    tmp_path: Path, valid: str, reading: Callable[[Path], object], refusal: type[Exception]
) -> None:
    @settings(fuzzed, max_examples=OFTEN // 3)
    @given(damaged_yaml(valid))
    def try_it(text: str) -> None:
        (tmp_path / "my.yaml").write_bytes(text.encode("utf-8", "surrogateescape"))
        read_or_refused(lambda: reading(tmp_path / "my.yaml"), refusal)

    try_it()


# -- run folders -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run_folder(tmp_path_factory.mktemp("runs"), RunPlan(load_s=4, per_s=20, fault_s=(1.0, 2.0)))


@st.composite
def damaged_json(draw: st.DrawFn, valid: Any) -> Any:
    """Draw the document with one value, at any depth, replaced or removed."""
    whole = copy.deepcopy(valid)
    part = whole
    while True:
        keys = list(part) if isinstance(part, dict) else list(range(len(part)))
        if not keys:
            return whole
        key = draw(st.sampled_from(keys))
        if isinstance(part[key], dict | list) and part[key] and draw(st.booleans()):
            part = part[key]
        elif isinstance(part, dict) and draw(st.booleans()):
            del part[key]
            return whole
        else:
            part[key] = draw(values)
            return whole


def refused_or_fine(arguments: list[str]) -> None:
    """Run the command line in this process."""
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code in (0, 2), result.output
    assert "unexpected error" not in result.output, result.output
    assert "Traceback" not in result.output


def test_any_run_json_is_read_or_refused_in_a_sentence(run: Path, tmp_path: Path) -> None:
    valid = json.loads((run / "run.json").read_text(encoding="utf-8"))
    directory = RunDirectory(tmp_path)

    @settings(fuzzed, max_examples=OFTEN // 2)
    @given(damaged_json(valid).map(json.dumps) | damaged(json.dumps(valid)) | texts)
    def try_it(text: str) -> None:
        directory.run_path.write_bytes(text.encode("utf-8", "surrogateescape"))
        read_or_refused(directory.read_run, RunUnreadable)

    try_it()


@pytest.mark.parametrize("name", ["run.json", "summary.json"])
def test_any_damage_to_a_run_folder_is_reported_on_or_refused_in_a_sentence(run: Path, name: str) -> None:
    valid = (run / name).read_text(encoding="utf-8")

    @settings(fuzzed, max_examples=SELDOM)
    @given(damaged_json(json.loads(valid)).map(json.dumps) | damaged(valid))
    def try_it(text: str) -> None:
        (run / name).write_bytes(text.encode("utf-8", "surrogateescape"))
        refused_or_fine(["report", str(run)])

    try:
        try_it()
    finally:
        (run / name).write_text(valid, encoding="utf-8")
