"""Describes and draws how the messages of a subscription were divided among its consumers."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import pyarrow as pa
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator

from records.figures.clients import Consumers, Division
from reports.clients.areas import named_brokers
from reports.inputs import Results
from reports.parts.numbers import counted, joined
from reports.parts.style import INK, MUTED, SMALL, chart, legend, legend_height, look, new_figure, plain_axes, shortened
from reports.parts.values import Chart, Column, NamedColor, Table

MOST_SENTENCES, MOST_BROKERS = 2, 4
UNEVEN = 1.5
"""Consumers at several brokers share unevenly from this ratio of the busiest consumer to the mean."""
QUEUE = "queue://"


def shares_sentences(consumers: Consumers, *, also_even: bool = False) -> str:
    """Return a sentence for each of the most uneven subscriptions; '' if no subscription is shared.

    ``also_even``: include subscriptions that consumers share evenly.
    """
    divisions = [
        division
        for division in consumers["subscriptions"]
        if _is_uneven(division) or (also_even and division["messages"])
    ]
    divisions.sort(key=lambda division: -(division["max_to_mean"] or 0.0))
    return " ".join(map(_sentence, divisions[:MOST_SENTENCES]))


def _is_uneven(division: Division) -> bool:
    """Return whether consumers had unequal shares. With fewer messages than consumers, shares are not judged."""
    if division["max_to_mean"] is None or division["messages"] < division["consumers"]:
        return False
    return bool(division["idle"]) or (len(division["brokers"]) > 1 and division["max_to_mean"] >= UNEVEN)


def _sentence(division: Division) -> str:
    """Return ``Of queue://orders the consumers at a got 30 of 30 messages, those at b 0; 2 of 3 consumers …``"""
    name = subscription_name(division["destination"], division["subscription"])
    return f"Of {name} the consumers at {_by_broker(division)}; {_by_consumer(division)}."


def subscription_name(destination: str, subscription: str) -> str:
    """Return the subscription's name for a sentence; for a queue, the queue's name."""
    return destination if destination.startswith(QUEUE) else f"{destination} ({subscription})"


def _by_broker(division: Division) -> str:
    """Return the messages by broker, most first; with many brokers, only of the first and the last."""
    (busiest, most), *further = sorted(division["brokers"].items(), key=lambda share: (-share[1], share[0]))
    busiest_words = f"{busiest} got {most:,} of {division['messages']:,} messages"
    if len(further) >= MOST_BROKERS:
        busiest_words, further = f"{busiest_words}, the most of {len(division['brokers'])} brokers", further[-1:]
    further_words = [f"those at {broker} {messages:,}" for broker, messages in further]
    return f"{busiest_words}, {joined(further_words)}" if further_words else busiest_words


def _by_consumer(division: Division) -> str:
    if division["idle"]:
        return f"{division['idle']:,} of {division['consumers']:,} consumers got none"
    return f"each of {division['consumers']:,} consumers got {division['least']:,} to {division['most']:,}"


@dataclass(frozen=True)
class ConsumerBars:
    """The messages of each consumer of one subscription, by broker. ``even``: the messages of each in an even split.

    ``brokers``: the position in the picture of each consumer's broker.
    """

    subscription: str
    consumers: tuple[int, ...]
    brokers: tuple[int, ...]
    messages: tuple[int, ...]
    even: float


MOST_SUBSCRIPTIONS, MOST_ROWS = 6, 300
PERCENT = 100


def bars_of_consumers(consumers: pa.Table, brokers: Sequence[NamedColor]) -> tuple[ConsumerBars, ...]:
    """Return the busiest subscriptions with several consumers. ``brokers``: in the picture's order."""
    position = {broker.name: at for at, broker in enumerate(brokers)}
    subscriptions = [_bars(rows, position) for rows in _subscriptions(consumers) if len(rows) > 1]
    drawn = [bars for bars in subscriptions if any(bars.messages)]
    return tuple(sorted(drawn, key=lambda bars: -sum(bars.messages))[:MOST_SUBSCRIPTIONS])


def _subscriptions(consumers: pa.Table) -> list[list[dict[str, Any]]]:
    def name(row: dict[str, Any]) -> tuple[str, str]:
        return row["destination"], row["subscription"]

    return [list(rows) for _, rows in groupby(sorted(consumers.to_pylist(), key=name), name)]


def _bars(rows: list[dict[str, Any]], position: dict[str, int]) -> ConsumerBars:
    rows = sorted(rows, key=lambda row: (position.get(row["broker"], len(position)), row["consumer"]))
    return ConsumerBars(
        rows[0]["subscription"],
        tuple(row["consumer"] for row in rows),
        tuple(position.get(row["broker"], len(position)) for row in rows),
        tuple(row["messages"] for row in rows),
        sum(row["messages"] for row in rows) / len(rows),
    )


