"""Checks that chart and table of the messages of each consumer match the result table."""

import numpy as np
import pyarrow as pa
import pytest

from records.tables.results import RESULT_TABLES
from reports.clients.consumers import ConsumerBars, bars_of_consumers, consumers_table, draw_consumers
from reports.parts.values import NamedColor


def divided_consumers(*rows: tuple[str, int, str, int]) -> pa.Table:
    """Rows of (queue, consumer, broker, messages)."""
    columns = ("destination", "subscription", "consumer", "broker", "messages")
    return pa.Table.from_pylist(
        [dict(zip(columns, (f"queue://{name}", name, *cells), strict=True)) for name, *cells in rows],
        RESULT_TABLES["consumers"],
    )


def test_the_messages_of_each_consumer_stand_by_broker_beside_an_even_split() -> None:
    brokers = (NamedColor("there", 1), NamedColor("here", 0))
    consumers = divided_consumers(
        ("q", 1, "here", 15),
        ("q", 2, "there", 8),
        ("q", 3, "there", 7),
        ("alone", 4, "here", 99),
        ("idle", 5, "here", 0),
    )
    assert bars_of_consumers(consumers, brokers) == (ConsumerBars("q", (2, 3, 1), (0, 0, 1), (8, 7, 15), 10.0),)
    rows: tuple[object, ...] = consumers_table(consumers).rows
    assert rows == (
        ("queue://alone", 4, "here", 99, 100.0, 100.0),
        ("queue://idle", 5, "here", 0, None, None),
        ("queue://q", 1, "here", 15, 50.0, pytest.approx(100 / 3)),
        ("queue://q", 2, "there", 8, pytest.approx(80 / 3), pytest.approx(100 / 3)),
        ("queue://q", 3, "there", 7, pytest.approx(70 / 3), pytest.approx(100 / 3)),
    )


def test_of_many_consumers_the_table_has_those_with_the_most_messages() -> None:
    consumers = divided_consumers(*(("q", number, "here", number) for number in range(400)))
    table = consumers_table(consumers)
    assert table.caption == "Messages of each consumer (the first 300 of 400)"
    assert [row[1] for row in table.rows] == list(range(100, 400))


def test_each_consumer_has_a_bar_in_its_brokers_color() -> None:
    """A line shows the even split."""
    brokers = (NamedColor("here", 0), NamedColor("there", 1), NamedColor("far", 2, muted=True))
    (axes,) = draw_consumers([ConsumerBars("q", (4, 2, 3), (0, 1, 2), (15, 8, 7), 10.0)], brokers).axes
    assert [float(np.asarray(patch.get_path().vertices)[:, 1].max()) for patch in axes.patches] == [15, 8, 7]
    assert len({patch.get_facecolor() for patch in axes.patches}) == 3
    assert [np.asarray(line.get_ydata()).tolist() for line in axes.lines] == [[10.0, 10.0]]
