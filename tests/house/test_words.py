"""Checks that no file names a path of one machine, or a registry host that a reader's own tools should choose."""

import re

import pytest

from tests.house.tree import ROOT, files

# Each is put together here, so that this file does not hold what it looks for.
REGISTRY_HOSTS = [
    ".".join(parts)
    for parts in (
        ("pypi", "org"),
        ("pythonhosted", "org"),
        ("repo1", "maven", "org"),
        ("repo", "maven", "apache", "org"),
        ("registry", "npmjs", "org"),
        ("proxy", "golang", "org"),
        ("static", "crates", "io"),
        ("deb", "debian", "org"),
        ("registry-1", "docker", "io"),
    )
]
MACHINE_PATHS = [
    "/" + "/".join(parts) for parts in (("work", "main"), ("work", "shared"), ("tmp", "lab"), ("root", ""))
]
WORKPLACE = [" ".join(("issues", "show")), "facts" + "/brokers", "facts" + "/machines", "facts" + "/measurement"]
FORBIDDEN = re.compile("|".join(map(re.escape, [*REGISTRY_HOSTS, *MACHINE_PATHS, *WORKPLACE])) + r"|/home/[a-z]+/")
PICTURES = {".png", ".jpg", ".jpeg", ".ico", ".gz", ".jar", ".parquet", ".arrows", ".woff2"}


def breaches(text: str) -> list[str]:
    return [found.group() for found in FORBIDDEN.finditer(text)]


def test_no_file_names_a_registry_host_or_a_path_of_one_machine() -> None:
    texts = [path for path in files() if path.suffix not in PICTURES]
    assert len(texts) > 20
    found = {str(path): breaches((ROOT / path).read_text(encoding="utf-8")) for path in texts}
    assert {path: words for path, words in found.items() if words} == {}


@pytest.mark.parametrize("word", [*REGISTRY_HOSTS, *MACHINE_PATHS, *WORKPLACE, "/" + "home/anna/"])
def test_each_of_them_would_be_found(word: str) -> None:
    assert breaches(f"see {word}x for more")
