"""Runs a scripted AMQP broker on proton's event loop, for replies that real brokers do not give on request.

class Rejecting(Script):
    def on_message(self, event):
        self.reject(event.delivery)

with FakeBroker(Rejecting()) as broker:
    ... connect to broker.endpoint(), as NOBODY ...
"""

import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any

from proton import Condition
from proton.handlers import MessagingHandler
from proton.reactor import Container

from tests.support.locust_run import free_port
from topologies.model.endpoints import Credentials, Endpoint
from topologies.model.launch import LOOPBACK

NOBODY = Credentials("", "")  # proton accepts this user without a password
LOOK_EVERY_S = 0.01


class Script(MessagingHandler):  # type: ignore[misc]  # proton is optional, and its types are not looked at
    """Opens requested links and connections, gives ``credit`` to senders and does not answer."""

    def __init__(self, credit: int = 100) -> None:
        super().__init__(prefetch=0, auto_accept=False, auto_settle=False, peer_close_is_error=False)
        self.credit = credit
        self.listening = threading.Event()
        self.ending = False
        self.later: list[Callable[[], None]] = []  # to be done later: proton would merge it with the current events
        self.port = free_port()

    def on_start(self, event: Any) -> None:
        self._acceptor = event.container.listen(f"{LOOPBACK}:{self.port}")
        event.container.schedule(LOOK_EVERY_S, self)
        self.listening.set()

    def on_timer_task(self, event: Any) -> None:
        while self.later:
            self.later.pop(0)()
        if self.ending:
            event.container.stop()
        else:
            event.container.schedule(LOOK_EVERY_S, self)

    def on_link_opening(self, event: Any) -> None:
        link = event.link
        link.source.copy(link.remote_source)
        link.target.copy(link.remote_target)
        if link.is_receiver:
            link.flow(self.credit)

    def end(self, endpoint: Any, name: str, description: str) -> None:
        """Close a link or a connection with a reason, as brokers reject it: after opening it, if it is not open."""
        endpoint.open()

        def close() -> None:
            endpoint.condition = Condition(name, description)
            endpoint.close()

        self.later.append(close)


class FakeAmqpBroker:
    """Listens while it is entered."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self._running = threading.Thread(target=Container(script).run, daemon=True)

    def __enter__(self) -> "FakeAmqpBroker":
        self._running.start()
        assert self.script.listening.wait(60)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.script.ending = True
        self._running.join(60)

    def endpoint(self, query: str = "") -> Endpoint:
        return Endpoint("b", "amqp", f"amqp://{LOOPBACK}:{self.script.port}{query}")
