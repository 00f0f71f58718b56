"""Checks the output of each command, and that bad input gives one line on stderr and status 2."""

import re
import subprocess
import sys
from itertools import combinations
from math import dist
from pathlib import Path
from xml.etree import ElementTree

import click
import pytest
from click.testing import CliRunner, Result

from brokerbench.cli import main
from brokerbench.diagram import diagram
from brokerbench.errors import OneLineErrors, sentence
from brokerbench.rendering import broker_files
from tests.house.tree import ROOT
from topologies.catalogue.lookup import build, entries
from topologies.jvm.java import NoJava
from topologies.products import ENTRIES, PRODUCTS

SVG = "{http://www.w3.org/2000/svg}"


def call(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


def test_exactly_the_commands_that_work_are_offered() -> None:
    of_runs = {"analyse", "report", "export", "store", "compare", "nightly", "durability"}
    assert set(main.commands) == {"topologies", "scenarios", "options", "render", "up", "doctor"} | of_runs


def test_the_catalogue_has_a_line_for_each_topology() -> None:
    lines = call("topologies").output.splitlines()
    assert [line.split()[0] for line in lines] == list(ENTRIES)
    assert [line.split()[1] for line in lines] == [build(name).flavour for name in ENTRIES]
    assert {line.split()[1] for line in lines} == {*PRODUCTS}
    assert [line for line in lines if len(line) > 150] == []


def test_every_scenario_is_listed_with_its_question_and_no_other_file_is() -> None:
    shown = call("scenarios").output
    listed = re.findall(r"^scenarios/(\w+)\.py  \S.*\n    Asks: .*\?$", shown, re.M)
    files = sorted((ROOT / "scenarios").glob("*.py"))
    assert listed == [path.stem for path in files if re.search(r"^run\(", path.read_text(encoding="utf-8"), re.M)]
    assert "steady" in listed
    assert len(shown.splitlines()) == 2 * len(listed)


def test_a_topology_is_shown_with_its_picture_links_groups_and_paths() -> None:
    shown = call("topologies", "source-and-sink").output
    assert "source --------> sink" in shown
    assert "source --> sink  networkConnector" in shown
    assert "producers  failover:(stomp://source)?randomize=true" in shown
    assert "1 hop   source -> sink" in shown


def test_a_topology_without_the_groups_of_scenarios_is_shown_with_what_it_lacks(tmp_path: Path) -> None:
    (tmp_path / "my.yaml").write_text("name: t\nbrokers: [a]\n", encoding="utf-8")
    shown = call("topologies", str(tmp_path / "my.yaml"))
    assert shown.exit_code == 0
    line = "none: scenarios need groups of these two names, and this topology has no group\n"
    assert f"paths from producers to consumers:\n  {line}" in shown.output


def test_a_group_is_shown_by_a_protocol_that_its_brokers_speak() -> None:
    assert "producers  failover:(amqp://router)?randomize=true" in call("topologies", "router-peer").output


def test_a_file_of_ones_own_is_shown_with_what_its_links_are_like(tmp_path: Path) -> None:
    file = tmp_path / "far.yaml"
    file.write_text("name: t\nbrokers: [a, b]\nlinks:\n  - {opened_by: a, to: b, impairment: {delay_ms: 40}}\n")
    assert "networkConnector a-to-b, message_ttl=1 consumer_ttl=1, delay=40ms\n" in call("topologies", str(file)).output


def test_a_topology_is_shown_as_its_parameters_say() -> None:
    shown = call("topologies", "mesh(brokers=4)").output
    assert "mesh-of-4" in shown
    assert shown.count(" <-> ") == 6


def test_of_very_many_paths_the_first_are_shown_and_all_are_counted() -> None:
    shown = call("topologies", "mesh(brokers=11)").output
    assert "  … (121 in all, of 1 hop at most)\n" in shown
    assert len(re.findall(r"^  \d hops?  +broker", shown, re.MULTILINE)) == 100
    assert "in all" not in call("topologies", "mesh(brokers=10)").output


def test_an_entry_says_its_parameters_as_they_are() -> None:
    assert "parameters:\n  spokes=6\n  hub_standby=False\n" in call("topologies", "hub-and-spoke(spokes=6)").output


def test_an_entry_says_what_a_broker_more_would_change() -> None:
    shown = call("topologies", "hub-and-spoke(spokes=2)").output
    assert "spokes=3: spoke-3 new\n" in shown
    assert "configuration changes, so restart: hub\n" in shown
    assert "unchanged, keeps running: spoke-1, spoke-2\n" in shown


def test_an_entry_without_a_count_says_what_one_broker_on_one_link_more_would_change() -> None:
    shown = call("topologies", "cross-region-mesh").output
    line = "one additional link, from broker-1 to new-broker, like broker-1-to-broker-2: new-broker new\n"
    assert f"adding a broker, by comparing the rendered files:\n  {line}" in shown
    assert "configuration changes, so restart: broker-1\n" in shown


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("mesh(brokers=5)", "broker-1 ⇄ broker-2 … broker-5"),
        ("source-and-sink(duplex=True)", "source ⇄ sink"),
        ("hub-and-spoke(hub_standby=True)", "hub == hub-standby"),
    ],
)
def test_a_picture_that_the_parameters_make_untrue_is_drawn_from_the_model(name: str, line: str) -> None:
    entry = next(entry for entry in entries() if entry.name == name.partition("(")[0])
    shown = call("topologies", name).output
    assert f"\n{line}\n" in shown
    assert entry.picture not in shown


