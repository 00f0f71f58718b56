"""Checks that users of one AMQP link share its credit, in any order of sends."""

import itertools
import threading
from collections import deque
from collections.abc import Callable
from typing import Any, cast

import pytest

from drivers.amqp import sending as amqp_sending
from drivers.amqp.links import PeerReply
from drivers.amqp.sending import Sending, _Outlet


class SenderLink:
    """A sender link as far as its credit goes."""

    def __init__(self) -> None:
        self.credit = 0


class Wire:
    """A socket that is full once: a sender that waits for it finds a changed state afterwards."""

    reason = ""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self._full = True
        self.meanwhile: Callable[[], None] = lambda: None

    def flush(self) -> bool:
        full, self._full = self._full, False
        return not full

    def write_out(self) -> None:
        self.meanwhile()


class Open:
    """A session with room, and a connection that is open."""

    outgoing_bytes = 0

    def require_open(self) -> None: ...


def put(link: Any) -> None:
    link.credit -= 1


def test_what_credit_one_user_leaves_another_one_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(amqp_sending, "LOOK_FOR_CREDIT_S", 60.0)
    wire, link = Wire(), SenderLink()
    sending = Sending("b", cast(Any, wire), cast(Any, Open()), cast(Any, Open()), itertools.count(1), print)
    outlet, credit_ns, sent_ns = _Outlet(cast(Any, link), PeerReply()), list[int](), list[int]()

    def credit_comes_and_another_sends() -> None:
        link.credit = 2
        outlet.room.set()
        sending._pass(outlet, deque([put]))
        credit_ns.append(sending.credit_ns)

    wire.meanwhile = credit_comes_and_another_sends
    waiting = threading.Thread(target=lambda: sent_ns.append(sending._pass(outlet, deque([put]))), daemon=True)
    waiting.start()
    waiting.join(60)
    assert not waiting.is_alive(), "it waits though there is credit"
    assert link.credit == 0
    assert [*credit_ns, sending.credit_ns] == [0, *sent_ns], "only one of them waited for its credit"
