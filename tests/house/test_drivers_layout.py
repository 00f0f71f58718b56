"""Checks the layout of drivers/: few loose modules, and docstrings that are statements."""

import ast
from pathlib import Path

from tests.house.tree import parsed, python_files

MOST_LOOSE = 10


def test_few_modules_of_drivers_lie_loose_at_its_top() -> None:
    loose = [path for path in python_files("drivers") if len(path.parts) == 2 and path.name != "__init__.py"]
    assert 0 < len(loose) <= MOST_LOOSE, loose


def test_the_docstrings_of_drivers_begin_with_a_statement() -> None:
    first_lines = {str(path): (ast.get_docstring(parsed(path)) or "").partition("\n")[0] for path in _with_code()}
    assert first_lines
    assert [path for path, line in first_lines.items() if not line or "?" in line.partition("``")[0]] == []


def _with_code() -> list[Path]:
    return [path for path in python_files("drivers") if parsed(path).body]
