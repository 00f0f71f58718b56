"""Is every function short, and does every module say what question it answers?"""

import ast

import pytest

from tests.house.tree import ROOMS, ROOT, parsed, python_files

LONGEST_FUNCTION_LINES = 70
EVERYWHERE = (*ROOMS, "benchmarks", "tests", ".ci")


def long_functions(tree: ast.Module, limit: int = LONGEST_FUNCTION_LINES) -> list[str]:
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return [node.name for node in functions if (node.end_lineno or node.lineno) - node.lineno + 1 > limit]


@pytest.mark.parametrize("room", EVERYWHERE)
def test_no_function_is_past_seventy_lines(room: str) -> None:
    found = {str(path): long_functions(parsed(path)) for path in python_files(room)}
    assert {path: names for path, names in found.items() if names} == {}


@pytest.mark.parametrize("room", ROOMS)
def test_every_module_begins_with_its_question(room: str) -> None:
    modules = [path for path in python_files(room) if (ROOT / path).stat().st_size]
    assert modules
    assert [str(path) for path in modules if not ast.get_docstring(parsed(path))] == []


def test_a_function_of_one_line_too_many_is_found() -> None:
    body = "\n".join(f"    x{n} = {n}" for n in range(LONGEST_FUNCTION_LINES))
    assert long_functions(ast.parse(f"def long():\n{body}")) == ["long"]
    assert long_functions(ast.parse(f"def fits():\n{body.partition(chr(10))[2]}")) == []
