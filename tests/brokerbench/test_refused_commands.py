"""Checks that a command that cannot be done ends with status 2 and a golden table's sentence, and writes nothing."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from brokerbench import up
from brokerbench.cli import main
from brokerbench.compare import command
from brokerbench.compare.session import variable_options
from brokerbench.locustfiles import questions
from brokerbench.nightly import making
from tests.support.refusal_tables import Refusal, refusals

TABLES = sorted((Path(__file__).parent / "golden").glob("refused-*.txt"))


@pytest.fixture(autouse=True)
def known_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make rejections the same on every machine, and start no run."""

    def start(_session: object) -> None:
        raise AssertionError("it was not refused before runs were tried")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(up, "addresses_here", lambda: ["127.0.0.1", "192.0.2.1"])
    monkeypatch.setattr(command, "check", start)
    monkeypatch.setattr(making, "check", start)


@pytest.mark.parametrize("refusal", refusals(*TABLES), ids=str)
def test_what_no_command_can_do_is_refused_with_one_sentence_and_status_2(refusal: Refusal, tmp_path: Path) -> None:
    refusal.write_files(tmp_path)
    outcome = CliRunner().invoke(main, refusal.words[1:])
    assert (outcome.exit_code, outcome.stdout) == (2, ""), outcome.output
    assert {path.name for path in tmp_path.iterdir()} == {*refusal.files}
    sentence = outcome.stderr.splitlines()[-1]  # a usage of click, or which runtime was chosen, may stand before it
    assert sentence.startswith(("brokerbench: ", "Error: "))
    for names, word in ((scenario_names(), "SCENARIOS"), (variable_options(), "OPTIONS")):
        sentence = sentence.replace(", ".join(names), word)  # a new one changes no table
    refusal.assert_refused_with(sentence)


def scenario_names() -> list[str]:
    return [path.stem for path, _ in questions()]
