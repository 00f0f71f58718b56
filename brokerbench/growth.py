"""What would one broker more change? Which configurations, and so which brokers are to be restarted.

The entry is built as it is and once more with each count raised by one; both are rendered for the same places, and the
files compared. A broker reads its configuration when it starts, so each that changes is a restart.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from brokerbench.rendering import files_of, site_by_names
from topologies.catalogue import arguments, build
from topologies.model import Topology
from topologies.parse import parse_call
from topologies.validity import TopologyInvalid


@dataclass(frozen=True)
class Growth:
    """``change``: the parameter as it would be, ``brokers=4``. The rest are names of brokers."""

    change: str
    added: tuple[str, ...]
    restarted: tuple[str, ...]
    untouched: tuple[str, ...]


def growths(text: str) -> tuple[Growth, ...]:
    """One for each parameter whose next value has more brokers; ``text`` names an entry of the catalogue."""
    return tuple(_growths(text))


def _growths(text: str) -> Iterator[Growth]:
    name, now, given = parse_call(text).name, build(text), arguments(text)
    for parameter, value in given.items():
        if type(value) is not int:
            continue
        try:
            grown = build(_written(name, given | {parameter: value + 1}))
        except TopologyInvalid:  # as many as it may have
            continue
        if len(grown.brokers) > len(now.brokers):
            yield compared(f"{parameter}={value + 1}", now, grown)


def compared(change: str, now: Topology, grown: Topology) -> Growth:
    """What becomes of each broker from one topology to the other."""
    before, after = _configurations(now), _configurations(grown)
    kept = [name for name in before if name in after]
    return Growth(
        change,
        added=tuple(name for name in after if name not in before),
        restarted=tuple(name for name in kept if before[name] != after[name]),
        untouched=tuple(name for name in kept if before[name] == after[name]),
    )


def _configurations(topology: Topology) -> dict[str, dict[str, str]]:
    """Broker to its files."""
    return files_of(topology, site_by_names(topology))


def _written(name: str, given: dict[str, object]) -> str:
    return f"{name}({', '.join(f'{parameter}={value!r}' for parameter, value in given.items())})"