@pytest.mark.parametrize("name", ["mesh(brokers=3)", "mesh(message_ttl=2)", "mirror(sync=True)"])
def test_the_entrys_own_picture_is_kept_where_it_is_true(name: str) -> None:
    entry = next(entry for entry in entries() if entry.name == name.partition("(")[0])
    assert entry.picture in call("topologies", name).output


def test_a_file_of_ones_own_is_shown_with_a_picture_and_how_it_grows() -> None:
    shown = call("topologies", "topologies/examples/branch-offices.yaml").output
    assert shown.startswith("producers → branch-1, branch-2, branch-3\n")
    assert "branch-1, branch-2, branch-3 ⇄ head-office\nhead-office == head-office-standby\n" in shown
    assert "\n\nbranch-offices (classic): brokers:" in shown
    assert "one additional link, from branch-1 to new-broker, like branch-1-to-head-office: new-broker new\n" in shown
    assert "head-office-standby  in city, stands by for head-office" in shown
    assert "1 hop   branch-1 -> head-office" in shown


def test_a_diagram_is_a_drawing_in_a_file_of_its_own(tmp_path: Path) -> None:
    result = call("render", "hub-and-spoke", "--to", "diagram", "--out", str(tmp_path))
    assert result.output == f"{tmp_path / 'hub-and-4-spokes.svg'}\n"
    drawn = ElementTree.parse(tmp_path / "hub-and-4-spokes.svg").getroot()
    texts = ["".join(part.itertext()) for part in drawn.iter(f"{SVG}text")]
    assert [text for text in texts if text.startswith(("hub", "spoke"))] == [
        "hub",
        *(f"spoke-{n}" for n in (1, 2, 3, 4)),
    ]
    assert texts.count("entry of producers") == 3
    assert not [text for text in texts if "?" in text or "/s" in text]
    assert len(list(drawn.iter(f"{SVG}line"))) == 8
    assert "--ink" in "".join(part.text or "" for part in drawn.iter(f"{SVG}style"))


@pytest.mark.parametrize("entry", [*ENTRIES, "parallel-connectors(queue_connectors=20, duplex=True)"])
def test_no_arrow_of_a_diagram_lies_on_another(entry: str) -> None:
    drawn = ElementTree.fromstring(diagram(build(entry)))
    strokes = [[float(line.attrib[at]) for at in ("x1", "y1", "x2", "y2")] for line in drawn.iter(f"{SVG}line")]
    assert len(strokes) == sum(len(link.directions) for link in build(entry).links)
    middles = [((x1 + x2) / 2, (y1 + y2) / 2) for x1, y1, x2, y2 in strokes]
    for arrow, another in combinations(zip(strokes, middles, strict=True), 2):
        (x1, y1, x2, y2), middle = arrow
        length = dist((x1, y1), (x2, y2))
        apart = [abs((x2 - x1) * (y - y1) - (y2 - y1) * (x - x1)) / length for x, y in (another[0][:2], another[0][2:])]
        assert max(apart) > 1 or dist(middle, another[1]) > length / 2, (arrow, another)


def test_a_topology_without_links_says_so() -> None:
    assert "links:\n  none\n" in call("topologies", "single").output


def test_debug_lets_the_stack_trace_through() -> None:
    result = call("--debug", "topologies", "mseh")
    assert type(result.exception).__name__ == "TopologyInvalid"


