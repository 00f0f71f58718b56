"""Checks that a YAML file larger than any network needs is rejected at once, with the limit in the error."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from brokerbench.nightly import plan
from topologies.catalogue.lookup import build
from topologies.catalogue.overlay import apply_overlay
from topologies.catalogue.yaml_topology import parse_topology
from topologies.model.validity import TopologyInvalid
from topologies.runtimes.external import file as brokers_file

DOUBLED = 40
MERGES = "name: m\nbrokers:\n  - &b0 {name: a}\n" + "".join(
    f"  - &b{n} {{<<: [*b{n - 1}, *b{n - 1}], name: a{n}}}\n" for n in range(1, DOUBLED)
)
ROUND_AND_ROUND = "name: m\nbrokers: [&b {name: a, <<: *b}]\n"
NAMES = f"name: m\nbrokers: [{', '.join(f'b{n}' for n in range(200_000))}]\n"
MANY = f"name: m\nbrokers: [{', '.join(f'b{n}' for n in range(30_000))}]\n"
DIGITS = f"name: m\nbrokers: [{{name: a, memory_percent_of_heap: {'9' * 5_000}}}]\n"
SIXTEENS = f"name: m\nbrokers: [{{name: a, memory_percent_of_heap: 0x{'f' * 5_000}}}]\n"
DEEP = f"name: {'[' * 3_000}\n"
DEEP_AFTER_AN_ERROR = f"  name: {{a:{'{' * 700}"
"""The faster of PyYAML's loaders ends at ``a:{``, which the other one accepts."""
ALIASES = (
    "name: m\nbrokers:\n- {name: first, policies: &p [&q {pattern: a}"
    + ", *q" * 900
    + "]}\n"
    + "".join(f"- {{name: b{n}, policies: *p}}\n" for n in range(900))
)
BROKER = "name: m\nbrokers: [{{name: a, {}}}]\n"
SECONDS = 2.0  # CPU time: a limit takes effect within one second on an idle machine


@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        (ROUND_AND_ROUND, "my.yaml:2:11: brokers[0]: '<<' must name a mapping that is anchored (&) above"),
        (NAMES, "my.yaml: it has more than 1,000,000 characters; shorten it"),
        (MANY, "the file has more than 20,000 names and values; write fewer"),
        (DIGITS, "(5,003 characters) but it must be a whole number"),
        (SIXTEENS, "but a number has at most 64 bits; write less"),
        (DEEP, "my.yaml:1:56: this is nested more than 50 levels deep; nest it less"),
        (DEEP_AFTER_AN_ERROR, "my.yaml: it is nested more than 50 levels deep; nest it less"),
        (ALIASES, "the file expands to more than 40,000 values; use fewer entries or fewer aliases (*)"),
        (f"name: m\nbrokers: [{', '.join(f'b{n}' for n in range(201))}]", "it has 201 brokers; write at most 200"),
        (f"name: m\nbrokers: [{'b' * 300}]", "(303 characters) it has 300 characters; use at most 63"),
        (f"name: m\nbrokers: [{'b' * 64}]", "it has 64 characters; use at most 63"),
        (f"name: {'m' * 64}\nbrokers: [b]", "it has 64 characters; use at most 63"),
        (BROKER.format("memory_limit_bytes: 9223372036854775808"), "it must be at most 9223372036854775807"),
        (BROKER.format("store_limit_bytes: 99999999999999999999999"), "a number has at most 64 bits; write less"),
        (
            BROKER.format("policies: [{pattern: a, queue_prefetch: 2147483648}]"),
            "queue_prefetch=2147483648, but it must be at most 2147483647",
        ),
    ],
    ids=[
        *("round", "names", "many", "digits", "hexadecimal", "deep", "deep after an error", "aliases"),
        *("brokers", "name", "host", "topology"),
        *("long", "huge", "int"),
    ],
)
def test_a_file_that_stands_for_more_than_a_network_needs_is_refused_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, refusal: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("my.yaml").write_text(text, encoding="utf-8")
    began_s = time.process_time()
    with pytest.raises(TopologyInvalid) as raised:
        build("my.yaml")
    assert time.process_time() - began_s < SECONDS
    assert refusal in str(raised.value)
    assert len(str(raised.value)) < 500


def test_merges_that_double_are_read_at_once() -> None:
    began_s = time.process_time()
    topology = parse_topology(MERGES, "my.yaml")
    assert time.process_time() - began_s < SECONDS
    assert [broker.name for broker in topology.brokers] == ["a", *(f"a{n}" for n in range(1, DOUBLED))]


def test_a_merged_field_gives_way_to_ones_own_and_an_earlier_merge_to_none() -> None:
    text = (
        "name: m\nbrokers:\n- &first {name: a, region: north, memory_percent_of_heap: 10}\n"
        "- &second {name: b, region: south, store_limit_bytes: 2097152}\n- {<<: [*first, *second], name: c}\n"
    )
    merged = parse_topology(text, "my.yaml").brokers[2]
    assert (merged.name, merged.region) == ("c", "north")
    assert vars(merged)["memory_percent_of_heap"] == 10
    assert vars(merged)["store_limit_bytes"] == 2_097_152


@pytest.mark.parametrize(
    "read",
    [lambda path: apply_overlay(build("mesh"), str(path)), plan.read, brokers_file.read],
    ids=["overlay", "plan", "brokers file"],
)
@pytest.mark.parametrize("text", [NAMES, MANY, DEEP], ids=["names", "many", "deep"])
def test_every_file_in_yaml_has_these_limits(tmp_path: Path, read: Callable[[Path], object], text: str) -> None:
    (tmp_path / "my.yaml").write_text(text, encoding="utf-8")
    began_s = time.process_time()
    with pytest.raises(ValueError, match=r"more than 1,000,000 char|more than 20,000 names|nested more than 50 levels"):
        read(tmp_path / "my.yaml")
    assert time.process_time() - began_s < SECONDS


def test_a_device_that_never_ends_is_no_file() -> None:
    with pytest.raises(TopologyInvalid, match="more than 1,000,000 characters"):
        apply_overlay(build("mesh"), "/dev/zero")


NO_VALUE = "brokers is not a plain value; write a number"
NO_CALL = r"cannot be read; write NAME or NAME\(PARAMETER=VALUE"


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("-" * 3_000 + "1", NO_VALUE),
        ("1+" * 3_000 + "1", NO_VALUE),
        ("[" * 3_000, NO_VALUE),
        ("9" * 5_000, NO_VALUE),
        ("(" * 3_000, NO_CALL),
    ],
)
def test_a_parameter_that_python_itself_cannot_read_is_no_plain_value(value: str, problem: str) -> None:
    with pytest.raises(TopologyInvalid, match=problem) as raised:
        build(f"mesh(brokers={value})")
    assert len(str(raised.value)) < 500
