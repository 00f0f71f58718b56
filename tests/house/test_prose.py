"""Bounds wordings in docs and docstrings that native speakers rarely use, and for which there is a plainer one."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.house.tree import ROOMS, ROOT, files, parsed, python_files

MOST_PER_1000_WORDS = 0.5
PLAINER = {
    r"beside": "next to, in addition to, compared with",
    r"tell(?:s|ing)? (?:of|how|what|which|whether|why)": "report, show, explain",
    r"(?:some|no)body": "the passive, or name the person or program",
    r"(?:there|here)(?:by|in|of)|hence|lest|meanwhile|whoever|whatever": "so, at that time, any",
    r"so (?:many|much|long) [a-z]+s(?= |\.)(?! that)": "the number: this many, ``count`` messages",
    r"(?:is|are) none of|such as (?:are|have)": "is not one of, that are",
    r"of (?:its|their|our|one's) own": "separate",
    r"(?:speaks?|stands?) for itself|as it were|all the same": "anyway, still, or nothing",
    r"what (?:each|one)": "a noun: the settings, the values",
}
AMERICAN = {
    r"\w*(?:behavi|col|fav|hon|neighb)our\w*": "-or: behavior, color, favor, honor, neighbor",
    r"(?:cent|met|theat)(?:re|res|red)(?!-\d)": "-er: center, meter",
    r"grey\w*": "gray",
    r"(?:cancel|label|level|model|signal|travel|tunnel)l(?:ed|ing)": "one l: labeled, modeled",
    r"(?:initial|normal|optim|(?:re)?organ|priorit|random|real|recogn|summar|synchron)is(?:e|ed|es|ing|ation)": "-ize",
    r"artefacts?|defence|learnt|spelt|towards|whilst|per cent": "artifact, defense, learned, spelled, toward, percent",
}
BRITISH = re.compile(rf"\b(?:{'|'.join(AMERICAN)})\b", re.IGNORECASE)
FOUND = re.compile(rf"\b(?:{'|'.join(PLAINER)})\b", re.IGNORECASE)
WORD = re.compile(r"[A-Za-z']+")
CODE = re.compile(r"```.*?```|``.*?``|`.*?`|\]\(.*?\)", re.S)


def docstrings(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield ast.get_docstring(node) or ""


def wordings(text: str, pattern: re.Pattern[str] = FOUND) -> list[str]:
    """Return the wordings found in a text, without code."""
    return [" ".join(found.group().split()) for found in pattern.finditer(CODE.sub("X", text))]


def broken_layout(docstring: str) -> list[str]:
    r"""Return the lines that look as if a reflow had joined them, or that the next one will join.

    click keeps the lines of a paragraph only if ``\b`` is alone on its first line. Diagrams and aligned lists are
    indented.
    """
    broken: list[str] = []
    for paragraph in re.split(r"\n\s*\n", docstring):
        lines = paragraph.split("\n")
        kept = lines[0].strip(" ") == "\b"
        broken += [line for line in lines[kept:] if "\b" in line or (not kept and re.match(r"\S.*? {3}", line))]
    return broken


def texts_by_file(room: str) -> dict[Path, str]:
    if room == "docs":
        return {path: (ROOT / path).read_text("utf-8") for path in files() if path.suffix == ".md"}
    return {path: "\n\n".join(docstrings(parsed(path))) for path in python_files(room)}


@pytest.mark.parametrize("room", [*ROOMS, "benchmarks", "docs"])
def test_foreign_wordings_are_rare(room: str) -> None:
    texts = texts_by_file(room)
    found_by_file = {str(path): found for path, text in texts.items() if (found := wordings(text))}
    words = sum(len(WORD.findall(text)) for text in texts.values())
    assert words > 100
    count = sum(map(len, found_by_file.values()))
    assert count <= max(1, MOST_PER_1000_WORDS * words / 1_000), f"{found_by_file}: use plainer words, see PLAINER"


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("The table beside it tells how long it took, and nobody reads it.", 3),
        ("What each run needs. Each has a folder of its own.", 2),
        ("The table next to it shows the duration. Run `brokerbench tells how`.", 0),
    ],
)
def test_a_foreign_wording_is_found(text: str, count: int) -> None:
    assert len(wordings(text)) == count


@pytest.mark.parametrize("room", [*ROOMS, "benchmarks", "tests", "docs"])
def test_spelling_is_american(room: str) -> None:
    """The command ``analyse``, the folder ``catalogue``, brokers such as centre-1 and recorded keys stay."""
    found_by_file = {str(path): wordings(text, BRITISH) for path, text in texts_by_file(room).items()}
    assert {path: found for path, found in found_by_file.items() if found} == {}, "use the American spelling: AMERICAN"


def test_a_british_spelling_is_found() -> None:
    text = "The colours of neighbouring centres are labelled per cent, and `colour` is a key. A color is organized."
    assert wordings(text, BRITISH) == ["colours", "neighbouring", "centres", "labelled", "per cent"]


@pytest.mark.parametrize("room", [*ROOMS, "benchmarks", "tests"])
def test_lists_and_diagrams_keep_their_lines(room: str) -> None:
    """The docstrings of catalogues are exempt: their diagrams are whole paragraphs that docs/ quotes."""
    paths = [path for path in python_files(room) if not {"catalogue.py", "networks"} & {*path.parts}]
    broken_by_file = {
        str(path): found for path in paths for text in docstrings(parsed(path)) if (found := broken_layout(text))
    }
    assert broken_by_file == {}, "put \\b alone on a line, and indent diagrams and aligned lists by 4 spaces"


@pytest.mark.parametrize(
    ("docstring", "broken"),
    [
        ("Draw.\n\n\b Start a run:\n  locust", ["\b Start a run:"]),
        ("Draw.\n\n\b\nbroker     files", []),
        ("Draw.\n\nbroker     files\n    compose    a folder", ["broker     files"]),
        ("Draw.\n\n    broker     files\n    compose    a folder", []),
    ],
)
def test_joined_or_unindented_lines_are_found(docstring: str, broken: list[str]) -> None:
    assert broken_layout(docstring) == broken
