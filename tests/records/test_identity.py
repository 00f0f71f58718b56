"""Checks that the identity in a message body is read back correctly, and that every change of it is detected."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from records.loads.identity import (
    BEGINNING_BYTES,
    FOREIGN,
    IDENTITY_BYTES,
    MOST_DAMAGED_BYTES,
    UNREADABLE,
    BodyIdentity,
    Identity,
    first_bytes,
    read,
    shown,
    stamp,
)

UNSIGNED_32 = st.integers(0, 2**32 - 1)
identities = st.builds(
    Identity, run=UNSIGNED_32, producer=UNSIGNED_32, seq=st.integers(0, 2**64 - 1), attempt=UNSIGNED_32
)
sizes = st.integers(IDENTITY_BYTES, 3_000)

ONE = Identity(run=7, producer=1_000_002, seq=3, attempt=1)


@given(identities, sizes, st.binary(min_size=1, max_size=50))
def test_what_is_stamped_is_read_back(identity: Identity, size: int, filler: bytes) -> None:
    body = stamp(identity, size, filler)
    assert len(body) == size
    assert read(body, identity.run) == BodyIdentity("intact", identity.producer, identity.seq, identity.attempt)


@given(identities, sizes, st.data())
def test_a_flipped_bit_is_always_detected_and_says_where_it_was(
    identity: Identity, size: int, data: st.DataObject
) -> None:
    bit = data.draw(st.integers(0, size * 8 - 1))
    body = bytearray(stamp(identity, size))
    body[bit // 8] ^= 1 << bit % 8
    reading = read(bytes(body), identity.run)
    if bit // 8 < IDENTITY_BYTES:
        assert reading == UNREADABLE
    else:
        assert reading == BodyIdentity("corrupted", identity.producer, identity.seq, identity.attempt)


def test_each_of_the_bits_of_one_body_is_guarded() -> None:
    body = stamp(ONE, 64)
    for bit in range(64 * 8):
        flipped = bytearray(body)
        flipped[bit // 8] ^= 1 << bit % 8
        expected = "unreadable" if bit < IDENTITY_BYTES * 8 else "corrupted"
        assert read(bytes(flipped), ONE.run).integrity == expected, f"bit {bit}"


@given(identities, UNSIGNED_32)
def test_a_message_of_another_run_is_foreign(identity: Identity, run: int) -> None:
    expected = "intact" if run == identity.run else "foreign"
    assert read(stamp(identity, 40), run).integrity == expected


@given(identities, UNSIGNED_32, st.data())
def test_a_damaged_message_of_another_run_is_foreign(identity: Identity, run: int, data: st.DataObject) -> None:
    """Even though it begins with the same four bytes, unless the run numbers differ in two bytes or fewer."""
    assume(sum(a != b for a, b in zip(identity.run.to_bytes(4), run.to_bytes(4), strict=True)) > MOST_DAMAGED_BYTES)
    bit = data.draw(st.integers(64, IDENTITY_BYTES * 8 - 1))
    body = bytearray(stamp(identity, 40))
    body[bit // 8] ^= 1 << bit % 8
    assert read(bytes(body), run) == FOREIGN


@given(st.text(max_size=200), UNSIGNED_32)
def test_text_of_another_client_is_foreign(text: str, run: int) -> None:
    """It does not count as corrupted, as nothing in it shows that this run sent it."""
    assert read(text.encode("utf-8", "replace"), run) == FOREIGN


@given(identities, st.binary(min_size=1, max_size=200))
def test_words_for_a_foreign_message_are_printable_ascii(identity: Identity, body: bytes) -> None:
    words = shown(first_bytes(body), len(body))
    assert words.isascii()
    assert words.isprintable()
    assert len(words) < 5 * BEGINNING_BYTES
    assert f"another brokerbench run (run number {identity.run:08x})" in shown(first_bytes(stamp(identity, 64)), 64)


@given(st.binary(max_size=200), UNSIGNED_32)
def test_any_bytes_have_a_reading(body: bytes, run: int) -> None:
    assert read(body, run) in (UNREADABLE, FOREIGN)


@given(st.integers(IDENTITY_BYTES, 200), st.integers(0, 199))
def test_a_body_cut_short_is_never_intact(size: int, kept: int) -> None:
    body = stamp(ONE, size)[:kept]
    expected = "intact" if kept >= size else "corrupted" if kept >= IDENTITY_BYTES else "unreadable"
    if kept < 8 - MOST_DAMAGED_BYTES:
        expected = "foreign"  # nothing shows that this run sent it
    assert read(body, ONE.run).integrity == expected


def test_the_layout_is_the_documented_one() -> None:
    body = stamp(ONE, 33, b"x")
    assert body[:24].hex() == "6262010000000007000f4242000000010000000000000003"
    assert body[32:] == b"x"


def test_a_body_smaller_than_its_identity_is_refused() -> None:
    with pytest.raises(ValueError, match=r"body of 31 bytes: its identity alone takes 32"):
        stamp(ONE, 31)


def test_a_number_too_large_for_its_field_is_refused() -> None:
    with pytest.raises(ValueError, match=r"run=4294967296.* does not fit a message header"):
        stamp(ONE._replace(run=2**32), 32)


def test_an_empty_filler_is_refused_where_it_would_be_needed() -> None:
    with pytest.raises(ValueError, match="empty filler"):
        stamp(ONE, 33, b"")
