"""Fills templates with the style and the script that all pages share, and writes files whole."""

import base64
import hashlib
from collections.abc import Iterable
from importlib.resources import files
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from records.files import replace_whole
from reports.parts.numbers import cell


def render_page(template: str, view: object) -> str:
    """The template filled with ``view`` as its ``page``, with the style and the script that all pages share."""
    environment = Environment(
        loader=PackageLoader("reports"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters["cell"] = cell
    environment.filters["groupby_in_order"] = _groups
    script = _template("sort.js")
    return environment.get_template(template).render(
        page=view,
        css=Markup(_template("report.css")),
        script=Markup(script),
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        svg=Markup,
    )


def _groups(items: Iterable[Any], attribute: str) -> list[tuple[Any, list[Any]]]:
    """Items that follow each other and are alike in an attribute, with what it is; Jinja's own filter sorts them."""
    return [(key, list(group)) for key, group in groupby(items, attrgetter(attribute))]


def _template(name: str) -> str:
    return files("reports").joinpath("templates", name).read_text(encoding="utf-8")


def write_whole(path: Path, text: str) -> None:
    """A reader sees the old report or the new one, never a part. RunUnwritable."""
    replace_whole(path, lambda unfinished: unfinished.write_text(text, encoding="utf-8"))


UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def safe_in_script(text: str) -> str:
    """JSON that no HTML parser takes for the end of its element."""
    for character, escape in UNSAFE.items():
        text = text.replace(character, escape)
    return text
