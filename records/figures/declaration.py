"""Declares figures, and finds the figures in a TypedDict: each is declared once, with its type, in its topic.

    drained_s: Annotated[float | None, figure("Seconds until …", title="time until the backlog is drained", unit="s")]

These declarations give the names that checks, gates and comparisons accept, the words and units of tables,
docs/figures.md and the JSON schemas (`records.figures.summary`, `records.documents`).
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints, is_typeddict

from msgspec import Meta

Better = Literal["lower", "higher"]
HIGHER: Better = "higher"
LOWER: Better = "lower"
Count = Annotated[int, Meta(ge=0)]
Positive = Annotated[float, Meta(ge=0)]
AtLeastOne = Annotated[int, Meta(ge=1)]


@dataclass(frozen=True)
class Need:
    """A requirement that a run must meet to have a figure.

    ``refusal``: why a run that does not meet it lacks the figure, and the next step. ``absent``: the same for several
    runs, in a comparison.
    """

    name: str
    refusal: str
    absent: str = ""


FAULTS = Need("a fault", "a run without a fault does not have this figure; add a fault with --fault")
MORE_CLIENTS = Need(
    "a growing number of clients",
    "only a load with a growing number of clients has this figure; choose a scenario whose load grows, "
    "such as connections",
)
STEPS = Need(
    "a load in steps",
    "only a load in steps and a search have this figure; add --rate 100,200@10s or --rate search",
    "no load had steps, or none was held",
)
REPLIES = Need(
    "requests", "only a run with requests has this figure; choose a scenario with awaits_replies, such as request_reply"
)
MIRROR = Need("a mirror", "only a network with a mirror has this figure; choose a --topology with one, such as mirror")
REGIONS = Need(
    "several regions", "only brokers in two regions or more have this figure; choose a --topology such as two-regions"
)
SCHEDULE = Need(
    "due times",
    "messages of a closed load have no due times, so it lacks this figure; check latency_ms.sent_to_received or "
    "latency_ms.sent_to_settled instead, or leave --closed out",
    "messages of a closed load have no due times",
)
NEEDS = (FAULTS, MORE_CLIENTS, STEPS, REPLIES, MIRROR, REGIONS, SCHEDULE)


COUNTED = ("messages", "clients", "times")
"""Units that a table's heading does not name."""


def total(values: Sequence[Any]) -> Any:
    """Return the sum, or None if one value is None."""
    return None if None in values else sum(values)


def slowest(values: Sequence[float | None]) -> float | None:
    """Return the largest value; None without values, or if one of them is None."""
    measured = [value for value in values if value is not None]
    return max(measured) if measured and len(measured) == len(values) else None


def most(values: Sequence[int | None]) -> int | None:
    """Return the largest value, with None as 0; None without values."""
    return max((value or 0 for value in values), default=None)


def least(values: Sequence[float | None]) -> float | None:
    """Return the smallest value that is known."""
    return min((value for value in values if value is not None), default=None)


@dataclass(frozen=True)
class Figure:
    """The words and rules of one figure, or of a part of the summary with several figures.

    ``means``: its meaning, and when it is null. ``title``: its name in a sentence, a comparison or a verdict.
    ``column``: its heading in a table, without the unit. ``decimals``: digits after the decimal point in that table.
    ``needs``: the requirement for a run to have this figure. ``from_due``: it is computed from due times, so a closed
    load does not have it. ``over_faults``: computes the figure over all faults from each fault's value. ``backlogged``:
    a backlog changes it. ``compared``: whether comparisons include it; for a part with several figures, the titles of
    the included ones by name. ``compared_with``: a further requirement for comparisons, in addition to ``needs``.
    ``shown``: whether a comparison's table includes it; for a part, the figures that are included. ``keys``: for a part
    whose keys are not in a type, its figures by key.
    """

    means: str = ""
    title: str = ""
    column: str = ""
    unit: str = ""
    decimals: int = 0
    better: Better | None = None
    needs: Need | None = None
    from_due: bool = False
    over_faults: Callable[[Sequence[Any]], Any] | None = None
    backlogged: bool = False
    compared: bool | Mapping[str, str] = False
    compared_with: Need | None = None
    shown: bool | Collection[str] = False
    keys: Mapping[str, "Figure"] = field(default_factory=dict)

    def heading(self, part: str = "") -> str:
        """Return the heading of a table column: ``Outage max (ms)``; counts have no unit. ``part``: a spread's own
        heading."""
        words = f"{self.column} {part}".strip()
        unit = "" if self.unit in COUNTED else self.unit.removeprefix("messages")
        return f"{words} ({unit})" if unit and not words.endswith(unit) else words


