"""Tables and sentences about links: backlogs, set and measured values of links through proxies, and mirror lag."""

from collections.abc import Iterator, Mapping

import pyarrow as pa

from records.figures.network import MirrorAtKill, MirrorResult
from records.run import LinkInfo, RunInfo
from records.units import NS_PER_MS
from reports.network.brokers import by_second, of_kind
from reports.parts.numbers import counted
from reports.parts.values import Cell, Column, Table

MOST_BACKLOGS = 20


def backlog_table(table: pa.Table) -> Table:
    """Return the longest backlog of each direction of a link; if there are many, only the longest."""
    direction_columns = ("from_broker", "to_broker", "connector", "waits_in")
    columns = (
        Column("From"),
        Column("To"),
        Column("Link"),
        Column("Counted"),
        Column("Most messages", 0),
        Column("First at (s)", 0),
    )
    most_by_direction: dict[tuple[str, ...], tuple[int, int]] = {}
    for row in table.to_pylist():
        key = tuple(row[name] for name in direction_columns)
        most_by_direction[key] = max(most_by_direction.get(key, (0, 0)), (row["messages"], -row["second"]))
    ordered = sorted(most_by_direction.items(), key=lambda item: (-item[1][0], item[0]))
    shown = [backlog for backlog in ordered[:MOST_BACKLOGS] if backlog[1][0]]
    rows: tuple[tuple[Cell, ...], ...] = tuple((*key, most, -second) for key, (most, second) in shown)
    excerpt = f", the {MOST_BACKLOGS} with most" if len(ordered) > MOST_BACKLOGS else ""
    empty = "No sample shows a message that waited for a link."
    return Table(f"Messages that waited for links{excerpt}", columns, rows, empty)


KIND = "link"
LATE_BY, LATE_BY_MS, MOST_TOLD = 0.1, 5, 3
CAPTION = "Links through proxies, one row per direction: as configured → as measured"
COLUMNS = (
    Column("From"),
    Column("To"),
    Column("Link"),
    Column("Delay set (ms)", 0),
    Column("Jitter set (ms)", 0),
    Column("Round trip, 2 × delay (ms)", 0),
    Column("Round trip, measured (ms)", 1),
    Column("Minimum – maximum (ms)"),
    Column("Bandwidth set (kB/s)", 0),
    Column("Bytes, whole run", 0),
)


def links_table(run: RunInfo, resources: pa.Table) -> Table | None:
    """Return the table of links through proxies; None if there are none."""
    if not any(link.proxied for link in run.links):
        return None
    figures = {metric: by_second(of_kind(resources, KIND, metric), "object", "value") for metric in _metrics(resources)}
    rows = tuple(row for link in run.links if link.proxied for row in _rows(link, figures))
    return Table(CAPTION, COLUMNS, rows, sortable=True)


def _metrics(resources: pa.Table) -> set[str]:
    return {
        metric
        for kind, metric in zip(resources["kind"].to_pylist(), resources["metric"].to_pylist(), strict=True)
        if kind == KIND
    }


Figures = Mapping[str, Mapping[str, Mapping[int, int]]]
"""Metric -> link -> second -> value."""


def _rows(link: LinkInfo, figures: Figures) -> Iterator[tuple[Cell, ...]]:
    """Yield both directions of a link. Even if messages only go one way, answers come back."""
    least, median, most = (_round_trip_ms(link, figures, metric) for metric in ("least", "median", "most"))
    span = None if least is None or most is None else f"{least:.1f} – {most:.1f}"
    for sender, receiver, metric in (
        (link.opened_by, link.to, "whole_run_forth_bytes"),
        (link.to, link.opened_by, "whole_run_back_bytes"),
    ):
        yield (
            sender,
            receiver,
            link.name,
            link.delay_ms,
            link.jitter_ms,
            2 * link.delay_ms,
            median,
            span,
            link.bandwidth_kb_per_s or None,
            _single_figure(link, figures, metric),
        )


def link_doubts(run: RunInfo, resources: pa.Table) -> Iterator[str]:
    """Yield a sentence on links whose round trip before the load was much longer than configured."""
    measured = by_second(of_kind(resources, KIND, "round_trip_median_ns"), "object", "value")
    figures = {"round_trip_median_ns": measured}
    late = []
    for link in run.links:
        took_ms = _round_trip_ms(link, figures, "median")
        most_ms = 2 * (link.delay_ms + link.jitter_ms)
        if took_ms is not None and took_ms > most_ms * (1 + LATE_BY) + LATE_BY_MS:
            late.append(f"{link.name} {took_ms:.1f} ms instead of {2 * link.delay_ms} ms")
    if late:
        further = f", and {len(late) - MOST_TOLD} more" if len(late) > MOST_TOLD else ""
        yield (
            f"Round trips over links took longer than their configured delays: {'; '.join(late[:MOST_TOLD])}{further}. "
            "This machine causes the difference."
        )


def _round_trip_ms(link: LinkInfo, figures: Figures, metric: str) -> float | None:
    took_ns = _single_figure(link, figures, f"round_trip_{metric}_ns")
    return None if took_ns is None else took_ns / NS_PER_MS


def _single_figure(link: LinkInfo, figures: Figures, metric: str) -> int | None:
    """Return a figure that is measured once per run."""
    return next(iter(figures.get(metric, {}).get(link.name, {}).values()), None)


def mirror_sentences(mirror: MirrorResult) -> str:
    """Return a sentence for each mirror of a killed broker; '' without any."""
    return " ".join(map(_sentence, mirror["at_kill"]))


def _sentence(row: MirrorAtKill) -> str:
    moment = f"At the last sample before {row['broker']} was killed, its mirror {row['link']}"
    if not row["lag_messages"]:
        return f"{moment} had replicated everything."
    age = "it is not known how old they were" if row["lag_s"] is None else f"none was older than {row['lag_s']:.1f} s"
    return f"{moment} had {counted(row['lag_messages'], 'message')} left to replicate; {age}."
