"""Checks that functions are short, modules begin with a statement, and large packages keep modules in folders."""

import ast

import pytest

from tests.house.tree import ROOMS, ROOT, parsed, python_files

LONGEST_FUNCTION_LINES = 70
MOST_LOOSE_MODULES = 10
FOLDERS = ("drivers", "topologies")  # large packages, whose modules are in folders
EVERYWHERE = (*ROOMS, "benchmarks", "tests")


def long_functions(tree: ast.Module, limit: int = LONGEST_FUNCTION_LINES) -> list[str]:
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return [node.name for node in functions if (node.end_lineno or node.lineno) - node.lineno + 1 > limit]


@pytest.mark.parametrize("room", EVERYWHERE)
def test_no_function_is_past_seventy_lines(room: str) -> None:
    functions_by_file = {str(path): long_functions(parsed(path)) for path in python_files(room)}
    assert {path: names for path, names in functions_by_file.items() if names} == {}


@pytest.mark.parametrize("room", ROOMS)
def test_every_module_has_a_docstring(room: str) -> None:
    modules = [path for path in python_files(room) if (ROOT / path).stat().st_size]
    assert modules
    assert [str(path) for path in modules if not ast.get_docstring(parsed(path))] == []


def asks(tree: ast.Module) -> bool:
    """Whether the first line of a module's docstring is a question."""
    return "?" in (ast.get_docstring(tree) or "").partition("\n")[0]


@pytest.mark.parametrize("room", EVERYWHERE)
def test_every_module_begins_with_a_statement(room: str) -> None:
    modules = python_files(room)
    assert modules
    assert [str(path) for path in modules if asks(parsed(path))] == []


def test_a_question_is_seen_in_the_first_line_only() -> None:
    assert asks(ast.parse('"""What is it? A value."""'))
    assert asks(ast.parse('"""What is it?\n\nA value."""'))
    assert not asks(ast.parse('"""A value.\n\nWhy? It is short."""'))


@pytest.mark.parametrize("room", FOLDERS)
def test_few_modules_lie_loose_at_the_top_of_a_room(room: str) -> None:
    modules = [path for path in python_files(room) if len(path.parts) == 2 and path.name != "__init__.py"]
    assert modules
    assert len(modules) <= MOST_LOOSE_MODULES, sorted(map(str, modules))


def test_a_function_of_one_line_too_many_is_found() -> None:
    body = "\n".join(f"    x{n} = {n}" for n in range(LONGEST_FUNCTION_LINES))
    assert long_functions(ast.parse(f"def long():\n{body}")) == ["long"]
    assert long_functions(ast.parse(f"def fits():\n{body.partition(chr(10))[2]}")) == []
