"""Keeps the figures of every night, reads them back, and draws the trend of the gates' figures.

    <history>/<environment>/<night>.parquet

A file has a row for each figure of each run, and is never changed. Nights with another machine, kernel or Java are in
another folder, because figures from different environments do not form a trend.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from math import nan
from pathlib import Path
from statistics import median

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator

from records.files import replace_whole
from records.run import RunInfo
from records.run_json import digest_of
from reports.comparison.arms import Arm
from reports.comparison.conditions import machine_of
from reports.comparison.metrics import METRICS, Metric
from reports.comparison.runs import AnalysedRun
from reports.nightly.judging import NightlyCell
from reports.parts.style import legend, legend_height, look, new_figure, plain_axes
from reports.parts.values import Column, Table

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
        ("verdict", pa.string()),  # or "aborted", of a load that --abort-on ended
        ("brokerbench", pa.string()),  # version
        ("figure", pa.string()),  # its path in summary.json
        ("value", pa.float64()),  # null: not measured
        ("doubtful", pa.bool_()),
    ]
)
DAMAGED = ".damaged"
GIB = 1 << 30


@dataclass(frozen=True)
class NightlyHistory:
    """The stored figures of one environment. ``damaged``: the new paths of files that could not be read."""

    table: pa.Table
    damaged: tuple[Path, ...] = ()


def environment(info: RunInfo) -> str:
    """Return eight hexadecimal digits that identify the machine, its kernel, Java, and where the brokers run.

    Memory is rounded to whole GiB, as the memory of a virtual machine varies slightly from day to day.
    """
    machine = machine_of(info)
    machine["memory_bytes"] = round(float(machine.get("memory_bytes", 0)) / GIB)
    facts = {**machine, "java": info.versions.get("java"), "python": info.versions.get("python"), "on": info.runtime}
    return digest_of(facts)[:8]


def read(folder: Path) -> NightlyHistory:
    """Read every night of one environment, the oldest first.

    A file that cannot be read is renamed to end in `DAMAGED`.
    """
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
    return NightlyHistory(pa.concat_tables(tables), tuple(damaged))


def append(folder: Path, night: str, cells: Sequence[NightlyCell], history: NightlyHistory) -> Path | None:
    """Add a file with the runs that the history lacks, and return its path; None if it has them all.

    Raises RunUnwritable.
    """
    known_runs = set(history.table["run_id"].to_pylist())
    rows = [row for row in rows_of(night, cells) if row["run_id"] not in known_runs]
    if not rows:
        return None
    path = _free(folder, night)
    replace_whole(path, partial(pq.write_table, pa.Table.from_pylist(rows, SCHEMA)), make_folder=True)
    return path


def _free(folder: Path, night: str) -> Path:
    """Return an unused name, also among files that were set aside, as a night can grow by further runs."""
    number = 1
    while True:
        path = folder / (f"{night}.parquet" if number == 1 else f"{night}-{number}.parquet")
        if not path.exists() and not path.with_name(f"{path.name}{DAMAGED}").exists():
            return path
        number += 1


def rows_of(night: str, cells: Iterable[NightlyCell]) -> Iterator[dict[str, object]]:
    for cell in cells:
        if cell.comparison is None:
            continue
        design = cell.comparison.design
        for arm in design.arms:
            for block, run in zip(design.blocks, arm.runs, strict=True):
                yield from _of_run(night, cell, arm, arm is design.arms[0], block, run)


def _of_run(
    night: str, cell: NightlyCell, arm: Arm, reference: bool, block: str, run: AnalysedRun
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
        "verdict": "aborted" if run.aborted else run.summary["verdict"],
        "brokerbench": str(run.info.versions.get("brokerbench", "")),
    }
    for path, metric in METRICS.items():
        yield {**same, "figure": path, "value": metric.value(run.summary), "doubtful": bool(run.doubt(metric))}
    for name, count in run.summary["messages"].items():
        yield {**same, "figure": f"messages.{name}", "value": float(count), "doubtful": False}  # type: ignore[arg-type]


MOST_NIGHTS = 60


@dataclass(frozen=True)
class TrendLine:
    """One arm, with three values per night: minimum, median and maximum of the runs; None without runs."""

    name: str
    style: int
    low: tuple[float | None, ...]
    middle: tuple[float | None, ...]
    high: tuple[float | None, ...]


@dataclass(frozen=True)
class Trend:
    """One figure of one cell over the nights, the oldest first."""

    cell: str
    metric: Metric
    nights: tuple[str, ...]
    lines: tuple[TrendLine, ...]


def trends(history: pa.Table, cells: Sequence[NightlyCell]) -> tuple[Trend, ...]:
    """Return a trend for each figure that a gate compares. Doubtful values are left out."""
    return tuple(_trend(history, cell, metric) for cell in cells for metric in _metrics(cell))


def _metrics(cell: NightlyCell) -> list[Metric]:
    return list(dict.fromkeys(gate.metric for gate in cell.gates))


def _trend(history: pa.Table, cell: NightlyCell, metric: Metric) -> Trend:
    of_figure = pc.equal(history["figure"], metric.path)
    of_cell = pc.and_(pc.equal(history["scenario"], cell.scenario), pc.equal(history["topology"], cell.topology))
    alike = pc.and_(of_cell, pc.equal(history["setup"], cell.setup))
    rows = history.filter(pc.and_(of_figure, alike)).sort_by("began").to_pylist()
    nights = tuple(dict.fromkeys(row["night"] for row in rows))[-MOST_NIGHTS:]
    arms = dict.fromkeys(row["arm"] for row in sorted(rows, key=lambda row: not row["reference"]))
    lines = tuple(_line(arm, style, nights, rows) for style, arm in enumerate(arms))
    return Trend(cell.name, metric, nights, lines)


def _line(arm: str, style: int, nights: Sequence[str], rows: Sequence[dict[str, object]]) -> TrendLine:
    values: dict[str, list[float]] = {night: [] for night in nights}
    for row in rows:
        if row["arm"] == arm and row["night"] in values and row["value"] is not None and not row["doubtful"]:
            values[str(row["night"])].append(float(row["value"]))  # type: ignore[arg-type]
    values_by_night = [values[night] for night in nights]
    return TrendLine(
        arm,
        style,
        *(
            tuple(statistic(night_values) if night_values else None for night_values in values_by_night)
            for statistic in (min, median, max)
        ),
    )


def trend_table(trend: Trend) -> Table:
    title = f"{trend.metric.title} of {trend.cell}, night by night"
    columns = (Column("Night"), *(Column(name, 3) for line in trend.lines for name in _titles(line)))
    return Table(title, columns, tuple(_rows(trend)), sortable=False)


def _titles(line: TrendLine) -> tuple[str, str, str]:
    return (f"{line.name}: minimum", f"{line.name}: median", f"{line.name}: maximum")


def _rows(trend: Trend) -> Iterator[tuple[str | float | None, ...]]:
    for at, night in enumerate(trend.nights):
        yield (night, *(values[at] for line in trend.lines for values in (line.low, line.middle, line.high)))


HEIGHT = 230
MOST_LABELS = 5


def draw_trend(trend: Trend) -> Figure:
    handles = [Line2D([], [], linewidth=2, markersize=5, label=line.name, **look(line.style)) for line in trend.lines]
    figure = new_figure(HEIGHT + legend_height(handles))
    axes = figure.subplots()
    plain_axes(axes, trend.metric.unit)
    at = range(len(trend.nights))
    for line in trend.lines:
        low, middle, high = ([nan if value is None else value for value in values] for values in _extents(line))
        axes.fill_between(at, low, high, color=look(line.style)["color"], alpha=0.18, linewidth=0)
        axes.plot(at, middle, linewidth=2, markersize=5, **look(line.style))
    axes.set_ylim(bottom=0)
    every = max(1, -(-len(trend.nights) // MOST_LABELS))
    axes.xaxis.set_major_locator(FixedLocator(list(at)[::every]))
    axes.set_xticklabels(trend.nights[::every])
    legend(figure, handles)
    return figure


def _extents(line: TrendLine) -> tuple[tuple[float | None, ...], ...]:
    return (line.low, line.middle, line.high)
