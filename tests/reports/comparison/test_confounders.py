"""A comparison page begins with the other differences between its arms."""

from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner

from brokerbench.cli import main
from brokerbench.compare.equal_arms import nearest_equal
from records.run import BrokerInfo, GroupInfo, RunInfo, UserInfo
from reports.comparison.build import ComparisonInput, compare_runs, render
from reports.comparison.confounders import Shape, confounder_lines, confounding_differences, shape_of
from reports.comparison.forms import document, markdown
from reports.parts.formats import plain
from tests.reports.comparison.planted import Planted, write_planted
from tests.reports.comparison.test_first_verdicts import SCHEMA
from tests.reports.markup import parse

THREE, FIVE = frozenset("abc"), frozenset("abcde")
MESH = Shape("mesh", 3, 0, (3, 6), THREE, THREE)
MESH_OF_5 = Shape("mesh(brokers=5)", 5, 0, (5, 20), FIVE, FIVE)
HUB = Shape("hub-and-spoke", 5, 0, (0, 0, 3), frozenset("abc"), frozenset("d"))
NEAREST = "The nearest arms that are equal in brokers: …"


def test_arms_of_different_sizes_are_reported() -> None:
    """The report has the cores that the brokers share, and the entry with as many brokers."""
    assert confounding_differences("topology", [MESH, HUB], 2, NEAREST) == (
        "Brokers on the same 2 cores: mesh: 3; hub-and-spoke: 5. Each additional broker takes time on these cores.",
        "Links that a message crosses: mesh: 0 or 1, on average 0.67; hub-and-spoke: 2. Each link adds a hop.",
        "Where clients enter: mesh: producers and consumers at the same 3 brokers; hub-and-spoke: producers at 3 "
        "brokers, consumers at 1 other.",
        NEAREST,
    )


def test_arms_that_are_equal_in_brokers_say_so_and_where_links_still_differ() -> None:
    links, entries, equal = confounding_differences("topology", [MESH_OF_5, HUB], 2, NEAREST)
    assert links.startswith("Links that a message crosses: mesh(brokers=5): 0 or 1, on average 0.80; hub-and-spoke: 2.")
    assert entries.startswith("Where clients enter: ")
    assert equal == "Equal: brokers on the same 2 cores (5 each)."


def test_topologies_that_differ_in_a_setting_only_are_equal_in_all_three() -> None:
    (equal,) = confounding_differences("topology", [MESH, replace(MESH, name="mesh(conduit=False)")], 2)
    assert equal == (
        "None of these differ: brokers on the same 2 cores (3 each), links that a message crosses (0 or 1, on "
        "average 0.67) and where clients enter (producers and consumers at the same 3 brokers)."
    )
    assert confounding_differences("protocol", [replace(MESH, name="stomp"), replace(MESH, name="amqp")], 2) == ()


def test_on_machines_of_their_own_more_brokers_cost_no_shared_cores() -> None:
    brokers = confounding_differences("topology", [MESH, HUB], 0)[0]
    assert brokers == "Brokers: mesh: 3; hub-and-spoke: 5."


@pytest.mark.parametrize(
    ("pairs", "words"),
    [
        ((), "not known"),
        ((4,), "0"),
        ((0, 0, 3), "2"),
        ((5, 20), "0 or 1, on average 0.80"),
        ((0, 3, 2, 1), "1 to 3, on average 1.7"),
    ],
)
def test_the_links_that_messages_cross_are_told_with_their_mean_over_all_pairs(
    pairs: tuple[int, ...], words: str
) -> None:
    assert replace(MESH, pairs_by_links=pairs).link_text == words


def test_brokers_that_stand_by_are_told() -> None:
    pairs = Shape("pairs", 6, 3, (3, 6), THREE, THREE)
    single_pair = Shape("one", 2, 1, (1,), frozenset("a"), frozenset("ab"))
    sentences = confounding_differences("topology", [pairs, single_pair], 0)
    assert sentences[0] == "Brokers: pairs: 6, including 3 standbys; one: 2, including 1 standby."
    assert "one: producers at 1 broker, consumers at 2 brokers, both at 1 of them" in sentences[2]


def test_a_standby_is_no_broker_where_clients_enter() -> None:
    uri = ("broker-1", "broker-1-standby")
    users = tuple(UserInfo(role, role, f"{role}s", "queue://orders", 1) for role in ("producer", "consumer"))
    groups = (GroupInfo("producers", uri), GroupInfo("consumers", uri))
    brokers = (BrokerInfo("broker-1"), BrokerInfo("broker-1-standby", standby_of="broker-1"))
    run = RunInfo("r", "s", "active-standby", "memory", "memory", brokers=brokers, groups=groups, users=users)
    assert shape_of("active-standby", run).entry_text == "producers and consumers at the same 1 broker"


@pytest.fixture
def unequal(tmp_path: Path) -> list[Path]:
    """A block of a mesh of three, and of a hub with four spokes."""
    names = ("hub", "spoke-1", "spoke-2", "spoke-3", "spoke-4")
    hub = {
        "brokers": tuple(map(BrokerInfo, names)),
        "groups": (GroupInfo("producers", names[1:4]), GroupInfo("consumers", names[4:])),
        "pairs_by_links": (0, 0, 3),
        "links": (),
    }
    return [
        write_planted(tmp_path, "1", Planted("mesh", doubtful={}, run={"pairs_by_links": (3, 6)})),
        write_planted(tmp_path, "2", Planted("hub-and-spoke", doubtful={}, run=hub)),
    ]


def test_it_stands_below_the_answer_of_page_markdown_json_and_terminal(unequal: list[Path], tmp_path: Path) -> None:
    comparisons = compare_runs(ComparisonInput(tuple(unequal), (), 5.0, False, nearest_equal=nearest_equal))
    sentences = confounder_lines(comparisons)
    assert sentences[0].startswith("Brokers on the same 2 cores: mesh: 3; hub-and-spoke: 5.")
    assert sentences[-1] == (
        "The nearest arms that are equal in brokers, 5 each: --topologies 'mesh(brokers=5),hub-and-spoke'. In these "
        "arms the number of links that a message crosses still differs: mesh(brokers=5): 0 or 1, on average 0.80; "
        "hub-and-spoke: 2."
    )
    page = parse(render(comparisons)).text()
    assert page.index("What differs besides the topology") < page.index("Verdicts and their reasons")
    written = document(comparisons)
    jsonschema.validate(written, SCHEMA)
    assert written["beside"] == list(sentences)
    result = CliRunner().invoke(main, ["compare", *map(str, unequal), "--out", str(tmp_path / "page.html")])
    text = markdown(comparisons)
    for line in sentences:
        assert line in page
        assert f"besides the topology: {line}" in result.output
        assert plain(line) in text
