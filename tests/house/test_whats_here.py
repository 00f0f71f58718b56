"""Checks that the paths in docs/whats-here.md and docs/development.md exist, and the former has each package folder."""

import re
from pathlib import Path

from tests.house.tree import ROOT, files
from topologies.products import PRODUCTS

PAGE = ROOT / "docs" / "whats-here.md"
PATH = re.compile(r"`([\w.][\w./-]*(?:/|\.(?:py|md|toml|lock|json|yml|sh|xml)))`")


def named_paths() -> set[str]:
    return set(PATH.findall(PAGE.read_text(encoding="utf-8")))


def package_folders() -> set[Path]:
    """Return the folders to name. A product's folder needs no row: topologies/products.py lists it."""
    folders = {path.parent for path in files() if path.name == "__init__.py" and path.parts[0] != "tests"}
    return folders - {Path("topologies", name) for name in PRODUCTS}


def test_every_path_it_names_exists() -> None:
    paths = named_paths()
    assert len(paths) > 20
    assert [path for path in sorted(paths) if not (ROOT / path).exists()] == []


def test_every_path_of_a_recipe_exists() -> None:
    """Paths with a word in capitals, such as NAME, are skipped."""
    named = PATH.findall((ROOT / "docs" / "development.md").read_text(encoding="utf-8"))
    paths = {path for path in named if "/" in path and not re.search(r"[A-Z]{4}", path)}
    assert len(paths) > 60
    assert [path for path in sorted(paths) if not (ROOT / path).exists()] == []


def test_every_package_folder_is_named() -> None:
    named = {Path(path) for path in named_paths()}
    assert package_folders()
    assert sorted(map(str, package_folders() - named)) == []


def test_every_folder_at_the_top_is_named() -> None:
    named = {Path(path).parts[0] for path in named_paths()}
    assert {path.parts[0] for path in files() if len(path.parts) > 1} - named == set()


def test_it_stays_a_page_that_a_reader_finishes() -> None:
    assert len(PAGE.read_text(encoding="utf-8").splitlines()) <= 120
