"""Puts a TCP proxy between STOMP clients and brokers that applies known faults to chosen messages.

    client ──► listener(broker a) ──► broker a          faults: plain values, see `stomp_faults`
    client ──► listener(broker b) ──► broker b          done:   the applied faults and their messages

Faults, their counts and their records belong to the whole proxy; `blackhole`, `resume` and `cut` affect one broker.

    with StompProxy({"a": ("127.0.0.1", 61613)}, [Fault("drop", TO_BROKER, seqs={7})]) as proxy:
        ... connect to proxy.endpoint("a") ...
        assert proxy.applied("drop") == 1
"""

import contextlib
import socket
import threading
import time
from collections.abc import Mapping, Sequence
from types import TracebackType

from tests.support.stomp_cutter import END, FrameCutter
from tests.support.stomp_faults import (
    IDENTITY,
    PRODUCER_AT,
    TO_BROKER,
    TO_CLIENT,
    Done,
    Ledger,
    Passing,
    StompFault,
    StompFrame,
)
from topologies.model.endpoints import Endpoint

CONNECT_TIMEOUT_S = 5.0


class StompProxy:
    """A proxy with one listener per broker. ``upstreams``: broker name -> (host, port)."""

    def __init__(self, upstreams: Mapping[str, tuple[str, int]], faults: Sequence[StompFault] = ()):
        self._upstreams = dict(upstreams)
        self._ledger, self._lock = Ledger(tuple(faults)), threading.Lock()
        self._gates = {broker: threading.Event() for broker in upstreams}
        self._listeners = {broker: socket.create_server(("127.0.0.1", 0)) for broker in upstreams}
        self._links: list[_Link] = []
        self._threads = [threading.Thread(target=self._accept, args=(broker,), daemon=True) for broker in upstreams]
        for gate in self._gates.values():
            gate.set()
        for thread in self._threads:
            thread.start()

    def __enter__(self) -> "StompProxy":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def port(self, broker: str) -> int:
        return int(self._listeners[broker].getsockname()[1])

    def endpoint(self, broker: str, query: str = "") -> Endpoint:
        return Endpoint(broker, "stomp", f"stomp://127.0.0.1:{self.port(broker)}{query}")

    @property
    def done(self) -> list[Done]:
        with self._lock:
            return list(self._ledger.rows)

    def applied(self, kind: str) -> int:
        return sum(fault.kind == kind for fault in self.done)

    def seen(self, towards: str) -> int:
        """Return the number of SENDs (TO_BROKER) or MESSAGEs (TO_CLIENT) that passed, including dropped ones."""
        with self._lock:
            return self._ledger.counts[towards]

    def blackhole(self, broker: str) -> None:
        """Forward nothing in either direction and close nothing. Data is kept for `resume`."""
        self._gates[broker].clear()

    def resume(self, broker: str) -> None:
        self._gates[broker].set()

    def cut(self, broker: str) -> None:
        """Cut every connection to one broker. New connections are accepted."""
        for link in self._links_of(broker):
            link.cut()

    def close(self) -> None:
        for broker, listener in self._listeners.items():
            self.resume(broker)
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()
        for thread in self._threads:
            thread.join(CONNECT_TIMEOUT_S)
        for link in self._links:
            link.cut()
            link.join()

    def _links_of(self, broker: str) -> list["_Link"]:
        with self._lock:
            return [link for link in self._links if link.broker == broker]

    def _accept(self, broker: str) -> None:
        while True:
            try:
                client, _ = self._listeners[broker].accept()
            except OSError:
                return
            try:
                upstream = socket.create_connection(self._upstreams[broker], CONNECT_TIMEOUT_S)
            except OSError:
                client.close()
                continue
            upstream.settimeout(None)
            link = _Link(self, broker, client, upstream)
            with self._lock:
                self._links.append(link)
            link.start()

    def choose(self, broker: str, towards: str, frame: StompFrame) -> tuple[Passing, StompFault | None]:
        with self._lock:
            return self._ledger.choose(broker, towards, frame)

    def note(self, kind: str, passing: Passing) -> None:
        with self._lock:
            self._ledger.note(kind, passing)

    def wait_until_open(self, broker: str) -> None:
        self._gates[broker].wait()


class _Side:
    """One socket of a link, with a lock, as both pumps write to it; and the data that is held back for it."""

    def __init__(self, sock: socket.socket):
        self.sock = sock
        self._writing = threading.Lock()
        self.held: tuple[Passing, bytes] | None = None
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def write(self, data: bytes) -> None:
        with self._writing, contextlib.suppress(OSError):
            self.sock.sendall(data)

    def shut(self) -> None:
        with contextlib.suppress(OSError):
            self.sock.shutdown(socket.SHUT_RDWR)


