"""Checks that only the folders of broker products check which product a broker is."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from records.run import BROKER_VERSIONS
from tests.house.tree import ROOMS, parsed, python_files
from topologies.products import PRODUCTS

OWN = (*(Path("topologies", name) for name in PRODUCTS), Path("topologies/products.py"))
TESTS_OF_CLASS = ("isinstance", "issubclass")


def product_classes() -> frozenset[str]:
    """Return the classes in the products' folders, and the names of their tables of kinds and values."""
    places = [path for path in python_files("topologies") if _is_own(path)]
    trees = [parsed(path) for path in places]
    classes = {node.name for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    return frozenset(classes | {product.name.upper() for product in PRODUCTS.values()})


def questions(tree: ast.AST, classes: frozenset[str]) -> Iterator[str]:
    """Return each place that checks the product: by class, identity, name, or a table with an entry per product."""
    for node in ast.walk(tree):
        parts: list[ast.AST] = []
        match node:
            case ast.Call(func=ast.Name(id=name), args=[_, wanted]) if name in TESTS_OF_CLASS:
                parts = [wanted]
            case ast.Compare():
                parts = [node]
            case ast.MatchClass(cls=wanted):
                parts = [wanted]
            case ast.MatchValue(value=wanted):
                parts = [wanted]
            case ast.Dict():
                parts = [key for key in node.keys if key is not None]
            case ast.Subscript(slice=ast.Constant() as key):
                parts = [key]
        if any(_names_a_product(part, classes) for asking in parts for part in ast.walk(asking)):
            yield f"line {getattr(node, 'lineno', '?')}: {ast.unparse(node)[:100]}"


def _names_a_product(node: ast.AST, classes: frozenset[str]) -> bool:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name in classes
        case ast.Constant(value=str(text)):
            return text in PRODUCTS
    return False


def _is_own(path: Path) -> bool:
    return any(path == own or own in path.parents for own in OWN)


def test_only_a_products_own_folder_asks_which_product_it_is() -> None:
    classes = product_classes()
    assert {"Broker", "NetworkConnector", "ArtemisBroker", "ClusterLink", "Router", "CLASSIC", "ARTEMIS"} <= classes
    modules = [path for room in ROOMS for path in python_files(room) if not _is_own(path)]
    assert len(modules) > 100, "most files are not looked at: the rule would pass on nothing"
    questions_by_file = {str(path): list(questions(parsed(path), classes)) for path in modules}
    assert {path: lines for path, lines in questions_by_file.items() if lines} == {}


@pytest.mark.parametrize(
    "line",
    [
        "isinstance(broker, Broker)",
        "isinstance(link, ClusterLink | BrokerConnection)",
        "issubclass(kind, broker.ArtemisBroker)",
        "topology.flavour == 'classic'",
        "flavour in ('classic', 'artemis')",
        "topology.product is ARTEMIS",
        "type(broker) is Router",
        "match broker:\n    case Router():\n        pass",
        "match flavour:\n    case 'artemis':\n        pass",
        "{Broker: 'a connector', ArtemisBroker: 'an acceptor'}",
        "{'classic': 1}",
        "PRODUCTS['artemis']",
    ],
)
def test_a_question_for_the_product_is_seen(line: str) -> None:
    assert list(questions(ast.parse(line), product_classes()))


@pytest.mark.parametrize(
    "line",
    [
        "isinstance(value, AnyBroker)",
        "link.kind == 'link'",
        "PRODUCTS[flavour]",
        "Broker('broker-1')",
        "name == other.name",
    ],
)
def test_what_asks_for_no_product_is_let_through(line: str) -> None:
    assert not list(questions(ast.parse(line), product_classes()))


def test_what_records_call_the_brokers_is_what_their_products_are_called() -> None:
    names = [product.launch.name for product in PRODUCTS.values()]
    assert names[:2] == ["activemq", "artemis"], "runs are already recorded with these names"
    assert [name for name in names if not name.startswith(BROKER_VERSIONS)] == []
