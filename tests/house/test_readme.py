"""Checks that the README begins with the commands for new users, and uses the right names."""

import re

from records.verdicts import EXIT_STATUS, VERDICTS
from tests.house.tree import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
FIRST_BLOCK = re.search(r"```(?:sh|bash)\n(.*?)```", README, re.DOTALL)


def test_the_first_thing_to_type_is_the_two_commands() -> None:
    assert FIRST_BLOCK is not None
    assert README[: FIRST_BLOCK.start()].count("\n") < 15
    commands = [line.partition("#")[0].strip() for line in FIRST_BLOCK.group(1).splitlines()]
    assert commands == ["make bench", "make test"]


def test_every_verdict_is_explained_with_its_exit_status() -> None:
    for verdict in VERDICTS:
        assert re.search(rf"^\| `{verdict}` +\| {EXIT_STATUS[verdict]} +\|", README, re.MULTILINE), verdict


def test_every_file_it_links_to_exists() -> None:
    linked = [path for path in re.findall(r"\]\(([^)#:]+)\)", README)]
    assert linked
    assert [path for path in linked if not (ROOT / path).exists()] == []