def figure(means: str = "", *, keys: Iterable[str] | Mapping[str, Figure] = (), **details: Any) -> Meta:
    """Declare a figure with the fields of `Figure`. ``keys``: names alone are enough."""
    by_key = keys if isinstance(keys, Mapping) else {}
    named = {key: by_key[key] if isinstance(by_key.get(key), Figure) else Figure() for key in keys}
    declared = Figure(means, keys=named, **details)
    return Meta(title=declared.title or None, description=means or None, extra={"figure": declared})


of_messages = partial(figure, unit="messages")
of_clients = partial(figure, unit="clients")
in_ms = partial(figure, unit="ms")
in_s = partial(figure, unit="s")
per_s = partial(figure, unit="messages/s")


def means(text: str, **schema: Any) -> Meta:
    """Declare a value that is not a figure: a text, a list, a part of the summary. ``schema``: further schema
    keywords."""
    return Meta(description=text, extra_json_schema=schema or None)


@dataclass(frozen=True)
class Declared:
    """A figure and its path, such as ``latency_ms.due_to_received.p99``."""

    path: str
    figure: Figure


def figures_of(kind: Any, path: str = "", above: Figure | None = None) -> Iterator[Declared]:
    """Yield every figure within a declared type, in its order. Rows of lists are left out, as no name identifies them.

    ``above``: the declaration of the part of the summary that holds them; its figures inherit from it.
    """
    prefix = f"{path}." if path else ""
    if is_typeddict(kind):
        for name, hint in get_type_hints(kind, include_extras=True).items():
            part, part_figure = declaration(hint)
            if part_figure is not None or is_typeddict(part):
                yield from figures_of(part, prefix + name, _inherited(part_figure or Figure(), name, above))
    elif get_origin(kind) is dict:
        for key, part_figure in (above.keys if above else {}).items():
            yield from figures_of(get_args(kind)[1], prefix + key, _inherited(part_figure, key, above))
    elif get_origin(kind) is not list:
        yield Declared(path, above or Figure())


def declaration(hint: Any) -> tuple[Any, Figure | None]:
    """Return the type of a key, and its figure if it declares one."""
    if get_origin(hint) is not Annotated:
        return hint, None
    kind, *metadata = get_args(hint)
    figures = [meta.extra["figure"] for meta in metadata if isinstance(meta, Meta) and meta.extra]
    return kind, figures[-1] if figures else None


def meaning_of(hint: Any) -> str:
    """Return the meaning of a key, whether it is a figure or not; empty if the type is enough."""
    texts = [meta.description for meta in get_args(hint)[1:] if isinstance(meta, Meta) and meta.description]
    return texts[-1] if texts else ""


def _inherited(part_figure: Figure, name: str, above: Figure | None) -> Figure:
    """Return a figure with the unit, needs and direction of its part of the summary.

    The part also selects the figures that comparisons include.
    """
    if above is None:
        return part_figure
    titles = above.compared if isinstance(above.compared, Mapping) else None
    return replace(
        part_figure,
        title=titles.get(name, part_figure.title) if titles else part_figure.title,
        unit=part_figure.unit or above.unit,
        better=part_figure.better or above.better,
        needs=part_figure.needs or above.needs,
        from_due=part_figure.from_due or above.from_due,
        backlogged=part_figure.backlogged or above.backlogged,
        compared=part_figure.compared if titles is None else name in titles,
        compared_with=part_figure.compared_with or above.compared_with,
        shown=part_figure.shown if titles is None else _is_shown(above, name),
    )


def _is_shown(above: Figure, name: str) -> bool:
    return above.shown if isinstance(above.shown, bool) else name in above.shown


@cache
def declared(kind: Any) -> dict[str, Figure]:
    """Return the declared figure of each key of a TypedDict that is a figure or contains some, by name."""
    figure_by_name = {name: declaration(hint)[1] for name, hint in get_type_hints(kind, include_extras=True).items()}
    return {name: figure for name, figure in figure_by_name.items() if figure is not None}


def headings(kind: Any, *names: str) -> dict[str, str]:
    """Return the table headings of these figures, by name."""
    figures = declared(kind)
    return {name: figures[name].heading() for name in names}


def titles(kind: Any, *names: str) -> dict[str, str]:
    """Return the titles of these figures of a TypedDict, by name."""
    figures = declared(kind)
    return {name: figures[name].title for name in names}