class _Link:
    """One client connection and its connection to the broker: two pumps, and the faults of the messages in them."""

    def __init__(self, proxy: StompProxy, broker: str, client: socket.socket, upstream: socket.socket):
        self.broker = broker
        self._proxy = proxy
        self._sides = {TO_CLIENT: _Side(client), TO_BROKER: _Side(upstream)}
        self._holding = threading.Lock()
        self._deaf = False  # the client's data is ignored
        self._swallow: set[str] = set()  # receipt ids that must not reach the client
        self._cut_at: set[str] = set()  # receipt ids at which to cut
        self._copies: set[str] = set()  # ack ids of copies that are unknown to the broker
        self._faults = {
            "drop": self._drop,
            "duplicate": self._duplicate,
            "reorder": self._reorder,
            "corrupt_body": self._corrupt_body,
            "corrupt_header": self._corrupt_header,
            "delay": self._delay,
            "cut_before": self._cut_before,
            "cut_after": self._cut_after,
            "swallow_receipt": self._swallow_receipt,
        }
        self._pumps = [threading.Thread(target=self._pump, args=(towards,), daemon=True) for towards in self._sides]

    def start(self) -> None:
        for pump in self._pumps:
            pump.start()

    def cut(self) -> None:
        for side in self._sides.values():
            side.shut()

    def join(self) -> None:
        for pump in self._pumps:
            pump.join(CONNECT_TIMEOUT_S)
        for side in self._sides.values():
            side.sock.close()

    def _pump(self, towards: str) -> None:
        source = self._sides[TO_CLIENT if towards == TO_BROKER else TO_BROKER].sock
        cutter = FrameCutter()
        try:
            while chunk := _read(source):
                self._proxy.wait_until_open(self.broker)
                for piece in cutter.feed(chunk):
                    self._carry(towards, piece)
        finally:
            self.cut()

    def _carry(self, towards: str, piece: bytes) -> None:
        """Forward a piece, unless it has a fault."""
        if towards == TO_BROKER and self._deaf:
            return
        if not piece.endswith(END):
            self._sides[towards].write(piece)
            return
        frame = StompFrame.parse(piece)
        if frame.command in ("SEND", "MESSAGE"):
            self._carry_message(towards, piece, frame)
        elif frame.command == "RECEIPT":
            self._carry_receipt(frame.headers["receipt-id"], piece)
        elif not (frame.command == "ACK" and frame.headers["id"] in self._copies):
            self._sides[towards].write(piece)

    def _carry_receipt(self, receipt: str, piece: bytes) -> None:
        if receipt in self._cut_at:
            self.cut()
        elif receipt not in self._swallow:
            self._sides[TO_CLIENT].write(piece)

    def _carry_message(self, towards: str, piece: bytes, frame: StompFrame) -> None:
        passing, fault = self._proxy.choose(self.broker, towards, frame)
        if fault is None:
            self._sides[towards].write(piece)
        else:
            if fault.kind != "reorder":  # recorded when the next one has overtaken it
                self._proxy.note(fault.kind, passing)
            self._faults[fault.kind](passing, fault)
        self._release_behind(passing)

    def _release_behind(self, passing: Passing) -> None:
        side = self._sides[passing.towards]
        with self._holding:
            if side.held is None or side.held[0] is passing or side.held[0].producer != passing.producer:
                return
            held, side.held = side.held, None
        side.write(held[1])
        self._proxy.note("reorder", held[0])

    # -- the faults, each by its kind

    def _drop(self, passing: Passing, _fault: StompFault) -> None:
        headers = passing.frame.headers
        if passing.towards == TO_BROKER and "receipt" in headers:
            self._sides[TO_CLIENT].write(StompFrame("RECEIPT", {"receipt-id": headers["receipt"]}, b"").encoded())
        if passing.towards == TO_CLIENT and "ack" in headers:
            self._sides[TO_BROKER].write(StompFrame("ACK", {"id": headers["ack"]}, b"").encoded())

    def _duplicate(self, passing: Passing, _fault: StompFault) -> None:
        frame = passing.frame
        if passing.towards == TO_BROKER:
            copy = frame.without_header("receipt")
        else:
            copy = frame.with_header("ack", f"copy-{passing.count}")
            self._copies.add(f"copy-{passing.count}")
        self._sides[passing.towards].write(frame.encoded() + copy.encoded())

    def _reorder(self, passing: Passing, fault: StompFault) -> None:
        side = self._sides[passing.towards]
        with self._holding:
            if side.held is not None:  # one at a time: this one goes first, and is not counted
                side.write(passing.frame.encoded())
                return
            side.held = (passing, passing.frame.encoded())
        timer = threading.Timer(fault.delay_s, self._give_up_holding, args=(passing,))
        timer.daemon = True
        timer.start()

    def _give_up_holding(self, passing: Passing) -> None:
        """Forward a held message in order, as no other followed it."""
        side = self._sides[passing.towards]
        with self._holding:
            if side.held is None or side.held[0] is not passing:
                return
            held, side.held = side.held, None
        side.write(held[1])

    def _corrupt_body(self, passing: Passing, _fault: StompFault) -> None:
        middle = (IDENTITY.size + len(passing.frame.body)) // 2
        self._sides[passing.towards].write(passing.frame.flipped(middle).encoded())

    def _corrupt_header(self, passing: Passing, _fault: StompFault) -> None:
        self._sides[passing.towards].write(passing.frame.flipped(PRODUCER_AT).encoded())

    def _delay(self, passing: Passing, fault: StompFault) -> None:
        time.sleep(fault.delay_s)
        self._sides[passing.towards].write(passing.frame.encoded())

    def _cut_before(self, _passing: Passing, _fault: StompFault) -> None:
        self._deaf = True
        self.cut()

    def _cut_after(self, passing: Passing, _fault: StompFault) -> None:
        receipt = passing.frame.headers.get("receipt")
        self._deaf = True  # no later send, and no acknowledgement of this one, gets through
        if receipt is not None:
            self._cut_at.add(receipt)  # the broker has it once it says so
        self._sides[passing.towards].write(passing.frame.encoded())
        if receipt is None:
            self.cut()

    def _swallow_receipt(self, passing: Passing, _fault: StompFault) -> None:
        self._swallow.add(passing.frame.headers.get("receipt", ""))
        self._sides[passing.towards].write(passing.frame.encoded())


def _read(source: socket.socket) -> bytes:
    try:
        return source.recv(65_536)
    except OSError:
        return b""
