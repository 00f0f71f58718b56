"""Shortens generated names of catalogue topologies to the maximum length of a name."""

import hashlib
from collections.abc import Mapping

from topologies.model.validity import LONGEST_NAME

DIGITS = 8  # of a digest


def fitting_name(name: str, abbreviations: Mapping[str, str] | None = None) -> str:
    """Return ``name`` if it fits; otherwise a shorter name, unique among the topologies of this entry.

    ``abbreviations``: shorter words for parts of the name, used only if the full name is too long. If the result is
    still too long, it is cut, and the digest of the full name is appended.
    """
    if len(name) <= LONGEST_NAME:
        return name
    shorter = name
    for words, abbreviation in (abbreviations or {}).items():
        shorter = shorter.replace(words, abbreviation)
    if len(shorter) <= LONGEST_NAME:
        return shorter
    digest = hashlib.sha256(name.encode()).hexdigest()[:DIGITS]
    return f"{shorter[: LONGEST_NAME - DIGITS - 1].rstrip('-')}-{digest}"
