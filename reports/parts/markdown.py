"""Escapes text for Markdown, and makes its tables."""

from collections.abc import Sequence

_ENTITIES = {ord(character): f"&#{ord(character)};" for character in "&\\|<>*_`[]~"} | {ord("\n"): " ", ord("\r"): " "}


def plain(text: str) -> str:
    """Nothing of a run's text is markup, and none of it ends a line."""
    return text.translate(_ENTITIES)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def table_lines(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A table, line by line. Titles and cells are Markdown already."""
    return [_row(titles), "|" + " --- |" * len(titles), *map(_row, rows)]
