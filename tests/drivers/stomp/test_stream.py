"""Checks that a stream gives the same frames in any division, with the same headers."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stomp.utils import parse_frame

from drivers.stomp.frames import encode
from drivers.stomp.stream import BrokenStream, FrameReader, RawFrame, unescaped
from tests.support.stomp_cutter import FrameCutter

BODIES = st.binary(max_size=50) | st.sampled_from([b"", b"\0\0", b"\n\n\0", b"\n\r\n", b"MESSAGE\n\n\0"])
VALUES = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8)
HEADERS = st.dictionaries(st.sampled_from(["ack", "subscription", "x-content-length"]), VALUES, max_size=3)


def message(body: bytes, headers: dict[str, str], ends: bytes) -> bytes:
    return encode("MESSAGE", headers | {"content-length": str(len(body))}, body) + ends


ENDS = st.sampled_from([b"", b"\n", b"\r\n", b"\n\n"])
FRAMES = st.builds(message, BODIES, HEADERS, ENDS)
OTHERS = st.sampled_from(
    [
        b"\n",
        b"\n\n",
        b"\r\n",
        b"RECEIPT\nreceipt-id:1\n\n\0",
        b"RECEIPT\r\nreceipt-id:1\r\n\r\n\0\n",
        b"MESSAGE\r\ncontent-length: 3 \r\n\r\n\0\n\0\0",
        b"ERROR\n\nwhat went wrong\n\n\0",
    ]
)
STREAMS = st.lists(FRAMES | OTHERS, max_size=12)
TEARS = st.lists(st.integers(0, 800), max_size=8)


def torn(stream: bytes, tears: list[int]) -> list[bytes]:
    edges = [0, *sorted(min(tear, len(stream)) for tear in tears), len(stream)]
    return [stream[start:end] for start, end in itertools.pairwise(edges)]


def read(chunks: list[bytes]) -> list[tuple[bytes, bytes]]:
    reader = FrameReader()
    return [(frame.head, frame.body) for chunk in chunks for frame in reader.feed(chunk)]


def other_way(stream: bytes) -> list[tuple[bytes, bytes]]:
    """The frames as the test doubles' own cutter and stomp.py's own parser find them."""
    pieces = [piece for piece in FrameCutter().feed(stream) if piece.endswith(b"\0")]
    return [
        (piece[: len(piece) - len(parse_frame(piece[:-1]).body) - 1], parse_frame(piece[:-1]).body) for piece in pieces
    ]


@given(STREAMS, TEARS)
def test_frames_are_the_same_however_the_stream_is_torn(stream: list[bytes], tears: list[int]) -> None:
    whole = b"".join(stream)
    assert read(torn(whole, tears)) == read([whole]) == read([whole[at : at + 1] for at in range(len(whole))])


@given(STREAMS)
def test_frames_are_those_that_another_cutter_and_parser_find(stream: list[bytes]) -> None:
    expected = [(head.rstrip(b"\r\n"), body) for head, body in other_way(b"".join(stream))]
    assert [(head.rstrip(b"\r\n"), body) for head, body in read([b"".join(stream)])] == expected


@given(HEADERS, BODIES)
def test_a_header_is_decoded_as_it_was_meant(headers: dict[str, str], body: bytes) -> None:
    (frame,) = FrameReader().feed(message(body, headers, b""))
    assert {name: frame.header(name) for name in headers} == headers
    assert (frame.header("absent"), frame.body) == (None, body)
    assert parse_frame(frame.whole()[:-1]).headers == headers | {"content-length": str(len(body))}


def test_the_first_header_of_a_name_counts() -> None:
    assert RawFrame(b"MESSAGE\nack:1\nack:2", b"").header("ack") == "1"


def test_a_body_may_hold_nul_and_blank_lines_where_its_length_is_told() -> None:
    body = b"a\0\n\nMESSAGE\n\n\0b"
    stream = message(body, {"ack": "1"}, b"\n")
    assert [body for _, body in read([stream + stream])] == [body, body]


def test_a_large_body_comes_whole_out_of_many_reads() -> None:
    body = bytes(range(256)) * 40_960  # 10 MiB
    stream = message(body, {}, b"\n")
    assert [content for _, content in read([stream[at : at + 65_536] for at in range(0, len(stream), 65_536)])] == [
        body
    ]


def test_a_large_body_without_a_length_ends_at_its_nul() -> None:
    stream = b"MESSAGE\nack:1\n\n" + b"x" * 200_000 + b"\0\nRECEIPT\nreceipt-id:1\n\n\0"
    frames = read([stream[at : at + 65_536] for at in range(0, len(stream), 65_536)])
    assert [(head, len(body)) for head, body in frames] == [(b"MESSAGE\nack:1", 200_000), (b"RECEIPT\nreceipt-id:1", 0)]


@pytest.mark.parametrize(
    ("stream", "says"),
    [
        (b"MESSAGE\ncontent-length:2\n\nabc\0", "continues after the 2 bytes"),
        (b"MESSAGE\ncontent-length:-2\n\nabc\0", "content-length b'-2' is not a number"),
        (b"MESSAGE\ncontent-length:\n\nabc\0", "content-length b'' is not a number"),
    ],
)
def test_what_is_no_stomp_is_refused(stream: bytes, says: str) -> None:
    with pytest.raises(BrokenStream, match=says):
        FrameReader().feed(stream)


def test_an_unknown_escape_is_refused() -> None:
    with pytest.raises(BrokenStream, match="has an escape that is not in STOMP"):
        unescaped(b"a\\tb")
