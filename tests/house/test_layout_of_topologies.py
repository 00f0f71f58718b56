"""Checks the layout of topologies/: few loose modules, statements in docstrings, and unique class names."""

import ast
from collections import Counter

from tests.house.tree import ROOT, parsed, python_files

MOST_LOOSE_MODULES = 10


def question(tree: ast.Module) -> str:
    """Return the beginning of a module's docstring if it is a question; '' for a statement."""
    beginning = (ast.get_docstring(tree) or "").partition("\n\n")[0]
    return beginning if "?" in beginning else ""


def repeated(trees: list[ast.Module]) -> list[str]:
    """Return the class names that occur in several modules."""
    names = [{node.name for node in tree.body if isinstance(node, ast.ClassDef)} for tree in trees]
    return sorted(
        name for name, times in Counter(name for class_names in names for name in class_names).items() if times > 1
    )


def test_few_modules_lie_loose_at_the_top() -> None:
    loose = [path for path in python_files("topologies") if len(path.parts) == 2]
    assert 0 < len(loose) <= MOST_LOOSE_MODULES


def test_each_docstring_begins_with_a_statement() -> None:
    modules = [path for path in python_files("topologies") if (ROOT / path).stat().st_size]
    assert modules
    assert {str(path): beginning for path in modules if (beginning := question(parsed(path)))} == {}


def test_each_class_has_a_name_of_its_own() -> None:
    assert repeated([parsed(path) for path in python_files("topologies")]) == []


def test_a_question_and_a_repeated_name_are_seen() -> None:
    assert question(ast.parse('"""Where is it? There."""'))
    assert not question(ast.parse('"""Finds it.\n\nIs it there? Yes."""'))
    module, other_module = ast.parse("class A: ...\nclass B: ..."), ast.parse("class B: ...")
    assert repeated([module, other_module]) == ["B"]
