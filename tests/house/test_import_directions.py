"""Checks that each folder of the project and of topologies/ has only allowed imports, without cycles."""

import ast
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pytest

from brokerbench import api
from tests.house.tree import ROOMS, parsed, python_files

# A folder may always import itself. An entry is a whole folder, or single modules (with their submodules).
MAY_IMPORT: dict[str, tuple[str, ...]] = {
    "records": (),
    "topologies": ("records",),
    "drivers": ("records", "topologies.model"),
    "harness": ("drivers", "topologies", "records"),
    "scenarios": tuple(f"brokerbench.{name}" for name in api.__all__),
    "analysis": ("records",),
    "reports": ("records",),
    "brokerbench": ROOMS,
}
_NEUTRAL = ("topologies.model",)
_COMMON = (*_NEUTRAL, "topologies.management", "topologies.render")
_PRODUCTS = ("topologies.classic", "topologies.artemis", "topologies.products")
# Folders of topologies/, lowest first: each may import itself and the folders named here, and no other of topologies/.
TOPOLOGIES_MAY_IMPORT: dict[str, tuple[str, ...]] = {
    "topologies.model": (),
    "topologies.management": _NEUTRAL,
    "topologies.render": _NEUTRAL,
    "topologies.classic": _COMMON,
    "topologies.artemis": _COMMON,
    "topologies.products": (*_NEUTRAL, "topologies.classic.product", "topologies.artemis.product"),
    "topologies.catalogue": (*_NEUTRAL, *_PRODUCTS),
    "topologies.runtimes": (*_COMMON, "topologies.products", "topologies.catalogue"),
}

# Inside drivers/, lowest first: each part may import itself, and of drivers/ only the parts in its row. All may import
# what drivers/ may.
_BASE = ("drivers.contract", "drivers.broker_errors", "drivers.tls", "drivers.transactions")
_OF_A_PROTOCOL = (*_BASE, "drivers.failover", "drivers.client")
DRIVERS_MAY_IMPORT: dict[str, tuple[str, ...]] = {
    "drivers.contract": (),
    "drivers.broker_errors": ("drivers.contract",),
    "drivers.tls": ("drivers.contract",),
    "drivers.transactions": ("drivers.contract",),
    "drivers.realtime": (),
    "drivers.failover": _BASE,
    "drivers.client": (*_BASE, "drivers.failover"),
    "drivers.users": (*_BASE, "drivers.realtime", "drivers.failover", "drivers.client"),
    "drivers.stomp": _OF_A_PROTOCOL,
    "drivers.amqp": _OF_A_PROTOCOL,
    "drivers.jvm": _OF_A_PROTOCOL,
    "drivers.memory": _OF_A_PROTOCOL,
    "drivers.protocols": (*_OF_A_PROTOCOL, "drivers.stomp", "drivers.amqp", "drivers.jvm", "drivers.memory"),
    "drivers.canary": (*_OF_A_PROTOCOL, "drivers.protocols"),
}

SPARK = ("pyspark", "py4j")  # a load generator that imports Spark measures Spark


def imported(tree: ast.AST, package: str) -> Iterator[str]:
    """Return the full name of each module imported anywhere in ``tree``. ``package``: the importing package."""
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


def folder_of(module: str) -> str:
    """Return ``topologies.model`` for ``topologies.model.link``; '' for modules outside topologies/."""
    return ".".join(module.split(".")[:2]) if module.startswith("topologies.") else ""


def upward(folder: str, tree: ast.AST, package: str) -> list[str]:
    """Return the forbidden imports of topologies/ in a module of ``folder``."""
    allowed = (folder, *TOPOLOGIES_MAY_IMPORT[folder])
    ours = [name for name in imported(tree, package) if name.split(".")[0] == "topologies"]
    return [name for name in ours if not any(_within(name, place) for place in allowed)]


def module_of(path: Path) -> str:
    return ".".join((*path.parts[:-1], *(() if path.stem == "__init__" else (path.stem,))))


