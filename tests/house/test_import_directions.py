"""Does each room import only what it may?"""

import ast
from collections.abc import Iterator

import pytest

from tests.house.tree import ROOMS, parsed, python_files

# A room may always import itself. A whole room, or single modules of it (and what lies below them).
MAY_IMPORT: dict[str, tuple[str, ...]] = {
    "records": (),
    "topologies": ("records",),
    "drivers": ("records", "topologies.model", "topologies.endpoints", "topologies.trust"),
    "scenarios": ("drivers", "topologies", "records"),
    "analysis": ("records",),
    "reports": ("records",),
    "brokerbench": ROOMS,
}
SPARK = ("pyspark", "py4j")  # a load generator that imports Spark measures Spark


def imported(tree: ast.AST, package: str) -> Iterator[str]:
    """Every module that is imported anywhere in ``tree``, by its full name; ``package`` is the importing one."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*above, node.module] if node.module else above)
            yield from (f"{base}.{alias.name}" for alias in node.names)


def breaches(room: str, tree: ast.AST, package: str) -> list[str]:
    allowed = (room, *MAY_IMPORT[room])
    ours = [name for name in imported(tree, package) if name.split(".")[0] in ROOMS]
    spark = [name for name in imported(tree, package) if name.split(".")[0] in SPARK and room != "analysis"]
    return [name for name in ours if not any(_within(name, place) for place in allowed)] + spark


def _within(name: str, place: str) -> bool:
    return name == place or name.startswith(f"{place}.")


def test_every_room_has_a_rule() -> None:
    assert set(MAY_IMPORT) == set(ROOMS)


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_what_it_may(room: str) -> None:
    modules = python_files(room)
    assert modules, f"{room}/ holds no Python file: the rule would pass on nothing"
    found = {str(path): breaches(room, parsed(path), ".".join(path.parts[:-1])) for path in modules}
    assert {path: names for path, names in found.items() if names} == {}


@pytest.mark.parametrize(
    ("room", "line"),
    [
        ("records", "from drivers.client import Client"),
        ("records", "import topologies"),
        ("drivers", "from topologies.catalogue import build"),
        ("drivers", "from topologies import runtimes"),
        ("reports", "def late():\n    from analysis import jobs"),
        ("scenarios", "import brokerbench.cli"),
        ("scenarios", "from pyspark.sql import functions"),
    ],
)
def test_a_breach_is_seen_wherever_it_stands(room: str, line: str) -> None:
    assert breaches(room, ast.parse(line), room)


@pytest.mark.parametrize(
    ("room", "line"),
    [
        ("drivers", "from topologies.model import Topology"),
        ("drivers", "from topologies.endpoints import Endpoint"),
        ("analysis", "from pyspark.sql import functions"),
        ("scenarios", "from drivers.users import ProducerUser"),
        ("reports", "from . import numbers"),
    ],
)
def test_what_is_allowed_is_let_through(room: str, line: str) -> None:
    assert breaches(room, ast.parse(line), room) == []
