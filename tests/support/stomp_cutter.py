"""Cuts a STOMP stream into its pieces, to forward them unchanged and to check the driver's reader.

It was written before the driver's `drivers.stomp.stream.FrameReader` and independently, so each can check the other.
"""

import re

END = b"\0"
_PREAMBLE_END = re.compile(rb"\r?\n\r?\n")
_CONTENT_LENGTH = re.compile(rb"^content-length:\s*([0-9]+)\s*$", re.MULTILINE)


class FrameCutter:
    """Cuts a byte stream into frames (each with its closing NUL) and line ends between them, losing no byte."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._wanted = 0  # bytes before which there is no use in looking again

    def feed(self, chunk: bytes) -> list[bytes]:
        """Every piece that is complete by now, in order."""
        self._rest += chunk
        pieces, at = [], 0
        while (end := self._end_of_piece(at)) is not None:
            pieces.append(bytes(self._rest[at:end]))
            at = end
        del self._rest[:at]
        self._wanted = max(0, self._wanted - at)
        return pieces

    def _end_of_piece(self, at: int) -> int | None:
        if at >= len(self._rest) or len(self._rest) < self._wanted:
            return None
        if self._rest[at] in b"\r\n":
            return at + 1
        preamble = _PREAMBLE_END.search(self._rest, at)
        if preamble is None:
            return None
        length = _CONTENT_LENGTH.search(self._rest, at, preamble.start() + 1)
        if length is None:
            return self._rest.find(END, preamble.end()) + 1 or None
        self._wanted = preamble.end() + int(length[1]) + 1
        return self._wanted if len(self._rest) >= self._wanted else None
