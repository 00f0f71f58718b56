"""Checks which of the engine's events reach the connection, with both ends of a conversation in memory."""

import pytest
from proton import Collector, Connection, Event, Transport

from drivers.amqp.engine import take_events

Pair = tuple[Transport, Transport]


def passed_on(source: Transport, to: Transport) -> None:
    while (pending := source.pending()) > 0:
        piece = source.peek(pending)
        source.pop(len(piece))
        to.push(piece)


@pytest.fixture
def ends() -> tuple[Pair, Collector, Connection, Connection]:
    """The transports of both ends, the client's event collector, and both connections: open, each with a session."""
    transports = (Transport(Transport.CLIENT), Transport(Transport.SERVER))
    ours, theirs, collector = Connection(), Connection(), Collector()
    ours.collect(collector)
    for transport, connection in zip(transports, (ours, theirs), strict=True):
        transport.bind(connection)
        connection.open()
    return transports, collector, ours, theirs


def test_of_many_flows_at_once_each_link_has_one_and_its_whole_credit(
    ends: tuple[Pair, Collector, Connection, Connection],
) -> None:
    (client, broker), collector, ours, theirs = ends
    session = ours.session()
    session.open()
    senders = [session.sender(name) for name in ("first", "second")]
    for sender in senders:
        sender.open()
    passed_on(client, broker)
    theirs_links = []
    link = theirs.link_head(0)
    while link is not None:
        link.session.open()
        link.open()
        theirs_links.append(link)
        link = link.next(0)
    passed_on(broker, client)
    list(take_events(collector))
    for _ in range(300):
        for link in theirs_links:
            link.flow(1)
            passed_on(broker, client)  # each in a frame of its own, as Classic renews credit

    events = list(take_events(collector))

    assert [(event.type, event.link.name) for event in events if isinstance(event, Event)] == [
        (Event.LINK_FLOW, "first"),
        (Event.LINK_FLOW, "second"),
    ]
    assert [sender.credit for sender in senders] == [300, 300]


def test_a_flow_that_comes_later_is_told_again(ends: tuple[Pair, Collector, Connection, Connection]) -> None:
    (client, broker), collector, ours, theirs = ends
    session = ours.session()
    session.open()
    session.sender("only").open()
    passed_on(client, broker)
    link = theirs.link_head(0)
    link.session.open()
    link.open()
    for _ in range(3):
        link.flow(1)
        passed_on(broker, client)
        flows = [
            event for event in take_events(collector) if isinstance(event, Event) and event.type == Event.LINK_FLOW
        ]
        assert len(flows) == 1
