"""Splits received bytes into STOMP frames: bytes in, whole frames out, each header decoded on demand.

Nearly all received frames are MESSAGE and RECEIPT, and the client needs only four headers. stomp.py decodes all
headers into a dictionary, which takes most of the time per message. stomp.py 9.0.0 also drops the frame that follows
two heart-beats in one read, and cuts that frame's body at its first NUL. So this module cuts the stream itself: by
``content-length``, or without one by the closing NUL. stomp.py gets only the few frames that open, reject or end a
connection. Source: the STOMP 1.2 specification, chapters "STOMP Frames" and "Value Encoding".
"""

import re

END = b"\0"
_LENGTH = b"\ncontent-length:"
_LINE_ENDS = b"\r\n"
_ESCAPE = re.compile(rb"\\(.)", re.DOTALL)
_MEANS = {b"\\": b"\\", b"n": b"\n", b"r": b"\r", b"c": b":"}


class BrokenStream(ValueError):
    """The received bytes are not STOMP. Nothing after them can be trusted."""


class RawFrame:
    """One frame. ``head``: command and headers as they came, without the blank line; ``body``: any bytes."""

    __slots__ = ("body", "head")

    def __init__(self, head: bytes, body: bytes) -> None:
        self.head, self.body = head, body

    def __repr__(self) -> str:
        return f"RawFrame({self.command.decode(errors='replace')}, body of {len(self.body)} bytes)"

    @property
    def command(self) -> bytes:
        return self.head.partition(b"\n")[0].rstrip(b"\r")

    def raw(self, key: bytes) -> bytes | None:
        """Return a header's value as it came, with its escapes; ``key`` is ``\\nNAME:``. The first of a name counts."""
        head = self.head
        at = head.find(key)
        if at < 0:
            return None
        end = head.find(b"\n", at + 1)
        return head[at + len(key) : len(head) if end < 0 else end].rstrip(b"\r")

    def header(self, name: str) -> str | None:
        """Return a header's value without escapes."""
        value = self.raw(f"\n{name}:".encode())
        return None if value is None else unescaped(value).decode()

    def whole(self) -> bytes:
        """Return the frame as one piece."""
        return b"".join((self.head, b"\n\n", self.body, END))


def unescaped(value: bytes) -> bytes:
    """Remove the escapes from a value. Raises BrokenStream for an escape that STOMP 1.2 does not have."""
    if b"\\" not in value:
        return value
    try:
        return _ESCAPE.sub(lambda match: _MEANS[match[1]], value)
    except KeyError as error:
        raise BrokenStream(f"header value {value!r} has an escape that is not in STOMP 1.2") from error


class FrameReader:
    """Cuts one connection's stream into frames. It loses no byte, wherever a read ends. Line ends between frames are
    dropped.

    The pieces of an incomplete frame are kept, and joined once: a body of 10 MiB is not copied with
    every read.
    """

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._held = 0  # bytes in the pieces
        self._wanted = 0  # bytes needed before another try makes sense
        self._wants_nul = False  # everything but the body is there, and only a NUL can end it

    def feed(self, chunk: bytes) -> list[RawFrame]:
        """Return every frame that is complete by now, in order. Raises BrokenStream."""
        if self._pieces:
            self._keep(chunk)
            if self._held < self._wanted or (self._wants_nul and END not in chunk):
                return []
            chunk = b"".join(self._pieces)
        self._wanted, self._wants_nul = 0, False
        frames, at = self._cut(chunk)
        self._pieces, self._held = [], 0
        if at < len(chunk):
            self._keep(chunk[at:])
        return frames

    def _keep(self, chunk: bytes) -> None:
        self._pieces.append(chunk)
        self._held += len(chunk)

    def _cut(self, data: bytes) -> tuple[list[RawFrame], int]:
        """Return the whole frames, and the begin of the first incomplete one."""
        frames: list[RawFrame] = []
        at, size = 0, len(data)
        while True:
            while at < size and data[at] in _LINE_ENDS:
                at += 1
            end, body = _blank_line(data, at)
            if end < 0:
                return frames, at
            length = data.find(_LENGTH, at, end)
            if length < 0:
                stop = data.find(END, body)
                self._wants_nul = stop < 0
            else:
                stop = body + _number(data, length + len(_LENGTH), end)
            if stop < 0 or stop >= size:
                self._wanted = stop + 1 - at
                return frames, at
            if data[stop]:
                raise BrokenStream(f"a frame continues after the {stop - body} bytes of its content-length")
            frames.append(RawFrame(data[at:end], data[body:stop]))
            at = stop + 1


def _blank_line(data: bytes, at: int) -> tuple[int, int]:
    """Return where the head ends and where the body begins; (-1, -1) if that has not come. Lines may end in CR LF."""
    end = data.find(b"\n\n", at)
    with_cr = data.find(b"\n\r\n", at, len(data) if end < 0 else end + 1)
    if with_cr >= 0:
        return with_cr, with_cr + 3
    return (end, end + 2) if end >= 0 else (-1, -1)


def _number(data: bytes, at: int, end: int) -> int:
    line_end = data.find(b"\n", at, end)
    digits = data[at : end if line_end < 0 else line_end].strip()
    if not digits.isdigit():
        raise BrokenStream(f"content-length {digits!r} is not a number")
    return int(digits)
