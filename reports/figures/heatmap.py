"""Draws the heatmap: one colour, its opacity by the logarithm of the count, on light and dark alike."""

from math import ceil, floor, log10

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter

from reports.figures.style import LABEL_ROOM, new_figure, plain_axes
from reports.figures.time_axis import draw_backdrop, second_ticks
from reports.numbers import significant
from reports.values import Heatmap

HEIGHT = 310
HUE = (0x2F / 255, 0x7D / 255, 0xE1 / 255)
"""Far enough from white and from near-black: a raster cannot follow the page's CSS variables."""
FAINTEST = 0.18


def draw(heatmap: Heatmap) -> Figure:
    figure = new_figure(HEIGHT)
    axes = figure.subplots()
    plain_axes(axes, "ms", LABEL_ROOM)
    axes.grid(False)
    draw_backdrop(axes, heatmap.backdrop)
    low, high = log10(heatmap.edges_ms[0]), log10(heatmap.edges_ms[-1])
    left, right = heatmap.starts[0], heatmap.starts[-1] + heatmap.backdrop.step_s
    limits = axes.get_xlim()
    axes.imshow(
        pixels(heatmap.counts), extent=(left, right, low, high), origin="lower", aspect="auto", interpolation="none"
    )
    axes.set_xlim(limits)
    axes.yaxis.set_major_locator(FixedLocator(ticks(low, high)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda at, _: significant(10**at, 1)))
    second_ticks(axes, heatmap.backdrop)
    return figure


def ticks(low: float, high: float) -> list[float]:
    """Powers of ten, as exponents; on a short axis also 2 and 5 times those."""
    digits = (1, 2, 5) if high - low < 2 else (1,)
    exponents = [decade + log10(digit) for decade in range(floor(low), ceil(high) + 1) for digit in digits]
    return [at for at in exponents if low - 1e-9 <= at <= high + 1e-9]


def pixels(counts: tuple[tuple[int, ...], ...]) -> "np.ndarray[tuple[int, ...], np.dtype[np.uint8]]":
    """RGBA, a pixel a cell; no message, no colour."""
    values = np.asarray(counts, dtype=float)
    strongest = np.log1p(max(1.0, values.max()))
    opacity = np.where(values > 0, FAINTEST + (1 - FAINTEST) * np.log1p(values) / strongest, 0)
    image = np.empty((*values.shape, 4))
    image[..., :3], image[..., 3] = HUE, opacity
    return (image * 255).round().astype(np.uint8)
