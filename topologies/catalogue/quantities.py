"""Tells the unit of a field by the end of its name, and which number to write for a text such as 32mb."""

import re

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
UNITS: dict[str, tuple[str, dict[str, int]]] = {
    "bytes": ("bytes", {"": 1, "k": KIB, "m": MIB, "g": GIB}),
    "mb": ("MiB", {"": 1, "m": 1, "g": KIB}),
    "ms": ("milliseconds", {"": 1, "ms": 1, "s": 1_000, "sec": 1_000, "min": 60_000, "h": 3_600_000}),
}
"""By the last word of a field: its unit, and how many of it others are. As for the brokers, 1 kb is 1,024 bytes."""
QUANTITY = re.compile(r"(\d+) *([a-z]*)")


def unit_and_number(field: str, text: str) -> str:
    """`` of bytes: write 33554432`` for the text ``32mb`` of a field that ends in ``_bytes``; '' without a unit."""
    last = field.rpartition("_")[2]
    if last not in UNITS:
        return ""
    unit, multiples = UNITS[last]
    found = QUANTITY.fullmatch(text.strip().lower())
    multiple = multiples.get(found[2].removesuffix("b").removesuffix("i")) if found else None
    return f" of {unit}: write {int(found[1]) * multiple}" if found and multiple else f" of {unit}"
