"""Formats numbers, so that the same figure reads the same everywhere in the report."""

from math import isfinite, log10

ABSENT = "–"
BYTE_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def significant(value: float | None, digits: int = 3) -> str:
    """Format to ``digits`` significant digits, without an exponent.

    12345.6 -> 12,346; 3.14159 -> 3.14; 0.00123 -> 0.00123
    """
    if value is None or not isfinite(value):
        return ABSENT
    if value == 0:
        return "0"
    decimals = max(0, digits - 1 - int(log10(abs(value)) // 1))
    return f"{value:,.{min(decimals, 6)}f}"


def whole(value: int | None) -> str:
    return ABSENT if value is None else f"{value:,}"


def bytes_text(value: float) -> str:
    """Return 4294967296 as ``4.00 GiB``."""
    power = 0
    while abs(value) >= 1024 and power < len(BYTE_UNITS) - 1:
        value, power = value / 1024, power + 1
    return f"{significant(value)} {BYTE_UNITS[power]}"


def seconds_text(value: float | None) -> str:
    """Return 62.5 as ``1 min 2.5 s``."""
    if value is None:
        return ABSENT
    minutes, rest_s = divmod(value, 60)
    if minutes < 1:
        return f"{value:.3g} s"
    rest_text = f" {rest_s:.3g} s" if rest_s >= 0.05 else ""
    return f"{int(minutes)} min{rest_text}"


def counted(count: int, noun: str, plural: str = "") -> str:
    """Return ``1 message`` or ``2 messages``."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def share(part: float, whole_amount: float) -> str:
    """Return a part of a whole in percent."""
    return ABSENT if not whole_amount else f"{significant(100 * part / whole_amount, 2)} %"


def sentence(text: str) -> str:
    """Add a capital letter and a full stop. A name such as ``messages.lost`` keeps its lowercase letter."""
    first_word = text.split(" ", 1)[0]
    started = text if "." in first_word or "_" in first_word else text[:1].upper() + text[1:]
    return started if started.endswith((".", "!", "?")) else started + "."


def joined(words: list[str]) -> str:
    """Return ``a, b and c``."""
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1] if words else ""