def import_graph(rooms: Iterable[str]) -> dict[str, set[str]]:
    """Return the project modules that each module imports, at any place in the file."""
    paths = {module_of(path): path for room in rooms for path in python_files(room)}
    imports: dict[str, set[str]] = {}
    for module, path in paths.items():
        names = set(imported(parsed(path), ".".join(path.parts[:-1])))
        nearest = {name if name in paths else name.rpartition(".")[0] for name in names}
        imports[module] = {name for name in nearest if name in paths and name != module}
    return imports


def circle(graph: Mapping[str, set[str]]) -> list[str]:
    """Return the modules of a cycle in import order; empty if there is no cycle."""
    visited: set[str] = set()
    for start in graph:
        path: list[str] = []
        waiting = [(start, iter(graph[start]))] if start not in visited else []
        while waiting:
            module, remaining = waiting[-1]
            path[len(waiting) - 1 :] = [module]
            after = next(remaining, None)
            if after is None:
                visited.add(module)
                waiting.pop()
            elif after in path[: len(waiting)]:
                return path[path.index(after) : len(waiting)]
            elif after not in visited:
                waiting.append((after, iter(graph[after])))
    return []


def _within(name: str, place: str) -> bool:
    return name == place or name.startswith(f"{place}.")


def test_every_room_has_a_rule() -> None:
    assert set(MAY_IMPORT) == set(ROOMS)


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_what_it_may(room: str) -> None:
    modules = python_files(room)
    assert modules, f"{room}/ holds no Python file: the rule would pass on nothing"
    breaches_by_file = {str(path): breaches(room, parsed(path), ".".join(path.parts[:-1])) for path in modules}
    assert {path: names for path, names in breaches_by_file.items() if names} == {}


def part_of_drivers(module: str) -> str:
    """Return a module's row in `DRIVERS_MAY_IMPORT`: ``drivers.client`` for ``drivers.client.producer``."""
    return next((part for part in DRIVERS_MAY_IMPORT if _within(module, part)), "")


def breaches_in_drivers(module: str, tree: ast.AST) -> list[str]:
    part = part_of_drivers(module)
    allowed = (part, *DRIVERS_MAY_IMPORT[part])
    ours = [name for name in imported(tree, module.rpartition(".")[0]) if _within(name, "drivers")]
    return [name for name in ours if not any(_within(name, place) for place in allowed)]


def _modules_of_drivers() -> dict[str, ast.AST]:
    trees = {".".join(path.with_suffix("").parts): parsed(path) for path in python_files("drivers")}
    return {name.removesuffix(".__init__"): tree for name, tree in trees.items() if name != "drivers.__init__"}


def _module_of(name: str, modules: Iterable[str]) -> str:
    """Return the module of an imported name, not its package; '' for other names."""
    return max((module for module in modules if _within(name, module)), key=len, default="")


def test_every_part_of_drivers_has_a_rule_and_every_rule_a_part() -> None:
    modules = _modules_of_drivers()
    assert {part_of_drivers(module) for module in modules} == set(DRIVERS_MAY_IMPORT)


def test_a_part_of_drivers_imports_only_what_lies_below_it() -> None:
    breaches_by_module = {module: breaches_in_drivers(module, tree) for module, tree in _modules_of_drivers().items()}
    assert {module: names for module, names in breaches_by_module.items() if names} == {}


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("drivers.failover.uri", "from drivers.jvm.java_protocol import load_uri"),
        ("drivers.failover.updated_uris", "from drivers.client.producer import ClientAccess"),
        ("drivers.client.client", "def late():\n    from drivers.users.session import Session"),
        ("drivers.client.producer", "from drivers import protocols"),
        ("drivers.users.session", "from drivers.stomp.connector import StompConnector"),
        ("drivers.stomp.wire", "from drivers.amqp import wire"),
    ],
)
def test_a_breach_inside_drivers_is_seen(module: str, line: str) -> None:
    assert breaches_in_drivers(module, ast.parse(line))


