"""Makes the documents that follow from the declarations of figures: docs/summary.schema.json and docs/figures.md.

``make docs`` writes them (`brokerbench.documents`).
"""

import json
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, get_args, get_origin, get_type_hints, is_typeddict

import msgspec

from records.figures import clients, faults, latency, load, messages, network, summary
from records.figures.declaration import Figure, declaration, declared, meaning_of
from records.figures.faults import FaultRecovery, Outages
from records.figures.summary import Summary

DOCS = Path(__file__).parents[1] / "docs"
TOPICS = {
    "Messages": messages,
    "Latency": latency,
    "Load": load,
    "Faults": faults,
    "Clients": clients,
    "Network": network,
    "The run itself": summary,
}
TITLE = "summary.json of a brokerbench run"
WHAT = (
    "The results of a run. Figures that could not be measured are null, never 0. Made from records/ by "
    "records.documents."
)
INTRODUCTION = """\
# The figures of a run

Every figure of `summary.json`, by topic. `--check`, a gate and `--primary` name a figure by its path, such as
`messages.lost` or `latency_ms.due_to_received.p99`. A figure that could not be measured is null, never 0.
[summary.schema.json](summary.schema.json) is the same as a JSON schema. Both are made from the declarations in
`records/` by `make docs`.
"""


def summary_schema() -> str:
    """Return the JSON schema of summary.json."""
    generated = msgspec.json.schema(Summary)
    definitions = {name: _in_order(_closed(schema), _classes()[name]) for name, schema in generated["$defs"].items()}
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": TITLE, **definitions.pop("Summary")}
    return json.dumps(head | {"description": WHAT, "$defs": definitions}, indent=2, ensure_ascii=False) + "\n"


def _classes() -> dict[str, type]:
    return {name: kind for topic in TOPICS.values() for name, kind in vars(topic).items() if is_typeddict(kind)}


def _closed(schema: Any) -> Any:
    """Forbid other keys than the type's, list several plain types as one list, and drop the generated titles."""
    if isinstance(schema, list):
        return [_closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    parts = {key: _closed(part) for key, part in schema.items() if key != "title" or not isinstance(part, str)}
    if "properties" in parts:
        parts["additionalProperties"] = False
    choices = parts.pop("anyOf", ())
    for choice in choices:
        parts |= {key: part for key, part in choice.items() if key != "type"}
    return parts | {"type": [choice["type"] for choice in choices]} if choices else parts


def _in_order(schema: dict[str, Any], kind: type) -> dict[str, Any]:
    """Order the keys as they are declared."""
    names = [*get_type_hints(kind)]
    return schema | {"required": names, "properties": {name: schema["properties"][name] for name in names}}


def figures_page() -> str:
    """Return docs/figures.md: one section per topic, and one table per part of the summary."""
    places = dict[type, list[str]]()
    for kind, path in _parts(Summary, ""):
        places.setdefault(kind, []).append(path)
    sections = [INTRODUCTION]
    for heading, topic in TOPICS.items():
        sections.append(f"## {heading}\n")
        sections += [_part(kind, paths) for kind, paths in places.items() if _declared_in(topic, kind)]
    return "\n".join(sections)


def _parts(kind: Any, path: str) -> Iterator[tuple[type, str]]:
    """Yield each object type in the summary with its path; ``[]`` marks the rows of a list."""
    kind, part_figure = declaration(kind)
    if is_typeddict(kind):
        yield kind, path
        for name, hint in get_type_hints(kind, include_extras=True).items():
            yield from _parts(hint, f"{path}.{name}" if path else name)
    elif get_origin(kind) is list:
        yield from _parts(get_args(kind)[0], f"{path}[]")
    elif get_origin(kind) is dict and part_figure is not None:
        yield from _parts(get_args(kind)[1], f"{path}.*")


def _declared_in(topic: ModuleType, kind: type) -> bool:
    return kind.__module__ == topic.__name__


def _part(kind: type, paths: list[str]) -> str:
    description = " ".join((kind.__doc__ or "").split()).replace("``", "`")
    if kind is FaultRecovery:
        description += " It also has the figures of `recovery`."
    for path in paths:
        name, _, by_key = path.partition(".*")
        if name != path and not by_key:
            keys = declared(Summary)[name].keys
            description += f"\n\nThe keys of `{name}`:\n\n" + "\n".join(
                f"- `{key}`: {key_figure.means}" if key_figure.means else f"- `{key}`"
                for key, key_figure in keys.items()
            )
    first_path, *further_paths = paths
    if further_paths:
        description += f"\n\nThe same holds for {', '.join(f'`{path}`' for path in further_paths)}."
    rows = [
        f"| `{name}` | {key_figure.unit} | {key_figure.better or ''} | {_meaning(text, key_figure)} |"
        for name, (text, key_figure) in _keys(kind).items()
    ]
    head = ["| Key | Unit | Better | Meaning |", "|---|---|---|---|"]
    return "\n".join([f"### `{first_path or 'summary.json'}`\n", f"{description}\n", *head, *rows, ""])


def _keys(kind: type) -> dict[str, tuple[str, Figure]]:
    """Return each key's meaning and figure. A fault's figures that `recovery` has too are described there."""
    described_before = get_type_hints(Outages) if kind is FaultRecovery else {}
    hints = get_type_hints(kind, include_extras=True)
    return {
        name: (meaning_of(hint), declaration(hint)[1] or Figure())
        for name, hint in hints.items()
        if name not in described_before
    }


def _meaning(text: str, key_figure: Figure) -> str:
    needs = f"Only for runs with {key_figure.needs.name}." if key_figure.needs else ""
    from_due = "Not for closed loads." if key_figure.from_due else ""
    return " ".join(filter(None, (text, needs, from_due)))


DOCUMENTS = {"summary.schema.json": summary_schema, "figures.md": figures_page}
