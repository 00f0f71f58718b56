"""A link's effect on its traffic: delay, jitter and bandwidth, the same in both directions.

    Impairment(delay_ms=40)    opener ──── 40 ms ───► end      a round trip over the link takes 80 ms
                               opener ◄─── 40 ms ──── end

On the command line: ``delay=40ms,jitter=5ms,bandwidth=10MB/s``.
"""

import re
from dataclasses import dataclass
from fractions import Fraction

from topologies.model.spelling import nearest
from topologies.model.validity import TopologyInvalid, number, require_rules

LONGEST_DELAY_MS = 2_000  # the moon is 1,300 ms away; brokers time out in the handshake over far slower links
MOST_KB_PER_S = 100_000_000
MS = {"ms": Fraction(1), "s": Fraction(1000)}
KB_PER_S = {
    "kB/s": Fraction(1), "MB/s": Fraction(1000), "GB/s": Fraction(1_000_000),
    "kbit/s": Fraction(1, 8), "Mbit/s": Fraction(1000, 8), "Gbit/s": Fraction(1_000_000, 8),
}  # fmt: skip
SETTINGS = {
    "delay": ("delay_ms", MS, "40ms"),
    "jitter": ("jitter_ms", MS, "5ms"),
    "bandwidth": ("bandwidth_kb_per_s", KB_PER_S, "10MB/s"),
}
AMOUNT = re.compile(r"(\d+(?:\.\d+)?)\s*(\S+)")


@dataclass(frozen=True)
class Impairment:
    """A link's delay, jitter and bandwidth.

    ``delay_ms``: one way; the same in both directions.

    ``jitter_ms``: each chunk of data takes up to this much more or less, but never overtakes another.
    ``bandwidth_kb_per_s``: thousands of bytes per second for each connection and direction; 0: no limit.
    With nothing set, the link is only measured.
    """

    delay_ms: int = number(0, least=0, most=LONGEST_DELAY_MS)
    jitter_ms: int = number(0, least=0, most=LONGEST_DELAY_MS)
    bandwidth_kb_per_s: int = number(0, least=0, most=MOST_KB_PER_S)

    def __post_init__(self) -> None:
        subject = "impairment"
        require_rules(subject, self)
        if self.jitter_ms > self.delay_ms:
            rule = f"it must be at most delay_ms ({self.delay_ms}): nothing can arrive before it was sent"
            raise TopologyInvalid(f"{subject}: jitter_ms={self.jitter_ms}, but {rule}", field="jitter_ms")

    def __str__(self) -> str:
        settings = [f"delay={self.delay_ms}ms"] if self.delay_ms else []
        settings += [f"jitter={self.jitter_ms}ms"] if self.jitter_ms else []
        settings += [f"bandwidth={self.bandwidth_kb_per_s}kB/s"] if self.bandwidth_kb_per_s else []
        return ",".join(settings) or "measured only"


def parse_impairment(text: str) -> Impairment:
    """Parse ``delay=40ms,bandwidth=80Mbit/s``; '' sets nothing. Raises `TopologyInvalid`."""
    values: dict[str, int] = {}
    for setting in filter(None, map(str.strip, text.split(","))):
        name, equals, amount = (part.strip() for part in setting.partition("="))
        if name not in SETTINGS:
            hint = nearest(name, list(SETTINGS)) or f"; known are {', '.join(SETTINGS)}"
            raise TopologyInvalid(f"links have no setting {name!r}{hint}")
        field, units, example = SETTINGS[name]
        if field in values:
            raise TopologyInvalid(f"{name} is given twice; keep one")
        if not equals:
            raise TopologyInvalid(f"{name} has no value; write e.g. {name}={example}")
        values[field] = _amount(name, amount, units, example)
    return Impairment(**values)


def _amount(name: str, text: str, units: dict[str, Fraction], example: str) -> int:
    """Return an amount in the field's unit. Toxiproxy accepts only whole numbers."""
    match = AMOUNT.fullmatch(text)
    if match is None or match[2] not in units:
        rule = f"it must be a number with a unit ({', '.join(units)}), e.g. {name}={example}"
        raise TopologyInvalid(f"{name}={text}, but {rule}")
    amount, least = Fraction(match[1]) * units[match[2]], next(iter(units))
    if amount.denominator != 1:
        raise TopologyInvalid(f"{name}={text}, but it must be a whole number of {least}")
    return int(amount)
