"""Checks how figures are declared, found and documented."""

import json
from typing import Annotated, Any, TypedDict

from records.documents import DOCS
from records.figures.declaration import (
    FAULTS,
    LOWER,
    Count,
    declared,
    figure,
    figures_of,
    least,
    means,
    most,
    slowest,
    total,
)
from records.figures.summary import FIGURES
from reports.comparison.metrics import METRICS


class ExampleSpread(TypedDict):
    p50: Annotated[float | None, figure("The middle one.", column="p50")]
    max: Annotated[float | None, figure("The largest.", column="max")]


class ExampleRow(TypedDict):
    number: Annotated[int, figure("Of a list.")]


class ExamplePart(TypedDict):
    name: Annotated[str, means("A text.")]
    lost: Annotated[Count, figure("How many.", unit="messages")]
    took_ms: Annotated[ExampleSpread, figure("How long.", unit="ms", column="Took", compared={"max": "longest"})]
    rows: list[ExampleRow]


class Whole(TypedDict):
    part: Annotated[ExamplePart, figure(needs=FAULTS)]
    by_name: Annotated[dict[str, ExampleSpread], figure(better=LOWER, unit="s", keys=("a", "b"))]


def test_figures_are_found_in_their_order_and_rows_of_lists_and_texts_are_none() -> None:
    assert [figure_place.path for figure_place in figures_of(Whole)] == [
        "part.lost",
        "part.took_ms.p50",
        "part.took_ms.max",
        *(f"by_name.{key}.{name}" for key in ("a", "b") for name in ("p50", "max")),
    ]


def test_a_figure_has_what_the_part_that_holds_it_says_of_all_of_its_figures() -> None:
    by_path = {figure_place.path: figure_place.figure for figure_place in figures_of(Whole)}
    longest, middle, of_a = by_path["part.took_ms.max"], by_path["part.took_ms.p50"], by_path["by_name.a.max"]
    assert (longest.title, longest.unit, longest.needs, longest.compared) == ("longest", "ms", FAULTS, True)
    assert (middle.unit, middle.compared) == ("ms", False)
    assert (of_a.unit, of_a.better, of_a.needs) == ("s", LOWER, None)


def test_a_heading_has_the_unit_unless_it_counts_or_says_it_already() -> None:
    figures = declared(ExamplePart)
    assert figures["took_ms"].heading("max") == "Took max (ms)"
    assert declared(ExampleRow)["number"].heading() == ""
    assert figures["lost"].heading() == ""


def test_figures_of_several_faults_add_up_or_are_the_worst_and_unknown_if_one_is() -> None:
    assert (total([1, 2]), total([1, None]), total([])) == (3, None, 0)
    assert (slowest([1.0, 3.0]), slowest([1.0, None]), slowest([])) == (3.0, None, None)
    assert (most([1, None, 3]), most([None]), most([])) == (3, 0, None)
    assert (least([2.0, None, 1.5]), least([None]), least([])) == (1.5, None, None)


def _types(schema: dict[str, Any]) -> list[str]:
    kinds = schema.get("type", [])
    return kinds if isinstance(kinds, list) else [kinds]


def test_every_figure_says_what_it_means() -> None:
    documented = json.loads((DOCS / "summary.schema.json").read_text(encoding="utf-8"))["$defs"]
    silent = {"CheckResult", "MirrorMessages", "MirrorSeconds"}
    numbers = [
        f"{name}.{key}"
        for name, schema in documented.items()
        for key, value in schema["properties"].items()
        if {"integer", "number"} & {*_types(value)} and "description" not in value and name not in silent
    ]
    assert numbers == []


def test_every_figure_that_comparisons_know_has_words_and_a_unit() -> None:
    assert METRICS.keys() <= FIGURES.keys()
    assert [path for path, metric in METRICS.items() if not metric.title or not metric.unit] == []
