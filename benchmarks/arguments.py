"""Declares the arguments that benchmarks share, and rejects invalid values with a one-line error.

An invalid argument ends the benchmark with exit status 2: ``python -m benchmarks.core_speed: argument --pairs: 'x' is
not a whole number of at least 1: …``.
"""

import math
from argparse import ArgumentParser, ArgumentTypeError, RawDescriptionHelpFormatter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NoReturn

from topologies.model.spelling import nearest, shortened

KINDS = ("durable", "non-durable")


class Parser(ArgumentParser):
    """A command-line parser for a benchmark.

    Args:
        name: Name of the module in benchmarks/.
        doc: The module's docstring, shown as the help.
    """

    def __init__(self, name: str, doc: str | None) -> None:
        super().__init__(
            prog=f"python -m benchmarks.{name}",
            description=doc,
            formatter_class=RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )

    def error(self, message: str) -> NoReturn:
        line = " ".join(shortened(message).split())
        self.exit(2, f"{self.prog}: {line}: see {self.prog} --help\n")

    def add_pairs(self, default: int = 5) -> None:
        self.add_argument("--pairs", type=whole(1), default=default, metavar="N", help=f"pairs of A and B ({default})")

    def add_measurements(self, names: Iterable[str]) -> None:
        """Add the positional argument that selects measurements. Its value is a list of names; empty means all."""
        choices = tuple(names)
        text = f"of {', '.join(choices)} (all)"
        self.add_argument("measurements", nargs="*", type=one_of(choices), metavar="WHAT", help=text)

    def add_size(self) -> None:
        """Add ``--size``, for tests and trials. The figures of a scaled-down measurement are not meaningful."""
        text = "fraction of the messages and seconds of each measurement, such as 0.01 for a trial (1)"
        self.add_argument("--size", type=above_0, default=1.0, metavar="FRACTION", help=text)

    def add_broker_load(self) -> None:
        """Add ``uri``, ``count`` and ``kind``, for a process that sends and receives ``count`` messages."""
        self.add_argument("uri", metavar="URI", help="the broker's URI, such as stomp://127.0.0.1:61613")
        self.add_argument("count", type=whole(1), metavar="COUNT", help="messages")
        self.add_argument("kind", type=one_of(KINDS), metavar="KIND", help=" or ".join(KINDS))

    def add_protocol(self, names: Iterable[str], **how: Any) -> None:
        choices = tuple(names)
        self.add_argument("protocol", type=one_of(choices), metavar="PROTOCOL", help=", ".join(choices), **how)


def scaled(full: float, size: float, least: int = 1) -> int:
    """Scale a count of messages or seconds by ``size``, but return at least ``least``."""
    return max(least, round(full * size))


def whole(least: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = least - 1
        if value < least:
            raise ArgumentTypeError(f"{text!r} is not a whole number of at least {least}: give one")
        return value

    return parse


def number(text: str) -> float:
    """Parse a number of at least 0."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise ArgumentTypeError(f"{text!r} is not a number of at least 0: give one")
    return value


def above_0(text: str) -> float:
    try:
        value = number(text)
    except ArgumentTypeError:
        value = 0.0
    if not value:
        raise ArgumentTypeError(f"{text!r} is not a number above 0: give one")
    return value


def one_of(names: Iterable[str]) -> Callable[[str], str]:
    choices = list(names)

    def parse(text: str) -> str:
        if text not in choices:
            raise ArgumentTypeError(
                f"{text!r} is none of {', '.join(choices)}{nearest(text, choices)}: give one of them"
            )
        return text

    return parse


def several_of(names: Iterable[str]) -> Callable[[str], list[str]]:
    """Return a parser for comma-separated names."""
    parse_one = one_of(names)
    return lambda text: [parse_one(name) for name in text.split(",")]


def folder(text: str) -> Path:
    if not Path(text).is_dir():
        raise ArgumentTypeError(f"{text!r} is not a folder: give the path of one")
    return Path(text)
