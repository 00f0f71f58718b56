"""Writes a message's identity into its body; reads it back and checks that the body is as sent.

Run, producer, sequence number and attempt are in the first 32 bytes of every measured body, because no header survives
every conversion between protocols. There are two checksums, one for the header with the identity, and one for the rest
of the body. CRC-32 finds any single flipped bit and any burst up to 32 bits:

    byte   0       2        3      4    8         12       16   24        28          32
           magic   version  spare  run  producer  attempt  seq  body CRC  header CRC  filler …

The body CRC covers everything after the header, the header CRC the 28 bytes before it. All integers are big endian.

The first eight bytes identify this software and the run. A damaged message of this run still has nearly all of them. A
message from another client or another run does not: it is foreign, not corrupted.
"""

import struct
from functools import lru_cache
from random import Random
from struct import Struct
from typing import Literal, NamedTuple
from zlib import crc32

from records.tables.schemas import UNKNOWN

Integrity = Literal["intact", "corrupted", "unreadable", "foreign"]

IDENTITY_BYTES = 32
MAGIC, VERSION = b"bb", 1

_CHECKED_BYTES = IDENTITY_BYTES - 4
_RUN = Struct(">2sBBI")
MOST_DAMAGED_BYTES = 2
"""If more of the bytes that name the run differ, the message is foreign. Messages of another run share four of them."""
_HEAD = Struct(">2sBBIIIQI")
_HEADER = Struct(">2sBBIIIQII")

# Random, so that a broker or link that compresses does not shrink large bodies; seeded, so that all runs use the same
# bytes.
FILLER = Random(0).randbytes(65_536)


class Identity(NamedTuple):
    """One attempt to send one message. ``run`` is the run's random unsigned 32-bit number.

    A named tuple, not a frozen dataclass: every send creates one, and a named tuple is three times faster to create.
    """

    run: int
    producer: int
    seq: int
    attempt: int


class BodyIdentity(NamedTuple):
    """The identity read from a body; the numbers are UNKNOWN if it is unreadable or foreign.

    ``corrupted``: a message of this run whose body was changed. ``unreadable``: a message of this run whose identity
    was damaged. ``foreign``: a message of another client or run.
    """

    integrity: Integrity
    producer: int
    seq: int
    attempt: int


UNREADABLE = BodyIdentity("unreadable", UNKNOWN, UNKNOWN, UNKNOWN)
FOREIGN = BodyIdentity("foreign", UNKNOWN, UNKNOWN, UNKNOWN)


def stamp(identity: Identity, body_bytes: int, filler: bytes = FILLER) -> bytes:
    """Return a body of exactly ``body_bytes`` with ``identity``; ``filler`` is repeated as often as needed.

    ValueError if the body is too small for an identity, or a number does not fit its field.
    """
    tail, tail_crc = _tail(body_bytes, filler)
    run, producer, seq, attempt = identity
    try:
        head = _HEAD.pack(MAGIC, VERSION, 0, run, producer, attempt, seq, tail_crc)
    except struct.error as error:
        problem = f"{identity} does not fit a message header ({error}): numbers are unsigned 32-bit, seq is "
        "unsigned 64-bit"
        raise ValueError(problem) from None
    return b"".join((head, crc32(head).to_bytes(4, "big"), tail))


def read(body: bytes, run: int) -> BodyIdentity:
    """Read the identity in ``body`` for a consumer of ``run``. Accepts any bytes and never raises."""
    if len(body) < IDENTITY_BYTES:
        return _damaged(body, run)
    magic, version, _, of_run, producer, attempt, seq, body_crc, header_crc = _HEADER.unpack_from(body)
    if crc32(body[:_CHECKED_BYTES]) != header_crc:
        return _damaged(body, run)
    if magic != MAGIC or version != VERSION or of_run != run:
        return FOREIGN
    whole = crc32(memoryview(body)[IDENTITY_BYTES:]) == body_crc
    return BodyIdentity("intact" if whole else "corrupted", producer, seq, attempt)


def _damaged(body: bytes, run: int) -> BodyIdentity:
    """Classify a body without a valid identity: damaged if its beginning still names this run, otherwise foreign."""
    names_run = _RUN.pack(MAGIC, VERSION, 0, run)
    same = sum(found == named for found, named in zip(body, names_run, strict=False))
    return UNREADABLE if same >= len(names_run) - MOST_DAMAGED_BYTES else FOREIGN


BEGINNING_BYTES = 40
"""Number of bytes that are kept of a foreign message: a whole identity, or a few words."""


def first_bytes(body: bytes) -> bytes:
    """Return the bytes of a foreign message that are kept for display."""
    return bytes(body[:BEGINNING_BYTES])


def shown(beginning: bytes, body_bytes: int) -> str:
    """Describe a foreign message: the run that sent it if that was a brokerbench run, otherwise its first bytes.

    Printable ASCII only: everything else is escaped as in a Python bytes literal.
    """
    if len(beginning) >= IDENTITY_BYTES and crc32(beginning[:_CHECKED_BYTES]) == _HEADER.unpack_from(beginning)[-1]:
        magic, version, _, run, producer, _attempt, seq, *_ = _HEADER.unpack_from(beginning)
        if (magic, version) == (MAGIC, VERSION):
            return f"message {seq} of producer {producer} of another brokerbench run (run number {run:08x})"
    more = "..." if body_bytes > len(beginning) else ""
    return f"{beginning!r}{more} ({body_bytes:,} bytes)" if body_bytes else "an empty body, or a body that is not bytes"


@lru_cache(maxsize=256)
def _tail(body_bytes: int, filler: bytes) -> tuple[bytes, int]:
    """Return the bytes after the header, and their CRC. They are the same for all messages of one size, so they are
    cached."""
    tail_bytes = body_bytes - IDENTITY_BYTES
    if tail_bytes < 0:
        raise ValueError(
            f"body of {body_bytes} bytes: its identity alone takes {IDENTITY_BYTES}, so set at least {IDENTITY_BYTES}"
        )
    if tail_bytes and not filler:
        raise ValueError(f"body of {body_bytes} bytes with an empty filler: give at least one byte to repeat")
    tail = (filler * (tail_bytes // len(filler) + 1))[:tail_bytes] if tail_bytes else b""
    return tail, crc32(tail)
