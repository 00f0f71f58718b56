"""Lists the scenarios and the question that each asks, from their files; nothing of Locust is loaded."""

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path

import scenarios


def listing() -> str:
    """Two lines a scenario: the file and what happens, then what it asks."""
    return "\n".join(f"{path.parent.name}/{path.name}  {text}" for path, text in questions())


def questions() -> Iterator[tuple[Path, str]]:
    """Each scenario's file and docstring, the second line indented. In the order of their names."""
    for path in sorted(Path(next(iter(scenarios.__path__))).glob("*.py")):
        module = ast.parse(path.read_text(encoding="utf-8"))
        if any(map(_hands_over, module.body)):
            yield path, _text_of(module)


def description(locustfile: Path) -> str:
    """What happens and what is asked: the docstring of a locustfile, the second line indented."""
    return _text_of(ast.parse(locustfile.read_text(encoding="utf-8")))


def _text_of(module: ast.Module) -> str:
    docstring = ast.get_docstring(module) or "It has no docstring."
    return "\n    ".join(line for line in inspect.cleandoc(docstring).split("\n") if line)


def _hands_over(statement: ast.stmt) -> bool:
    """Whether it is the last line of a locustfile, ``run(Scenario(…))``."""
    called = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(called, ast.Call) and isinstance(called.func, ast.Name) and called.func.id == "run"
