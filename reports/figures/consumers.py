"""Draws the messages of each consumer as bars in the colour of its broker, beside a line for an even split."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator

from reports.figures.style import INK, MUTED, SMALL, legend, legend_height, look, new_figure, plain_axes, shortened
from reports.numbers import counted
from reports.values import ConsumerBars, NamedColour

HEIGHT = 190
MOST_NAMED = 24
BAR = 0.78
OTHERS = "other brokers"
EVEN_DASH = (0, (5, 3))


def draw(subscriptions: Sequence[ConsumerBars], brokers: Sequence[NamedColour]) -> Figure:
    """A set of axes for each subscription."""
    handles = _handles(subscriptions, brokers)
    figure = new_figure(HEIGHT * len(subscriptions) + legend_height(handles))
    for axes, bars in zip(figure.subplots(len(subscriptions), squeeze=False)[:, 0], subscriptions, strict=True):
        _draw(axes, bars, brokers)
    legend(figure, handles)
    return figure


def _draw(axes: Axes, bars: ConsumerBars, brokers: Sequence[NamedColour]) -> None:
    of = f"{bars.subscription}: {counted(sum(bars.messages), 'message')}, {counted(len(bars.consumers), 'consumer')}"
    plain_axes(axes, shortened(of))
    at = range(len(bars.consumers))
    for broker in dict.fromkeys(bars.brokers):
        its = [(place, bars.messages[place]) for place in at if bars.brokers[place] == broker]
        axes.add_patch(PathPatch(_outlines(its), facecolor=_colour(broker, brokers), linewidth=0))
    axes.axhline(bars.even, color=INK, linewidth=1.4, linestyle=EVEN_DASH)
    axes.set_xlim(-0.6, len(at) - 0.4)
    axes.set_ylim(0, max(*bars.messages, bars.even) * 1.1)
    axes.set_xlabel("consumer", fontsize=SMALL, color=MUTED)
    axes.xaxis.set_major_locator(FixedLocator(list(at) if len(at) <= MOST_NAMED else []))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: str(bars.consumers[round(value)])))
    axes.yaxis.set_major_locator(MaxNLocator(nbins=4, integer=True, min_n_ticks=2))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))


def _outlines(bars: Sequence[tuple[int, int]]) -> Path:
    """One path for all bars (place, height) of a colour: a report has room for few shapes."""
    corners = [
        [(at - BAR / 2, 0), (at - BAR / 2, height), (at + BAR / 2, height), (at + BAR / 2, 0)] for at, height in bars
    ]
    return Path.make_compound_path(*[Path([*each, each[0]], closed=True) for each in corners])


def _handles(subscriptions: Sequence[ConsumerBars], brokers: Sequence[NamedColour]) -> list[Line2D]:
    drawn = {broker for bars in subscriptions for broker in bars.brokers}
    named = [(at, broker.name) for at, broker in enumerate(brokers) if at in drawn and not broker.muted]
    if any(broker >= len(brokers) or brokers[broker].muted for broker in drawn):
        named.append((len(brokers), OTHERS))
    colours = {name: _colour(at, brokers) for at, name in named}
    squares = [
        Line2D([], [], linestyle="", marker="s", markersize=9, color=colour, label=name)
        for name, colour in colours.items()
    ]
    return [*squares, Line2D([], [], color=INK, linewidth=1.4, linestyle=EVEN_DASH, label="an even split")]


def _colour(broker: int, brokers: Sequence[NamedColour]) -> str:
    is_muted = broker >= len(brokers) or brokers[broker].muted
    return MUTED if is_muted else str(look(brokers[broker].style)["color"])