def test_rendered_files_have_a_folder_a_broker_and_ports_of_their_own(tmp_path: Path) -> None:
    result = call("render", "mesh", "--out", str(tmp_path), "--base-port", "7000")
    assert result.exit_code == 0, result.output
    configurations = [tmp_path / f"broker-{n}" / "activemq.xml" for n in (1, 2, 3)]
    assert [path for path in configurations if str(path) not in result.output.splitlines()] == []
    ports = [
        re.findall(r'uri="(?:tcp|stomp|amqp)://127.0.0.1:(70\d\d)\?', path.read_text("utf-8"))
        for path in configurations
    ]
    assert ports == [["7000", "7001", "7002"], ["7003", "7004", "7005"], ["7006", "7007", "7008"]]


def test_an_overlay_is_rendered_and_defaults_are_left_out(tmp_path: Path) -> None:
    overlay = tmp_path / "own.yaml"
    overlay.write_text("links: {all: {prefetch_size: 100}}\n")
    words = ("render", "source-and-sink", "--overlay", str(overlay), "--unset-defaults", "--broker-version", "5.16.6")
    for form in (words, (*words[:-2], "--to", "compose")):
        result = call(*form, "--out", str(tmp_path / "out"))
        assert result.exit_code == 0, result.output
        text = (tmp_path / "out" / "source" / "activemq.xml").read_text()
        assert 'prefetchSize="100"' in text
        assert "conduitSubscriptions" not in text


def test_what_is_rendered_is_warned_of_on_stderr(tmp_path: Path) -> None:
    rendered = call("render", "ring(ttl=1)", "--out", str(tmp_path))
    assert rendered.exit_code == 0
    assert rendered.stderr.startswith(
        "warning: a message sent at 'broker-1' cannot reach a consumer at 'broker-3': raise"
    )
    assert "warning" not in rendered.stdout


def test_ports_past_the_last_one_are_refused() -> None:
    with pytest.raises(ValueError, match="base port 65534: 9 ports are needed, which exceeds 65535"):
        broker_files(build("mesh"), 65_534)


def test_showing_topologies_imports_neither_spark_nor_locust() -> None:
    code = (
        "import sys; from click.testing import CliRunner; from brokerbench.cli import main\n"
        "assert CliRunner().invoke(main, ['topologies', 'mesh']).exit_code == 0\n"
        "print(sorted({'pyspark', 'locust', 'gevent', 'matplotlib'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ValueError("x must be 3"), "x must be 3"),
        (KeyError("no broker 'b'"), "no broker 'b'"),
        (FileNotFoundError(2, "No such file or directory", "a.txt"), "a.txt: No such file or directory"),
        (NoJava("no Java 17 or newer was found"), "no Java 17 or newer was found"),
        (
            TypeError("int + str"),
            "TypeError: int + str (unexpected error: run brokerbench --debug COMMAND for the stack trace)",
        ),
        (
            ModuleNotFoundError("No module named 'lxml'"),
            "No module named 'lxml': run make install to install missing packages",
        ),
    ],
)
def test_an_error_is_told_in_its_own_words(error: Exception, words: str) -> None:
    assert sentence(error) == words


def test_clicks_own_errors_and_exits_stay_as_they_are() -> None:
    @click.group(cls=OneLineErrors)
    @click.option("--debug", is_flag=True)
    def group(debug: bool) -> None:
        """A group like ours."""

    @group.command()
    def leave() -> None:
        sys.exit(4)

    assert CliRunner().invoke(group, ["leave"]).exit_code == 4
    assert "No such command" in CliRunner().invoke(group, ["nothing"]).stderr


def test_ctrl_c_while_commands_are_imported_is_one_sentence_and_status_130() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", "import brokerbench.__main__; raise KeyboardInterrupt"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (130, "brokerbench: stopped by Ctrl-C\n")


def test_ctrl_c_in_any_command_is_one_sentence_and_status_130() -> None:
    @click.group(cls=OneLineErrors)
    @click.option("--debug", is_flag=True)
    def group(debug: bool) -> None:
        """A group like ours."""

    @group.command()
    def wait() -> None:
        raise KeyboardInterrupt

    result = CliRunner().invoke(group, ["wait"])
    assert (result.exit_code, result.stderr) == (130, "brokerbench: wait was stopped by Ctrl-C\n")
