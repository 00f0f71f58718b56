"""Checks that links between the pages are valid, and that the pages' commands run the tools of `.venv`."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.house.tree import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
LINK = re.compile(r"\]\(([^)\s]+)\)")


def anchor(heading: str) -> str:
    """Return a heading's anchor for links: lowercase, without punctuation, dashes for spaces."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def broken(page: Path, text: str) -> list[str]:
    """Return the broken links of a page."""
    broken_links = []
    for link in LINK.findall(re.sub(r"```.*?```", "", text, flags=re.DOTALL)):
        if ":" in link:
            continue  # another site's
        path, _, heading = link.partition("#")
        target = page.parent / path if path else page
        if not target.exists():
            broken_links.append(link)
        elif heading:
            headings = re.findall(r"^#+ (.*)$", target.read_text(encoding="utf-8"), re.MULTILINE)
            broken_links += [link] if heading not in map(anchor, headings) else []
    return broken_links


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_between_pages_leads_somewhere(page: Path) -> None:
    assert broken(page, page.read_text(encoding="utf-8")) == []


def test_a_link_to_nothing_is_found() -> None:
    page = ROOT / "docs" / "options.md"
    text = "[a](options.md#load) [b](#clients) [c](https://example.com/x) [d](no.md) [e](options.md#no) [f](#no)"
    assert broken(page, text) == ["no.md", "options.md#no", "#no"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_run_the_python_that_has_the_packages(page: Path) -> None:
    blocks = re.findall(r"```sh\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines()]
    assert [line for line in lines if re.match(r"(python3?|locust|brokerbench|pip) ", line)] == []


def test_what_documented_commands_write_is_not_for_git() -> None:
    written = ["comparison.html", "runs/a-run/run.json", "export/latency.csv"]
    ignored = subprocess.run(["git", "check-ignore", *written], cwd=ROOT, capture_output=True, text=True, check=False)
    assert ignored.stdout.split() == written
