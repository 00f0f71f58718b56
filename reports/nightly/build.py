"""Writes all files of a night, each whole or not at all: its page, those of its comparisons, and files for CI."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from reports.comparison.build import render as render_comparison
from reports.nightly.forms import document_text, markdown, nightly_junit
from reports.nightly.history import History
from reports.nightly.night import Night
from reports.nightly.page import nightly_page
from reports.parts.html import render_page, write_whole


@dataclass(frozen=True)
class NightFiles:
    """``folder``: for the pages and nightly.json. ``junit`` and ``markdown``: None: not that one."""

    folder: Path
    junit: Path | None = None
    markdown: Path | None = None


def write(of: Night, history: History, files: NightFiles) -> Sequence[Path]:
    """The paths, the night's page first. RunUnwritable for one that cannot be written."""
    compared = {cell.name: cell.comparison for cell in of.cells if cell.comparison is not None}
    names = {name: f"comparison-{at}.html" for at, name in enumerate(compared, start=1)}
    page = files.folder / "nightly.html"
    written = {page: render_page("nightly.html.j2", nightly_page(of, history, names))}
    written |= {files.folder / names[name]: render_comparison((each,)) for name, each in compared.items()}
    written[files.folder / "nightly.json"] = document_text(of)
    if files.junit is not None:
        written[files.junit] = nightly_junit(of)
    if files.markdown is not None:
        written[files.markdown] = markdown(of)
    for path, content in written.items():
        write_whole(path, content)
    return list(written)
