"""Matches addresses as links of Artemis do: patterns of senders and receivers, and mirrors' filters.

A pattern has words joined by dots. ``*`` is one word, ``#`` any number. A mirror's filter, such as ``eu,us,!eu.uk``,
lists beginnings of addresses; ``!`` excludes addresses with that beginning. This follows 2.44.0 (AddressImpl,
MirrorAddressFilter) with one exception: a ``#`` that is not the last word. There 2.44.0 takes as few words as it can
and does not try more, so ``#.eu`` does not match ``eu.eu``. Here it matches, as the manual says.
"""

from collections.abc import Sequence

Words = tuple[str, ...]


def overlap(first: str, second: str) -> bool:
    """Whether some address matches both patterns. An address without wildcards may stand for a pattern."""
    return _overlap(tuple(first.split(".")), tuple(second.split(".")))


def filter_passes(address_filter: str, address: str) -> bool:
    """Whether a mirror with that filter repeats messages to ``address``."""
    taken, left_out = _beginnings(address_filter)
    return address.startswith(tuple(taken)) and not address.startswith(tuple(left_out))


def filter_overlaps(address_filter: str, pattern: str) -> bool:
    """Whether a mirror with that filter repeats messages to some address that ``pattern`` matches.

    In rare cases it is True without such an address: ``a.b.,!a.b.c`` for ``a.*.c``.
    """
    words = tuple(pattern.split("."))
    taken, left_out = _beginnings(address_filter)
    begun = (max(each, _literal_beginning(words), key=len) for each in taken if _begins(words, tuple(each.split("."))))
    return any(not each.startswith(tuple(left_out)) for each in begun)


def filters_overlap(first: str, second: str) -> bool:
    """Whether some address passes both filters."""
    (taken, left_out), (also_taken, also_left_out) = _beginnings(first), _beginnings(second)
    begun = (max(one, other, key=len) for one in taken for other in also_taken if _one_begins(one, other))
    return any(not each.startswith((*left_out, *also_left_out)) for each in begun)


def _beginnings(address_filter: str) -> tuple[Sequence[str], Sequence[str]]:
    """The included beginnings (all addresses if none is named), and the excluded ones. Spaces belong to a name."""
    parts = [part for part in address_filter.split(",") if part not in ("", "!")]
    taken = [part for part in parts if not part.startswith("!")]
    return taken or [""], [part[1:] for part in parts if part.startswith("!")]


def _one_begins(one: str, other: str) -> bool:
    return one.startswith(other) or other.startswith(one)


def _begins(pattern: Words, beginning: Words) -> bool:
    """Whether some address that the pattern matches begins so; of the beginning's last word more may follow."""
    if not pattern:
        return False
    word, begun = pattern[0], beginning[0]
    if word == "#":
        return True
    if len(beginning) == 1:
        return word == "*" or word.startswith(begun)
    return word in ("*", begun) and _begins(pattern[1:], beginning[1:])


def _literal_beginning(pattern: Words) -> str:
    """How every address begins that the pattern matches, the dot before a word that has to follow included."""
    wild = next((at for at, word in enumerate(pattern) if word in ("*", "#")), len(pattern))
    follows = wild > 0 and any(word != "#" for word in pattern[wild:])
    return ".".join(pattern[:wild]) + ("." if follows else "")


def _overlap(first: Words, second: Words) -> bool:
    if not first or not second:
        return all(word == "#" for word in first + second)
    if first[0] == "#":
        return _overlap(first[1:], second) or _overlap(first, second[1:])
    if second[0] == "#":
        return _overlap(second, first)
    return (first[0] == second[0] or "*" in (first[0], second[0])) and _overlap(first[1:], second[1:])
