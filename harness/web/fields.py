"""Arranges the options in Locust's form: in the groups of `brokerbench options`, each with a heading and short labels.

Locust shows its "custom parameters" as one list, with the whole help text as the label. React owns these elements, so
the headings are style rules and not elements.
"""

import json
import re
from collections.abc import Mapping
from itertools import groupby
from typing import Any

from harness.options.declarations import OPTIONS, SECTIONS

OTHER = "Other options"
"""Heading of options that the locustfile itself declares."""
FIRST_CLAUSE = re.compile(r"(; |: | \(|, such as ).*", re.DOTALL)
SECTION_BY_FIELD = {option.dest: option.section for option in OPTIONS.values()}
NOTCH = ".MuiInputLabel-shrink ~ .MuiInputBase-root legend { max-width: 100% !important; }"
"""Without it the border crosses out the label of an empty selection."""


def arranged(fields: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the fields by group. ``help_text`` becomes its first clause; ``full_help`` has the whole text."""
    return {
        name: {**field, "help_text": FIRST_CLAUSE.sub("", field["help_text"] or ""), "full_help": field["help_text"]}
        for name, field in sorted(fields.items(), key=lambda item: _place(item[0]))
    }


def _place(name: str) -> int:
    section = SECTION_BY_FIELD.get(name)
    return SECTIONS.index(section) if section in SECTIONS else len(SECTIONS)


def style(fields: Mapping[str, object]) -> str:
    """Return the style rules for the form: a heading above the first field of each group. ``fields``: arranged."""
    rules, place = [NOTCH], 1
    for section, group in groupby(fields, key=_place):
        title = (*SECTIONS, OTHER)[section]
        field = (
            f'.MuiBox-root:has(> .MuiFormControl-root [name="{_in_page(next(iter(fields)))}"]) > :nth-child({place})'
        )
        rules.append(f"{field} {{ margin-top: 2.75rem; position: relative; }}")
        rules.append(
            f"{field}::before {{ content: {json.dumps(title)}; position: absolute; top: -2.25rem; left: 0;"
            " font-weight: 600; font-size: 1.1rem; }"
        )
        place += len(list(group))
    return f"<style>{' '.join(rules)}</style>"


def _in_page(name: str) -> str:
    """Return a field's name in Locust's page: ``body_bytes`` is ``bodyBytes`` there."""
    first, *others = name.split("_")
    return first + "".join(word.capitalize() for word in others)
