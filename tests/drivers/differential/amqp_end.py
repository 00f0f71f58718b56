"""Answers an AMQP client as a broker would: it accepts the connection, and answers its closing."""

from proton import Collector, Connection, Event, Transport

GREETING = b"AMQP"
_OPENS = (Event.CONNECTION_REMOTE_OPEN, Event.SESSION_REMOTE_OPEN, Event.LINK_REMOTE_OPEN)
_CLOSES = (Event.CONNECTION_REMOTE_CLOSE, Event.SESSION_REMOTE_CLOSE, Event.LINK_REMOTE_CLOSE)


class AmqpEnd:
    """The broker's end of one conversation, without the socket."""

    def __init__(self) -> None:
        self._transport, self._connection, self._collector = Transport(Transport.SERVER), Connection(), Collector()
        self._transport.sasl().allowed_mechs("ANONYMOUS")
        self._connection.collect(self._collector)
        self._transport.bind(self._connection)

    def answer(self, heard: bytes) -> bytes:
        """Return the bytes to write after these were read."""
        while heard and (room := self._transport.capacity()) > 0:
            self._transport.push(heard[:room])
            heard = heard[room:]
            self._take_events()
        return self._said()

    def _take_events(self) -> None:
        while (event := self._collector.peek()) is not None:
            if event.type in _OPENS:
                event.context.open()
            elif event.type in _CLOSES:
                event.context.close()
            self._collector.pop()

    def _said(self) -> bytes:
        said = b""
        while (pending := self._transport.pending()) > 0:
            piece = self._transport.peek(pending)
            self._transport.pop(len(piece))
            said += piece
        return said
