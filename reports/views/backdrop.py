"""Makes the background of every plot over time: the span of the run, its warm-up, its drain and its faults."""

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from records.run import Phases, RunInfo
from records.units import NS_PER_S
from reports.values import Backdrop, Band

MOST_STEPS, MOST_STEPS_OF_MANY = 240, 120
MANY = 12
"""With more brokers than this, charts have fewer steps: a report stays under 1 MB."""
STEPS_S = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1_800, 3_600)
TIMED = ("rates", "latency", "connections")


def backdrop(
    tables: Mapping[str, pa.Table],
    run: RunInfo,
    load_s: float,
    faults: pa.Table | None,
    unplanned: tuple[Band, ...] = (),
) -> Backdrop:
    """The seconds that any message or client fell in, in steps short enough to see and few enough to draw.

    ``unplanned``: outages beside the faults.
    """
    seconds = [int(value) for name in TIMED if tables[name].num_rows for value in _extremes(tables[name]["second"])]
    first, last = (min(seconds), max(seconds)) if seconds else (0, max(0, int(load_s) - 1))
    step_s = step_of(last - first + 1, MOST_STEPS_OF_MANY if len(run.brokers) > MANY else MOST_STEPS)
    return Backdrop(first, last, load_s, (*bands(run.phases, faults, tables["latency"]), *unplanned), step_s)


def step_of(span_s: int, most_steps: int) -> int:
    """The shortest step that keeps the number of steps in bounds."""
    return next((step for step in STEPS_S if span_s <= step * most_steps), STEPS_S[-1])


def bands(phases: Phases, faults: pa.Table | None, latency: pa.Table) -> tuple[Band, ...]:
    """Faults by their own events. If those are missing: the seconds that the analysis marked as in a fault."""
    if faults is None or phases.load_began_ns is None:
        return _marked(latency)
    rows = sorted(faults.to_pylist(), key=lambda row: int(row["began_ns"]))
    return tuple(_band(number, row, phases.load_began_ns) for number, row in enumerate(rows, start=1))


def _band(number: int, row: Mapping[str, object], load_began_ns: int) -> Band:
    def since_load_s(at_ns: object) -> float | None:
        return (at_ns - load_began_ns) / NS_PER_S if isinstance(at_ns, int) else None

    what = f"{row['kind']} {row['target']}".strip()
    began_s = since_load_s(row["began_ns"]) or 0.0
    ended_s = since_load_s(row["ended_ns"] if row["restored_ns"] is None else row["restored_ns"])
    return Band(f"F{number}", what, began_s, ended_s, str(row["error"] or ""))


def _marked(latency: pa.Table) -> tuple[Band, ...]:
    marked = latency.filter(latency["in_fault"])["second"]
    if not len(marked):
        return ()
    first, last = _extremes(marked)
    return (Band("F1", "fault (by the analysis' marks)", float(first), float(last + 1)),)


def _extremes(seconds: pa.ChunkedArray) -> tuple[int, int]:
    found = pc.min_max(seconds).as_py()
    return found["min"], found["max"]
