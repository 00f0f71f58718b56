"""Reads golden tables of rejected input: the user's input, and the error message below it.

A table is a text file:

    # a heading, or a remark
    file network.yaml
    | name: network
    | brokers: [a]
    $ steady --topology network.yaml
        The sentence.
    Producer.in_flight = 0 $ plain --rate 5
        The sentence.

Every case of a table has all its files. Before ``$`` are settings in Python, or ``OLD -> NEW``: a replacement in the
file that the command ends with. In a word of a command, «9 x 400» is
400 nines and «\\x1b» one character. To add a case, write its line: BROKERBENCH_REGENERATE=1 makes pytest (without -n)
write the sentences. Then read the diff.
"""

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.support.golden import REGENERATE

MARK = "$ "
NOT_WRITABLE = re.compile(r"«(.*?)»")
REPEATED = re.compile(r"(.*) x (\d+)")


@dataclass(frozen=True)
class Refusal:
    """A case of a table. ``line``: its line in the table. ``sentence``: '' before it is written for the first time."""

    table: Path
    line: str
    sentence: str
    files: Mapping[str, str]

    def __str__(self) -> str:
        return self.line

    @property
    def settings(self) -> str:
        """Return the Python code before the command; often ''."""
        return self.line.partition(MARK)[0].strip()

    @property
    def words(self) -> list[str]:
        return [NOT_WRITABLE.sub(_written_out, word) for word in shlex.split(self.line.partition(MARK)[2])]

    def write_files(self, folder: Path) -> None:
        old, arrow, new = map(str.strip, self.settings.partition("->"))
        for name, text in self.files.items():
            edited = arrow and name == self.words[-1]
            assert not edited or old in text, self.line
            (folder / name).write_text(text.replace(old, new, 1) if edited else text, encoding="utf-8")

    def assert_refused_with(self, sentence: str) -> None:
        """Assert that ``sentence`` equals the table's, and has one line."""
        assert sentence.strip(), f"{self.line}: is not refused"
        assert len(sentence.splitlines()) == 1, sentence
        if REGENERATE:
            text = self.table.read_text(encoding="utf-8")
            before = f"{self.line}\n" + (f"    {self.sentence}\n" if self.sentence else "")
            self.table.write_text(text.replace(before, f"{self.line}\n    {sentence}\n"), encoding="utf-8")
        else:
            assert sentence == self.sentence


def refusals(*tables: Path) -> list[Refusal]:
    """Return all cases of these tables. Any other line is an error."""
    return [refusal for table in tables for refusal in _refusals(table)]


def _refusals(table: Path) -> Iterator[Refusal]:
    lines = table.read_text(encoding="utf-8").splitlines()
    files: dict[str, str] = {}
    sentences: dict[str, str] = {}
    for number, line in enumerate(lines, start=1):
        if line.startswith("file "):
            files[line.removeprefix("file ")] = ""
        elif line.startswith("|"):
            files[[*files][-1]] += f"{line[2:]}\n"
        elif line.startswith("    "):
            sentences[[*sentences][-1]] = line.strip()
        elif MARK in line and not line.startswith("#"):
            assert line not in sentences, f"{table}:{number}: stands twice"
            sentences[line] = ""
        else:
            assert not line or line.startswith("#"), f"{table}:{number}: not a line of a table: {line}"
    return (Refusal(table, line, sentence, files) for line, sentence in sentences.items())


def _written_out(match: re.Match[str]) -> str:
    if repeated := REPEATED.fullmatch(match[1]):
        return repeated[1] * int(repeated[2])
    return match[1].encode().decode("unicode_escape")
