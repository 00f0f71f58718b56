"""Checks that comparing two sets of outputs finds real differences, and ignores values that differ in every run."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.outputs import PlantedComparison

ROWS = [{"second": 1, "count": 2}, {"second": 2, "count": 3}]


def write(top: Path, *, text: str = "as it was\n", rows: Any = ROWS, summary: str = '{"lost": 0}') -> Path:
    top.mkdir()
    (top / "said.txt").write_text(text)
    (top / "summary.json").write_text(summary)
    pq.write_table(pa.Table.from_pylist(rows), top / "rates.parquet")
    return top


@pytest.mark.parametrize(
    ("changed", "differences"),
    [
        ({}, []),
        ({"text": "otherwise\n"}, ["said.txt: line 1: 'as it was' | 'otherwise'"]),
        ({"summary": '{"lost": 7}'}, ["summary.json: $.lost: '0' | '7'"]),
        ({"rows": [*reversed(ROWS)]}, ["rates.parquet: the same rows in another order"]),
    ],
)
def test_what_differs_is_named_with_its_place(changed: dict[str, Any], differences: list[str], tmp_path: Path) -> None:
    comparison = PlantedComparison(write(tmp_path / "one"), write(tmp_path / "other", **changed))
    assert comparison.compare() == (not differences)
    assert comparison.lines == differences
    assert comparison.counts["rows"].compared == 2


def test_how_long_spark_took_to_start_is_no_difference(tmp_path: Path) -> None:
    before, after = (
        write(tmp_path / str(seconds), text=f"analysis: started Spark ({seconds} s)\n") for seconds in (4.1, 5.9)
    )
    assert PlantedComparison(before, after).compare()


def test_a_row_that_is_not_there_is_counted(tmp_path: Path) -> None:
    comparison = PlantedComparison(write(tmp_path / "one"), write(tmp_path / "other", rows=ROWS[:1]))
    assert not comparison.compare()
    assert comparison.counts["rows"].differ == 1