def consumers_table(consumers: pa.Table) -> Table:
    """Return a row per consumer; if there are many, only the busiest."""
    columns = (
        Column("Subscription"),
        Column("Consumer", 0),
        Column("Broker"),
        Column("Messages", 0),
        Column("Share (%)", 1),
        Column("Even share (%)", 1),
    )
    rows = [row for of_one in _subscriptions(consumers) for row in _rows(of_one)]
    excerpt = f" (the first {MOST_ROWS:,} of {len(rows):,})" if len(rows) > MOST_ROWS else ""
    shown = sorted(sorted(rows, key=lambda row: -row[3])[:MOST_ROWS], key=lambda row: row[:2])
    return Table(f"Messages of each consumer{excerpt}", columns, tuple(shown), "No consumer subscribed.")


def _rows(rows: Sequence[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """Return the rows of one subscription. Shares are left out if it received no message."""
    total = sum(row["messages"] for row in rows)
    is_queue = rows[0]["destination"].startswith(QUEUE)
    name = rows[0]["destination"] if is_queue else f"{rows[0]['destination']}: {rows[0]['subscription']}"
    even_share = PERCENT / len(rows) if total else None
    return [
        (
            name,
            row["consumer"],
            row["broker"],
            row["messages"],
            PERCENT * row["messages"] / total if total else None,
            even_share,
        )
        for row in rows
    ]


HEIGHT = 190
MOST_NAMED = 24
BAR = 0.78
OTHERS = "other brokers"
EVEN_DASH = (0, (5, 3))


def draw_consumers(subscriptions: Sequence[ConsumerBars], brokers: Sequence[NamedColor]) -> Figure:
    """Draw one set of axes per subscription."""
    handles = _handles(subscriptions, brokers)
    figure = new_figure(HEIGHT * len(subscriptions) + legend_height(handles))
    for axes, bars in zip(figure.subplots(len(subscriptions), squeeze=False)[:, 0], subscriptions, strict=True):
        _draw(axes, bars, brokers)
    legend(figure, handles)
    return figure


def _draw(axes: Axes, bars: ConsumerBars, brokers: Sequence[NamedColor]) -> None:
    title = f"{bars.subscription}: {counted(sum(bars.messages), 'message')}, {counted(len(bars.consumers), 'consumer')}"
    plain_axes(axes, shortened(title))
    at = range(len(bars.consumers))
    for broker in dict.fromkeys(bars.brokers):
        its = [(place, bars.messages[place]) for place in at if bars.brokers[place] == broker]
        axes.add_patch(PathPatch(_outlines(its), facecolor=_color(broker, brokers), linewidth=0))
    axes.axhline(bars.even, color=INK, linewidth=1.4, linestyle=EVEN_DASH)
    axes.set_xlim(-0.6, len(at) - 0.4)
    axes.set_ylim(0, max(*bars.messages, bars.even) * 1.1)
    axes.set_xlabel("consumer", fontsize=SMALL, color=MUTED)
    axes.xaxis.set_major_locator(FixedLocator(list(at) if len(at) <= MOST_NAMED else []))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: str(bars.consumers[round(value)])))
    axes.yaxis.set_major_locator(MaxNLocator(nbins=4, integer=True, min_n_ticks=2))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))


def _outlines(bars: Sequence[tuple[int, int]]) -> Path:
    """Return one path for all bars (place, height) of a color, as a report has room for few shapes."""
    corners = [
        [(at - BAR / 2, 0), (at - BAR / 2, height), (at + BAR / 2, height), (at + BAR / 2, 0)] for at, height in bars
    ]
    return Path.make_compound_path(*[Path([*outline, outline[0]], closed=True) for outline in corners])


def _handles(subscriptions: Sequence[ConsumerBars], brokers: Sequence[NamedColor]) -> list[Line2D]:
    drawn = {broker for bars in subscriptions for broker in bars.brokers}
    named = [(at, broker.name) for at, broker in enumerate(brokers) if at in drawn and not broker.muted]
    if any(broker >= len(brokers) or brokers[broker].muted for broker in drawn):
        named.append((len(brokers), OTHERS))
    colors = {name: _color(at, brokers) for at, name in named}
    squares = [
        Line2D([], [], linestyle="", marker="s", markersize=9, color=color, label=name)
        for name, color in colors.items()
    ]
    return [*squares, Line2D([], [], color=INK, linewidth=1.4, linestyle=EVEN_DASH, label="an even split")]


def _color(broker: int, brokers: Sequence[NamedColor]) -> str:
    is_muted = broker >= len(brokers) or brokers[broker].muted
    return MUTED if is_muted else str(look(brokers[broker].style)["color"])


def consumers_chart(results: Results) -> Chart:
    named, table = named_brokers(results), results.tables["consumers"]
    bars = bars_of_consumers(table, named)
    lead = (
        "Each bar is a consumer, in the color of the broker where it received most messages. Dashed: each consumer's "
        "share if all consumers of the subscription had equal shares."
    )
    draw = (lambda: draw_consumers(bars, named)) if bars else None
    missing = "No subscription with several consumers received anything."
    return chart("consumers", "Messages of each consumer", lead, consumers_table(table), draw, missing)
