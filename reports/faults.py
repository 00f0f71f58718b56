"""Describes the effects of faults on clients, and outages without a fault. Draws the outage of each client."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter

from records.figures.faults import FaultRecovery, FaultTraits, Recovery, StrandedAt, Unplanned, outage_ms, traits_of
from records.figures.summary import Summary
from records.run import OUT_OF_REACH, RunInfo
from records.units import MS_PER_S, NS_PER_MS, NS_PER_S
from reports.parts.numbers import counted, joined, seconds_text, sentence, significant
from reports.parts.over_time import Backdrop, FaultBand, Line, Panel, TimeSeries, chart_over_time, summed
from reports.parts.style import GRID, INK, MUTED, SMALL, WIDE, chart, look, new_figure, plain_axes, shortened
from reports.parts.values import Chart, Columns, Table, columns_of, table_of, transpose


@dataclass(frozen=True)
class OutageRow:
    """The outages of one fault, for clients of one role. ``never``: the number of clients that never came back."""

    name: str
    outages_ms: tuple[float, ...]
    never: int
    style: int = 0


LONGEST = "recovery.outage_ms.max"
MOST_SENTENCES = 3
ROLES = {"producer": "producers", "consumer": "consumers", "": "without messages"}


def recovery_sentences(
    recovery: Recovery, doubtful: Collection[str] = (), held: bool | None = None, *, unaccounted: int = 0
) -> tuple[str, ...]:
    """Return sentences about the effect of each fault. ``doubtful``: figures as a check names them.

    ``held``: whether the offered rate was held; if not, waiting messages are not mentioned, as no fault made them wait.
    ``unaccounted``: messages of the run that may be lost, too.
    """
    sentences = [
        fault_sentences(
            fault,
            outage_doubtful=LONGEST in doubtful,
            backlog_its_own=held is not False,
            loss_known=not unaccounted,
        )
        for fault in recovery["faults"][:MOST_SENTENCES]
    ]
    further = len(recovery["faults"]) - len(sentences)
    return tuple([*sentences, f"{counted(further, 'further fault')} followed."] if further else sentences)


def fault_sentences(
    fault: FaultRecovery, *, outage_doubtful: bool = False, backlog_its_own: bool = True, loss_known: bool = True
) -> str:
    """Describe a fault: ``broker-2 was killed at 10 s: 34 of 100 clients were cut off, the slowest for 1.9 s. No …``"""
    traits = traits_of(fault["kind"])
    began, messages = f"{fault['target']} {traits.said} {_when(fault, traits)}", _messages(fault, loss_known)
    waited = _waited(fault) if backlog_its_own else ""
    if not traits.explains_outages:  # nobody was cut off by it
        return f"{began}: {messages}.{waited}"
    cut_off, positions = _cut_off(fault, doubtful=outage_doubtful), _positions(fault, loss_known)
    return f"{began}: {cut_off}. {sentence(messages)}{positions}{waited}"


def _when(fault: FaultRecovery, traits: FaultTraits) -> str:
    """Return when the fault began; also when it ended, for a broker that left again, and for faults that are a span."""
    began, until_s = f"{fault['began_s']:.3g} s", fault["restored_s"]
    if until_s is None:
        return f"at {began}" if traits.joins else f"at {began} and {traits.stayed}"
    if traits.joins:
        return f"at {began} and left at {until_s:.3g} s"
    return f"from {began} to {until_s:.3g} s" if traits.is_a_span else f"at {began}"


def _cut_off(fault: FaultRecovery, *, doubtful: bool) -> str:
    if not fault["cut_off"]:
        return "no client was cut off"
    whole = f"{fault['cut_off']:,} of {counted(fault['clients'], 'client')}"
    if fault["cut_off"] > fault["clients"]:  # some were connected only later
        whole = counted(fault["cut_off"], "client")
    text = f"{whole} {_were(fault['cut_off'])} cut off"
    if fault["never_back"]:
        return f"{text}, {fault['never_back']:,} of them for good"
    slowest_ms = fault["outage_ms"]["max"]
    if slowest_ms is None:
        return text
    return f"{text}, the slowest for {seconds_text(slowest_ms / MS_PER_S)}{' (doubtful)' if doubtful else ''}"


def _messages(fault: FaultRecovery, loss_known: bool) -> str:
    lost = fault["lost"]
    verb = _were(lost or 1) if loss_known else "is known to be" if lost <= 1 else "are known to be"
    text = f"{counted(lost, 'acknowledged message') if lost else 'no acknowledged message'} {verb} lost"
    text += f", {fault['stranded']:,} {_were(fault['stranded'])} stranded" if fault["stranded"] else ""
    twice = fault["duplicated"]
    return f"{text}, {f'{twice:,} {_were(twice)}' if twice else 'none was'} delivered twice"


def _positions(fault: FaultRecovery, loss_known: bool) -> str:
    """Return a sentence on the positions of lost messages in the sequences of messages at risk; empty if none was lost.

    `` Of 90 messages that waited at broker-2, 12 are gone: 2 sequences lost the last messages; the oldest one …``
    """
    losses = {
        "lost everything": fault["lost_whole"],
        "lost the last messages": fault["lost_tails"],
        "lost messages before later ones that survived": fault["lost_holes"],
    }
    parts = [f"{counted(count, 'sequence')} {what}" for what, count in losses.items() if count]
    if not parts:
        return ""
    waited = f" Of {fault['at_risk']:,} messages that waited at {fault['target']}, {fault['gone']:,}"
    if not loss_known:
        return f"{waited} were neither received nor found, but not all places could be searched."
    return (
        f"{waited} are gone: "
        f"{joined(parts)}; the oldest of them was confirmed {seconds_text(fault['oldest_lost_s'] or 0.0)} before the "
        "fault."
    )


def _waited(fault: FaultRecovery) -> str:
    """Return a sentence on the backlog; empty unless the fault caused a backlog that has drained."""
    highest, drained_s = fault["backlog_highest"], fault["backlog_drained_s"]
    if not highest or not drained_s:
        return ""
    rate = "" if fault["drain_per_s"] is None else f", at {fault['drain_per_s']:,.0f} messages per second"
    return (
        f" Up to {counted(highest, 'message')} waited, and had arrived {seconds_text(drained_s)} after the fault "
        f"began{rate}."
    )


def _were(count: int) -> str:
    return "was" if count == 1 else "were"


def recovery_table(recovery: Recovery) -> Table:
    """Return a table with a row per figure and a column per fault.

    Times are seconds of the load; outages are in ms, and empty if a client never came back.
    """
    columns = columns_of(
        FaultRecovery,
        "fault",
        ("What", None, lambda fault: f"{fault['kind']} {fault['target']}"),
        *("began_s", "effective_s", "restored_s", "clients", "cut_off", "never_back", "nothing_due"),
        *("outage_ms.p50", "outage_ms.max", "reconnect_ms.max", "ready_ms.max", "in_flight", "start_s", "lost"),
        *("at_risk", "gone", "lost_tails", "lost_holes", "lost_whole", "oldest_lost_s", "stranded"),
        ("Stranded at", None, lambda fault: "; ".join(map(_stranded_at, fault["stranded_at"]))),
        *("duplicated", "redelivered", "reordered", "late", "throughput_back_s", "p99_back_s"),
        *("backlog_highest", "backlog_drained_s", "drain_per_s"),
    )
    return transpose(table_of("Effects of each fault", recovery["faults"], columns, "No fault had an effect."))


def _stranded_at(place: StrandedAt) -> str:
    """Return ``broker-2: 12, the oldest for 31 s``."""
    text = f"{place['broker']}: {place['messages']:,}"
    return text if place["oldest_s"] is None else f"{text}, the oldest for {seconds_text(place['oldest_s'])}"


def outage_rows(outages: pa.Table) -> tuple[OutageRow, ...]:
    """Return the outages of each fault, separately for producers and consumers, in the order of the faults."""
    outages_by_row: dict[tuple[int, str, str], list[float | None]] = {}
    for row in sorted(outages.to_pylist(), key=lambda row: (row["fault"], row["role"] == "consumer", row["user"])):
        name = f"F{row['fault']} {row['kind']} {row['target']}"
        outages_by_row.setdefault((row["fault"], name, row["role"]), []).append(outage_ms(row))
    return tuple(
        OutageRow(
            f"{name}: {ROLES[role]}",
            tuple(value for value in values if value is not None),
            sum(value is None for value in values),
            style=0 if role == "producer" else 1,
        )
        for (_, name, role), values in outages_by_row.items()
    )


def outages_table(outages: pa.Table) -> Table:
    """Return a table with a row per client and fault."""
    columns: Columns = (
        ("Fault", None, lambda row: f"F{row['fault']}"),
        ("Client", 0, "user"),
        ("Group", None, "group"),
        ("Lost (s of load)", 3, lambda row: row["lost_ns"] / NS_PER_S),
        ("Outage (ms)", 0, outage_ms),
        ("Reconnected after (ms)", 0, lambda row: _after_loss_ms(row, "connected_ns")),
        ("Ready after (ms)", 0, lambda row: _after_loss_ms(row, "ready_ns")),
        ("Attempts", 0, "attempts"),
        ("To", None, lambda row: row["to_broker"] or "never"),
        ("In flight", 0, "in_flight"),
        ("Due during the outage", 0, "due"),
    )
    rows = sorted(outages.to_pylist(), key=lambda row: (row["fault"], row["user"]))
    return table_of("Outage of each client", rows, columns, "No client was cut off.", sortable=True)


def _after_loss_ms(row: Mapping[str, Any], name: str) -> float | None:
    return None if row[name] is None else (row[name] - row["lost_ns"]) / NS_PER_MS


def survival_charts(survival: pa.Table, backdrop: Backdrop) -> tuple[Chart, ...]:
    """Return a chart of the messages at risk over time if any was lost, otherwise none."""
    if not pc.sum(survival["lost"]).as_py():
        return ()
    lines = []
    for style, (name, column) in enumerate({"survived": "survived", "lost": "lost"}.items()):
        count_by_step = summed(survival, column, backdrop)
        lines.append(Line(name, tuple(count_by_step.get(start, 0) for start in backdrop.starts), style))
    lead = (
        "Messages that had been confirmed and not received when a fault took effect, by the second of their "
        "confirmation: messages that survived, and messages that were neither received nor found."
    )
    series = TimeSeries(tuple(backdrop.starts), (Panel("", tuple(lines)),), "messages", backdrop)
    title = "Messages that survived, by time of confirmation"
    return (chart_over_time("survival", title, lead, series, "None was lost."),)


MOST_OUTAGES = 3
NOT_PLANNED = "unplanned"


def unplanned_sentences(outages: list[Unplanned]) -> str:
    """Return a sentence per outage without a fault; '' if there was none."""
    sentences = [_sentence(outage) for outage in outages[:MOST_OUTAGES]]
    further = len(outages) - len(sentences)
    return " ".join([*sentences, f"{counted(further, 'further unplanned outage')} followed."] if further else sentences)


def _sentence(outage: Unplanned) -> str:
    clients, began = counted(outage["clients"], "client"), _moment(outage["from_s"])
    until = _moment(outage["until_s"]) if outage["until_s"] is not None else ""
    if outage["what"] == "silent":
        until = until or "the end of the load"
        return f"Outside any fault, {outage['broker']} was silent from {began} to {until}, while {clients} waited."
    back = f"all were connected again at {until}" if until else "not all were connected again"
    return f"Outside any fault, {clients} lost the connection to {outage['broker']} at {began}; {back}."


def _moment(at_s: float) -> str:
    """Return ``3.2 s``, from the start of the load; a silence may have begun in the warm-up."""
    return f"{at_s:.1f} s" if round(at_s, 1) >= 0 else f"{-at_s:.1f} s before the load"


def probable_cause(run: RunInfo, summary: Summary) -> str:
    """Return a sentence about a warning from before the run if its effect shows; '' if not.

    Where messages do not get to some of the consumers, they stay on queues, these consumers receive nothing, and their
    broker is silent.
    """
    warnings = [warning for warning in run.warnings if OUT_OF_REACH in warning]
    silent = list(dict.fromkeys(outage["broker"] for outage in summary["unplanned"] if outage["what"] == "silent"))
    concerned = [broker for broker in silent if any(repr(broker) in warning for warning in warnings)]
    messages = summary["messages"]
    effects = [f"the silence of {joined(concerned)}"] if concerned else []
    effects += ["the messages left on queues"] if messages["stranded"] + messages["left_unconfirmed"] else []
    effects += ["the consumers without messages"] if summary["consumers"]["idle"] else []
    if not warnings or not effects:
        return ""
    warning = next(
        (warning for warning in warnings if any(repr(broker) in warning for broker in concerned)), warnings[0]
    )
    further = f" (and {counted(len(warnings) - 1, 'warning')} more below)" if warnings[1:] else ""
    return f"Probable cause of {joined(effects)}: {warning}{further}."


def unplanned_bands(outages: list[Unplanned]) -> tuple[FaultBand, ...]:
    return tuple(
        FaultBand(
            f"U{number}", f"{outage['what']}: {outage['broker']}", outage["from_s"], outage["until_s"], NOT_PLANNED
        )
        for number, outage in enumerate(outages, start=1)
    )


ROW, ROOM = 64, 66
LEAST_MS = 0.1
LINEAR_UP_TO = 20  # times the shortest outage
SPREAD = 0.34  # of a row's height, so that dots of equal outages are next to each other
STEPS = 7


def draw_outages(rows: tuple[OutageRow, ...]) -> Figure:
    figure = new_figure(ROOM + ROW * len(rows), WIDE)
    axes = figure.subplots()
    plain_axes(axes, "outage, ms")
    _scale(axes, rows)
    for at, row in enumerate(rows):
        _draw_row(axes, -at, row)
    axes.set_ylim(0.5 - len(rows), 0.75)
    axes.yaxis.set_major_locator(FixedLocator([]))
    axes.grid(True, axis="x", color=GRID, linewidth=0.8)
    return figure


def _scale(axes: Axes, rows: tuple[OutageRow, ...]) -> None:
    """Begin the axis at 0, to make lengths comparable.

    If the longest outage would hide the others, the axis is logarithmic.
    """
    values = [max(value, LEAST_MS) for row in rows for value in row.outages_ms] or [1.0]
    if max(values) <= LINEAR_UP_TO * min(values):
        axes.set_xlim(0, max(values) * 1.15)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
        return
    axes.set_xscale("log")
    axes.set_xlim(min(values) / 1.5, max(values) * 2)
    axes.xaxis.set_major_locator(LogLocator(base=10, subs=(1, 2, 5), numticks=9))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: significant(value, 1)))


def _draw_row(axes: Axes, y: float, row: OutageRow) -> None:
    """Draw a dot per client, and a line at the outage of the median client."""
    color, marker = look(row.style)["color"], look(row.style)["marker"]
    name = shortened(f"{row.name} ({len(row.outages_ms) + row.never:,})")
    axes.text(0.0, y + 0.42, name, transform=axes.get_yaxis_transform(), fontsize=SMALL, color=INK)
    values = sorted(max(value, LEAST_MS) for value in row.outages_ms)
    if values:
        middle = values[(len(values) - 1) // 2]
        axes.plot([middle, middle], [y - 0.3, y + 0.22], color=MUTED, linewidth=1.6)
    heights = [y - 0.04 + SPREAD * ((at * 3 % STEPS) / (STEPS - 1) - 0.5) for at in range(len(values))]
    axes.plot(values, heights, linestyle="", marker=marker, markersize=6, color=color, alpha=0.6)
    if row.never:
        text = f"{row.never:,} never ▸"
        axes.text(1.0, y - 0.1, text, transform=axes.get_yaxis_transform(), ha="right", fontsize=SMALL, color=INK)


def outage_chart(outages: pa.Table) -> Chart:
    rows = outage_rows(outages)
    lead = (
        "Each dot is a client: the time from its last success before the loss to its first success after it. A success "
        "is a confirmed send or a receipt. The line marks the median client."
    )
    draw = (lambda: draw_outages(rows)) if rows else None
    table = outages_table(outages)
    return chart("outages", "Outage of each client", lead, table, draw, "No client was cut off.")