def test_no_modules_of_drivers_import_each_other_in_a_circle() -> None:
    modules = _modules_of_drivers()
    imports = {
        module: {_module_of(name, modules) for name in imported(tree, module.rpartition(".")[0])}
        for module, tree in modules.items()
    }
    remaining = {module: names - {module, ""} for module, names in imports.items()}
    while leaves := [module for module, names in remaining.items() if not names]:
        remaining = {module: names - set(leaves) for module, names in remaining.items() if module not in leaves}
    assert remaining == {}, "the rest is in a cycle, or imports one"


@pytest.mark.parametrize(
    ("room", "line"),
    [
        ("records", "from drivers.client.client import Client"),
        ("records", "import topologies"),
        ("drivers", "from topologies.catalogue.lookup import build"),
        ("drivers", "from topologies import runtimes"),
        ("reports", "def late():\n    from analysis import jobs"),
        ("scenarios", "import brokerbench.cli"),
        ("scenarios", "from harness.lifecycle import run"),
        ("harness", "from brokerbench import run"),
        ("scenarios", "from pyspark.sql import functions"),
    ],
)
def test_a_breach_is_seen_wherever_it_stands(room: str, line: str) -> None:
    assert breaches(room, ast.parse(line), room)


@pytest.mark.parametrize(
    ("room", "line"),
    [
        ("drivers", "from topologies.model.topology import Topology"),
        ("drivers", "from topologies.model.endpoints import Endpoint"),
        ("analysis", "from pyspark.sql import functions"),
        ("scenarios", "from brokerbench import ProducerUser"),
        ("reports", "from . import numbers"),
    ],
)
def test_what_is_allowed_is_let_through(room: str, line: str) -> None:
    assert breaches(room, ast.parse(line), room) == []


def test_every_folder_of_topologies_has_a_rule() -> None:
    folders = {folder_of(module_of(path)) for path in python_files("topologies")} - {""}
    assert folders == set(TOPOLOGIES_MAY_IMPORT)


@pytest.mark.parametrize("folder", TOPOLOGIES_MAY_IMPORT)
def test_a_folder_of_topologies_imports_only_what_lies_below_it(folder: str) -> None:
    modules = [path for path in python_files("topologies") if folder_of(module_of(path)) == folder]
    assert modules, f"{folder} holds no Python file: the rule would pass on nothing"
    breaches_by_file = {str(path): upward(folder, parsed(path), ".".join(path.parts[:-1])) for path in modules}
    assert {path: names for path, names in breaches_by_file.items() if names} == {}


@pytest.mark.parametrize(
    ("folder", "line"),
    [
        ("topologies.model", "from topologies.classic.broker import Broker"),
        ("topologies.model", "def late():\n    from topologies.products import PRODUCTS"),
        ("topologies.management", "from topologies.artemis import management"),
        ("topologies.classic", "from topologies.artemis.broker import ArtemisBroker"),
        ("topologies.artemis", "import topologies.runtimes.ports"),
        ("topologies.catalogue", "from topologies.runtimes.contract import Runtime"),
        ("topologies.runtimes", "from topologies.classic.broker import Broker"),
    ],
)
def test_an_import_upward_is_seen_wherever_it_stands(folder: str, line: str) -> None:
    assert upward(folder, ast.parse(line), folder)


def test_no_imports_go_in_a_circle() -> None:
    graph = import_graph(ROOMS)
    assert graph["topologies.catalogue.meshes"] >= {"topologies.model.topology"}, "the graph has no edges: look at it"
    assert circle(graph) == []


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        ({"a": {"b"}, "b": {"c"}, "c": {"b"}}, ["b", "c"]),
        ({"a": {"b", "c"}, "b": {"d"}, "c": {"d"}, "d": {"a"}}, None),
        ({"a": {"b", "c"}, "b": {"d"}, "c": {"d"}, "d": set()}, []),
    ],
)
def test_a_circle_is_found_and_nothing_else(graph: dict[str, set[str]], expected: list[str] | None) -> None:
    assert circle(graph) == expected if expected is not None else circle(graph)
