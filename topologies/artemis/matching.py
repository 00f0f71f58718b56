"""Matches addresses like Artemis links do: patterns of senders and receivers, and mirrors' filters.

A pattern has words joined by dots. ``*`` matches one word, ``#`` any number. A mirror's filter, such as
``eu,us,!eu.uk``, lists address prefixes; ``!`` excludes addresses with a prefix. This follows 2.44.0 (AddressImpl,
MirrorAddressFilter) except for a ``#`` that is not the last word. There 2.44.0 matches as few words as possible and
does not try more, so ``#.eu`` does not match ``eu.eu``. Here it matches, as in the manual.
"""

from collections.abc import Sequence

Words = tuple[str, ...]


def overlap(pattern: str, other_pattern: str) -> bool:
    """Return whether some address matches both patterns. Either may be an address without wildcards."""
    return _overlap(tuple(pattern.split(".")), tuple(other_pattern.split(".")))


def filter_passes(address_filter: str, address: str) -> bool:
    """Return whether a mirror with this filter repeats messages to ``address``."""
    taken, left_out = _beginnings(address_filter)
    return address.startswith(tuple(taken)) and not address.startswith(tuple(left_out))


def filter_overlaps(address_filter: str, pattern: str) -> bool:
    """Return whether a mirror with this filter repeats messages to some address that ``pattern`` matches.

    In rare cases the result is True without any such address, e.g. ``a.b.,!a.b.c`` for ``a.*.c``.
    """
    words = tuple(pattern.split("."))
    taken, left_out = _beginnings(address_filter)
    begun = (
        max(beginning, _literal_beginning(words), key=len)
        for beginning in taken
        if _begins(words, tuple(beginning.split(".")))
    )
    return any(not beginning.startswith(tuple(left_out)) for beginning in begun)


def filters_overlap(address_filter: str, other_filter: str) -> bool:
    """Return whether some address passes both filters."""
    (taken, left_out), (also_taken, also_left_out) = _beginnings(address_filter), _beginnings(other_filter)
    begun = (
        max(beginning, other_beginning, key=len)
        for beginning in taken
        for other_beginning in also_taken
        if _share_beginning(beginning, other_beginning)
    )
    return any(not longer.startswith((*left_out, *also_left_out)) for longer in begun)


def _beginnings(address_filter: str) -> tuple[Sequence[str], Sequence[str]]:
    """Return the included prefixes (all addresses if none is given), and the excluded ones.

    Spaces are part of a name.
    """
    parts = [part for part in address_filter.split(",") if part not in ("", "!")]
    taken = [part for part in parts if not part.startswith("!")]
    return taken or [""], [part[1:] for part in parts if part.startswith("!")]


def _share_beginning(text: str, other_text: str) -> bool:
    return text.startswith(other_text) or other_text.startswith(text)


def _begins(pattern: Words, beginning: Words) -> bool:
    """Return whether the pattern matches some address with this prefix; the prefix may end within a word."""
    if not pattern:
        return False
    word, begun = pattern[0], beginning[0]
    if word == "#":
        return True
    if len(beginning) == 1:
        return word == "*" or word.startswith(begun)
    return word in ("*", begun) and _begins(pattern[1:], beginning[1:])


def _literal_beginning(pattern: Words) -> str:
    """Return the prefix of all addresses that the pattern matches, including the dot before a word that must follow."""
    wild = next((at for at, word in enumerate(pattern) if word in ("*", "#")), len(pattern))
    follows = wild > 0 and any(word != "#" for word in pattern[wild:])
    return ".".join(pattern[:wild]) + ("." if follows else "")


def _overlap(words: Words, other_words: Words) -> bool:
    if not words or not other_words:
        return all(word == "#" for word in words + other_words)
    if words[0] == "#":
        return _overlap(words[1:], other_words) or _overlap(words, other_words[1:])
    if other_words[0] == "#":
        return _overlap(other_words, words)
    return (words[0] == other_words[0] or "*" in (words[0], other_words[0])) and _overlap(words[1:], other_words[1:])
