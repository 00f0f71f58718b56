"""Cuts the nightly tests into parts that take about equally long.

A part is a run of neighbours in the order of collection, so that a fixture of a module or of the session is made in few
parts. How long a test takes is known from earlier runs (`nightly_seconds.json`, by file), or guessed from its
markers.
"""

import json
import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

RECORDED = Path(__file__).with_name("nightly_seconds.json")
GUESSES_S = {"spark": 30.0, "containers": 30.0, "brokers": 8.0}  # the first that a test has
OTHERS_S = 1.0


def parse_part(text: str) -> tuple[int, int]:
    """``2/4`` is the second of four. Raises ValueError."""
    found = re.fullmatch(r"(\d+)/(\d+)", text)
    part, parts = map(int, found.groups()) if found else (0, 0)
    if not 1 <= part <= parts:
        raise ValueError(f"PART={text}: it is a number of parts after a slash, and which of them before it: PART=2/4")
    return part, parts


def recorded_s(path: Path = RECORDED) -> Mapping[str, float]:
    """Mean seconds of a test, by test file."""
    found: Mapping[str, float] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return found


def weight_s(nodeid: str, markers: Collection[str], recorded: Mapping[str, float]) -> float:
    file = nodeid.partition("::")[0]
    if file in recorded:
        return recorded[file]
    return next((guess for marker, guess in GUESSES_S.items() if marker in markers), OTHERS_S)


def part_of_each(weights_s: Sequence[float], parts: int) -> list[int]:
    """Which part each test is in, 1 to ``parts``: the one in which its middle lies on the line of all seconds."""
    total_s, before_s, found = sum(weights_s), 0.0, []
    for weight in weights_s:
        found.append(min(parts, 1 + int((before_s + weight / 2) / total_s * parts)))
        before_s += weight
    return found
