"""Checks what `lint-imports` cannot check of imports. Its rules are in pyproject.toml."""

import tomllib
from graphlib import TopologicalSorter

import grimp

from tests.house.tree import ROOMS, ROOT

RULES = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]


def test_the_rules_are_about_every_folder_at_the_top() -> None:
    assert {*RULES["root_packages"]} == {*ROOMS}


def test_no_modules_import_each_other_in_a_circle() -> None:
    graph = grimp.build_graph(*ROOMS, cache_dir=None)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    assert imports["topologies.catalogue.meshes"] >= {"topologies.model.topology"}, "the graph has no edges"
    TopologicalSorter(imports).prepare()  # raises CycleError, which names the modules
