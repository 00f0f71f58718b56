"""How does an analysed run become report.html? Read, compute, print, write it whole or not at all."""

import base64
import hashlib
import os
import time
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from records.errors import RunUnwritable, explained
from records.rundir import RunDirectory
from reports.inputs import Results, read_results
from reports.numbers import cell
from reports.page import page


@dataclass(frozen=True)
class Written:
    """A report and what it cost."""

    path: Path
    size_bytes: int
    took_s: float

    def __str__(self) -> str:
        return f"{self.path}: {self.size_bytes / 1000:,.0f} kB in {self.took_s:.1f} s"


def write_report(run: Path) -> Path:
    """Write ``report.html`` into the folder of an analysed run and return its path.

    RunUnreadable when the run was not analysed or by another version, RunUnwritable when the file cannot be written.
    """
    return write_report_measured(run).path


def write_report_measured(run: Path) -> Written:
    """As `write_report`, and tell size and time."""
    began = time.perf_counter()
    html = render(read_results(run))
    path = RunDirectory.open(run).report_path
    _write_whole(path, html)
    return Written(path, len(html.encode()), time.perf_counter() - began)


def render(results: Results) -> str:
    """The whole page as text: the same results give the same text."""
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined)
    environment.filters["cell"] = cell
    script = _template("sort.js")
    template = environment.from_string(_template("report.html.j2"))
    return template.render(
        page=page(results),
        css=Markup(_template("report.css")),
        script=Markup(script),
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        svg=Markup,
    )


def _template(name: str) -> str:
    return files("reports").joinpath("templates", name).read_text(encoding="utf-8")


def _write_whole(path: Path, text: str) -> None:
    """A reader sees the old report or the new one, never a part."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        try:
            unfinished.write_text(text, encoding="utf-8")
            unfinished.replace(path)
        finally:
            unfinished.unlink(missing_ok=True)
    except OSError as error:
        why, next_step = explained(error)
        raise RunUnwritable(f"{path}: cannot be written: {why}; {next_step}") from None
