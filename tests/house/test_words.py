"""Checks that no file names a home folder of a user."""

import re

import pytest

from tests.house.tree import ROOT, files

HOMES = re.compile(r"/(?:home|Users)/[A-Za-z]+/")
PICTURES = {".png", ".jpg", ".jpeg", ".ico", ".gz", ".jar", ".parquet", ".arrows", ".woff2"}


def test_no_file_names_a_home_folder() -> None:
    texts = [path for path in files() if path.suffix not in PICTURES]
    assert len(texts) > 20
    homes_by_file = {str(path): HOMES.findall((ROOT / path).read_text(encoding="utf-8")) for path in texts}
    assert {path: homes for path, homes in homes_by_file.items() if homes} == {}


@pytest.mark.parametrize("folder", ["/" + "home/anna/", "/" + "Users/Anna/"])
def test_each_of_them_would_be_found(folder: str) -> None:
    assert HOMES.search(f"see {folder}x for more")
