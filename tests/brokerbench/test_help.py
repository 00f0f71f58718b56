"""Checks the help for newcomers: `--help`, `brokerbench options`, and an unknown command."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from brokerbench.cli import main

OWN = """
from drivers.users import ConsumerUser, ProducerUser
from brokerbench import Hold, Scenario, no_acked_send_lost, run

class Sends(ProducerUser):
    fixed_count = 1

class Takes(ConsumerUser):
    fixed_count = 1

CHECKS = (no_acked_send_lost(),)
run(Scenario((Sends, Takes), "ring(brokers=5)", Hold(for_s=5), CHECKS, warm_up_s=7, default_protocol="openwire"))
"""


def options(*arguments: str) -> subprocess.CompletedProcess[str]:
    return call("options", *arguments)


def call(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command in a separate process, because it loads Locust."""
    command = [sys.executable, "-c", "from brokerbench.cli import main; main()", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def test_the_help_imports_nothing_that_takes_long() -> None:
    heavy = "{'gevent', 'locust', 'numpy', 'pyarrow', 'yaml'}"
    code = f"import sys; import brokerbench.cli; print(sorted({heavy} & set(sys.modules)))"
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert process.stdout == "[]\n"


def test_the_help_lists_each_command_by_a_whole_sentence() -> None:
    shown = CliRunner().invoke(main, ["--help"]).output
    listed = dict(re.findall(r"^  (\w+)  +(\S.*)$", shown.partition("Commands:")[2], re.M))
    assert set(listed) == set(main.commands)
    assert [line for line in listed.values() if not re.fullmatch(r".*[^.][.?]", line)] == []


def test_the_help_says_how_a_run_is_made_and_which_options_it_takes() -> None:
    shown = CliRunner().invoke(main, ["--help"]).output
    assert "locust -f scenarios/steady.py --headless" in shown
    assert "brokerbench options" in shown


@pytest.mark.parametrize("command", ["", *main.commands])
def test_help_is_also_asked_for_by_h(command: str) -> None:
    words = [command] if command else []
    short, long = (CliRunner().invoke(main, [*words, option]) for option in ("-h", "--help"))
    assert (short.exit_code, short.output) == (0, long.output)


@pytest.mark.parametrize("command", ["", *main.commands])
def test_help_has_no_control_characters(command: str) -> None:
    """click reads a line with a backspace alone as "keep these lines as they are", and prints any other backspace."""
    shown = CliRunner().invoke(main, [*([command] if command else []), "--help"]).output
    assert re.findall(r"[^\n -\uffff]", shown) == []


def test_the_files_to_render_have_a_line_each() -> None:
    shown = CliRunner().invoke(main, ["render", "--help"]).output
    assert re.findall(r"^  (broker|compose|amazon-mq|diagram)  ", shown, re.M) == [
        "broker",
        "compose",
        "amazon-mq",
        "diagram",
    ]


def test_a_command_that_is_none_is_refused_with_how_a_run_is_made() -> None:
    refused = CliRunner().invoke(main, ["run"])
    assert refused.exit_code == 2
    assert "No such command 'run'. (Locust makes a run: locust -f scenarios/NAME.py --headless)" in refused.stderr


def test_a_misspelt_command_is_refused_with_the_nearest_one_alone() -> None:
    refused = CliRunner().invoke(main, ["topologie"])
    assert "Did you mean" in refused.stderr
    assert "Locust makes" not in refused.stderr


def test_every_option_of_a_run_that_the_docs_have_is_listed_and_no_other() -> None:
    listed = set(re.findall(r"^  (--[\w-]+)", options().stdout, re.M))
    documented = set(re.findall(r"^\| `(--[\w-]+)", Path("docs/options.md").read_text(encoding="utf-8"), re.M))
    longer = re.findall(r"^\| `--[\w-]+`, `(--[\w-]+)`", Path("docs/options.md").read_text(encoding="utf-8"), re.M)
    assert listed == documented.union(longer)


def test_the_options_of_a_scenario_of_ones_own_have_its_defaults(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(OWN, encoding="utf-8")
    shown = " ".join(options(str(tmp_path / "own.py")).stdout.split())
    assert shown.startswith(f"locust -f {tmp_path}/own.py --headless [-t 30s] [OPTION …] ")
    assert "or a YAML file (default: ring(brokers=5))" in shown
    assert "PRODUCERS:CONSUMERS (default: openwire)" in shown
    assert "seconds before the load counts (default: 7)" in shown


def test_one_scenario_is_shown_with_what_it_asks_how_to_run_it_and_its_defaults(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text('"""Sends.\n\nAsks: does it arrive?\n"""' + OWN, encoding="utf-8")
    shown = call("scenarios", str(tmp_path / "own.py")).stdout
    assert shown.startswith("Sends.\n    Asks: does it arrive?\n\nlocust -f ")
    assert "(default: ring(brokers=5))" in " ".join(shown.split())


def test_a_scenario_to_show_that_is_none_is_refused_with_those_there_are() -> None:
    refused = CliRunner().invoke(main, ["scenarios", "stedy"])
    assert refused.exit_code == 2
    assert "scenarios stedy: neither a file nor one of backlog, " in refused.stderr


def test_the_values_of_an_option_are_listed_without_the_empty_one() -> None:
    assert "--runtime {containers,processes,external,memory}" in options("failover").stdout


def test_a_file_without_a_scenario_has_no_options_and_says_what_it_lacks(tmp_path: Path) -> None:
    (tmp_path / "empty.py").write_text("", encoding="utf-8")
    refused = options(str(tmp_path / "empty.py"))
    sentence = "does not run a scenario; end it with run(Scenario(…)), see docs/scenarios.md\n"
    assert (refused.returncode, refused.stderr) == (2, f"brokerbench: {tmp_path}/empty.py: {sentence}")


def test_a_scenario_that_is_none_is_refused_with_those_there_are() -> None:
    refused = options("stedy")
    assert refused.returncode == 2
    assert refused.stderr.startswith("brokerbench: options stedy: neither a file nor one of backlog, ")
