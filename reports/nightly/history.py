"""Keeps the figures of every night, and reads them back for a trend.

    <history>/<environment>/<night>.parquet

A file holds a row for each figure of each run, and is never changed. Nights of another machine, kernel or Java are in
another folder: figures of different environments make no trend.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from records.files import replace_whole
from records.run import RunInfo
from reports.comparison.arms import Arm
from reports.comparison.conditions import machine_of
from reports.comparison.metrics import METRICS
from reports.comparison.runs import FinishedRun
from reports.nightly.judging import Cell

SCHEMA = pa.schema(
    [
        ("night", pa.string()),
        ("began", pa.string()),  # ISO 8601, of the load
        ("scenario", pa.string()),
        ("topology", pa.string()),  # "" where the arms are topologies
        ("setup", pa.string()),  # stands for what is varied and for the options of the runs
        ("arm", pa.string()),
        ("reference", pa.bool_()),
        ("block", pa.string()),
        ("run_id", pa.string()),
        ("verdict", pa.string()),
        ("brokerbench", pa.string()),  # version
        ("figure", pa.string()),  # its path in summary.json
        ("value", pa.float64()),  # null: not measured
        ("doubtful", pa.bool_()),
    ]
)
DAMAGED = ".damaged"
GIB = 1 << 30


@dataclass(frozen=True)
class History:
    """All that is kept of one environment. ``damaged``: files that could not be read, where they are now."""

    table: pa.Table
    damaged: tuple[Path, ...] = ()


def environment(info: RunInfo) -> str:
    """Eight hexadecimal digits that stand for the machine, its kernel, Java, and where the brokers run.

    The memory counts in whole GiB: what a virtual machine has of it differs by little from day to day.
    """
    machine = machine_of(info)
    machine["memory_bytes"] = round(float(machine.get("memory_bytes", 0)) / GIB)
    told = {**machine, "java": info.versions.get("java"), "python": info.versions.get("python"), "on": info.runtime}
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:8]


def read(folder: Path) -> History:
    """Every night of one environment, the oldest first. A file that cannot be read is set aside under another name."""
    tables, damaged = [SCHEMA.empty_table()], []
    for path in sorted(folder.glob("*.parquet")):
        try:
            tables.append(pq.read_table(path, schema=SCHEMA))
        except (FileNotFoundError, PermissionError):
            raise  # nothing is wrong with the file
        except (OSError, pa.ArrowException):
            aside = path.with_name(f"{path.name}{DAMAGED}")
            path.replace(aside)
            damaged.append(aside)
    return History(pa.concat_tables(tables), tuple(damaged))


def append(folder: Path, night: str, cells: Sequence[Cell], known: History) -> Path | None:
    """Adds a file with the runs that the history does not have yet; None if it has them all. Raises RunUnwritable."""
    there = set(known.table["run_id"].to_pylist())
    rows = [row for row in rows_of(night, cells) if row["run_id"] not in there]
    if not rows:
        return None
    path = _free(folder, night)
    replace_whole(path, partial(pq.write_table, pa.Table.from_pylist(rows, SCHEMA)), make_folder=True)
    return path


def _free(folder: Path, night: str) -> Path:
    """A name that no file has, not even one that was set aside: a night may grow by more runs."""
    number = 1
    while True:
        path = folder / (f"{night}.parquet" if number == 1 else f"{night}-{number}.parquet")
        if not path.exists() and not path.with_name(f"{path.name}{DAMAGED}").exists():
            return path
        number += 1


def rows_of(night: str, cells: Iterable[Cell]) -> Iterator[dict[str, object]]:
    for cell in cells:
        if cell.comparison is None:
            continue
        design = cell.comparison.design
        for arm in design.arms:
            for block, run in zip(design.blocks, arm.runs, strict=True):
                yield from _of_run(night, cell, arm, arm is design.arms[0], block, run)


def _of_run(
    night: str, cell: Cell, arm: Arm, reference: bool, block: str, run: FinishedRun
) -> Iterator[dict[str, object]]:
    same: dict[str, object] = {
        "night": night,
        "began": run.summary["wall"],
        "scenario": cell.scenario,
        "topology": cell.topology,
        "setup": cell.setup,
        "arm": arm.name,
        "reference": reference,
        "block": block,
        "run_id": run.info.run_id,
        "verdict": run.summary["verdict"],
        "brokerbench": str(run.info.versions.get("brokerbench", "")),
    }
    for path, metric in METRICS.items():
        yield {**same, "figure": path, "value": metric.value(run.summary), "doubtful": bool(run.doubt(metric))}
    for name, count in run.summary["messages"].items():
        yield {**same, "figure": f"messages.{name}", "value": float(count), "doubtful": False}  # type: ignore[arg-type]
