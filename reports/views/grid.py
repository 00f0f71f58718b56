"""Sums rows up by the steps of the time axis."""

import pyarrow as pa
import pyarrow.compute as pc

from reports.values import Backdrop


def with_step(rows: pa.Table, backdrop: Backdrop) -> pa.Table:
    """Append the column ``step``: the first second of each row's step."""
    steps = pc.cast(pc.floor(pc.divide(pc.cast(rows["second"], pa.float64()), float(backdrop.step_s))), pa.int64())
    return rows.append_column("step", pc.multiply(steps, backdrop.step_s))


def summed(rows: pa.Table, column: str, backdrop: Backdrop) -> dict[int, int]:
    """Step -> sum of a column; steps without rows are absent."""
    found = with_step(rows, backdrop).group_by("step").aggregate([(column, "sum")])
    return dict(zip(found["step"].to_pylist(), found[f"{column}_sum"].to_pylist(), strict=True))


def last_of_steps(by_second: dict[int, int], backdrop: Backdrop) -> tuple[int | None, ...]:
    """The last value in each step; a step without one has none."""
    last = {second // backdrop.step_s * backdrop.step_s: by_second[second] for second in sorted(by_second)}
    return tuple(last.get(start) for start in backdrop.starts)


def highest_of_steps(by_second: dict[int, int], backdrop: Backdrop) -> tuple[int | None, ...]:
    """The highest value in each step."""
    highest: dict[int, int] = {}
    for second, value in by_second.items():
        step = second // backdrop.step_s * backdrop.step_s
        highest[step] = max(value, highest.get(step, value))
    return tuple(highest.get(start) for start in backdrop.starts)


def mean_of_steps(by_second: dict[int, int], backdrop: Backdrop) -> tuple[float | None, ...]:
    """The mean over the seconds that have a value."""
    values: dict[int, list[int]] = {}
    for second, value in by_second.items():
        values.setdefault(second // backdrop.step_s * backdrop.step_s, []).append(value)
    return tuple(sum(values[s]) / len(values[s]) if s in values else None for s in backdrop.starts)
