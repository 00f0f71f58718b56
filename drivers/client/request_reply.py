"""Sends requests that name a temporary queue for their replies, and sends the replies.

    requester ── request: reply-to its temporary queue, correlation id = when the request was due ──► replier
              ◄── reply: a message with a separate identity, due when its request was due ────────

So the latency of a reply is the round trip: from the time when its request was due until the reply was received. Both
times are on the same clock if all load processes run on one host.

Only the broker knows the name of a temporary queue. In the events all replies of a destination are recorded under one
name: replies to ``queue://orders`` under ``queue://orders.replies``.
"""

import contextlib
from typing import Any

from drivers.client.contract import ProducerSettings, ScheduledSend
from drivers.client.producer import ClientAccess, Producer, SendAttempt
from drivers.contract import Delivery, Destination, DriverError, MessageHeaders, Outgoing
from records.loads.destination_pattern import replies_to


def replies_of(destination: Destination) -> Destination:
    """Return the name under which the replies to a destination's requests are recorded."""
    return Destination("queue", replies_to(destination.name))


class RequestProducer(Producer):
    """Sends requests. The replies come to the temporary queue for the destination's replies on its own connection."""

    def __init__(
        self, access: ClientAccess, destination: Destination, settings: ProducerSettings, **wiring: Any
    ) -> None:
        """``wiring``: as in `Producer`."""
        super().__init__(access, destination, settings, **wiring)
        self._reply_to = replies_of(destination).name

    def _outgoing(self, attempt: SendAttempt) -> Outgoing:
        message = super()._outgoing(attempt)
        plain = message.headers
        headers = MessageHeaders(
            plain.properties, plain.time_to_live_ms, plain.priority, self._reply_to, str(attempt.due_ns)
        )
        return message._replace(headers=headers)


class ReplyProducer(Producer):
    """Sends the replies of one consumer. Created by `drivers.client.client.Client.consumer`."""

    def __init__(
        self, access: ClientAccess, destination: Destination, settings: ProducerSettings, **wiring: Any
    ) -> None:
        """``wiring``: as in `Producer`."""
        super().__init__(access, destination, settings, **wiring)
        self._answers: dict[int, tuple[Destination, str]] = {}  # destination of each reply, and its correlation id

    def reply(self, request: Delivery) -> None:
        """Answer a request with the same number of bytes. Ignores messages that request no reply, or are not ours.

        A reply that the broker rejects, or that could not be written, is recorded as failed.
        """
        if request.reply_to is None or not request.correlation_id.isdecimal():
            return
        seq = self.begun
        self.begun += 1
        self._answers[seq] = request.reply_to, request.correlation_id
        self._statistics.counted(1, 0)
        now_ns = self._access.clock()
        send = ScheduledSend(seq, int(request.correlation_id), False, now_ns, now_ns)
        with contextlib.suppress(DriverError):  # it is recorded
            self.send_batch((send,), len(request.body))

    def _outgoing(self, attempt: SendAttempt) -> Outgoing:
        to, correlation_id = self._answers[attempt.seq]
        headers = MessageHeaders(correlation_id=correlation_id)
        return super()._outgoing(attempt)._replace(destination=to, headers=headers)
