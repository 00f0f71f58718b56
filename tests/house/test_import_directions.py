"""Checks what `lint-imports` cannot check of imports. Its rules are in pyproject.toml."""

import tomllib
from functools import cache
from graphlib import TopologicalSorter

import grimp
import pytest

from tests.house.tree import ROOMS, ROOT
from topologies.products import PRODUCTS

RULES = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]


def test_the_rules_are_about_every_folder_at_the_top() -> None:
    assert {*RULES["root_packages"]} == {*ROOMS}


@cache
def imports() -> dict[str, set[str]]:
    """Return the modules that each module of the project imports."""
    graph = grimp.build_graph(*ROOMS, cache_dir=None)
    return {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}


def folder_of(module: str) -> str:
    """Return ``model`` for ``topologies.model.link``; '' for modules outside topologies/."""
    return module.split(".")[1] if module.startswith("topologies.") else ""


def test_a_folder_of_topologies_has_a_layer_or_is_a_product() -> None:
    (rule,) = (rule for rule in RULES["contracts"] if rule.get("containers") == ["topologies"])
    layers = {name for layer in rule["layers"] for name in layer.split(" | ")}
    assert {folder_of(module) for module in imports()} - {""} <= layers | {*PRODUCTS}


@pytest.mark.parametrize("product", PRODUCTS)
def test_a_product_knows_no_other_product_and_no_runtime(product: str) -> None:
    used = {folder_of(name) for module, names in imports().items() if folder_of(module) == product for name in names}
    assert used - {""} <= {product, "model", "management", "jvm", "render"}


def test_no_other_folder_of_topologies_knows_a_product() -> None:
    """The table of products imports each by its name."""
    of_products = {
        module: {name for name in names if folder_of(name) in PRODUCTS}
        for module, names in imports().items()
        if folder_of(module) and folder_of(module) not in PRODUCTS
    }
    assert {module: names for module, names in of_products.items() if names} == {}


def test_no_modules_import_each_other_in_a_circle() -> None:
    assert imports()["topologies.classic.networks.meshes"] >= {"topologies.model.topology"}, "the graph has no edges"
    TopologicalSorter(imports()).prepare()  # raises CycleError, which names the modules
