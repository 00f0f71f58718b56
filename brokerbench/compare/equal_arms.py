"""Proposes the topologies with equal numbers of brokers that are nearest to the compared ones.

Entries of the catalogue have parameters that are counts: `mesh(brokers=5)` has the same number of brokers as
`hub-and-spoke(spokes=4)`. The nearest proposal changes the fewest arms, and these by the fewest brokers.
"""

from collections.abc import Iterator, Sequence

from records.run import RunInfo
from reports.comparison.confounders import Shape
from reports.parts.numbers import joined
from topologies.catalogue.lookup import arguments, build, entry_call
from topologies.catalogue.yaml_topology import is_file
from topologies.model.client_groups import CONSUMERS, PRODUCERS
from topologies.model.paths import count_by_links
from topologies.model.topology import Topology
from topologies.model.validity import TopologyInvalid

FARTHEST = 4
"""The most additional brokers of a proposed arm, compared with the largest requested arm."""


def nearest_equal(runs: Sequence[RunInfo]) -> str:
    """Return the proposal for an experiment with these arms, given one run of each."""
    return proposal([str(run.options.get("topology") or run.topology) for run in runs])


def proposal(texts: Sequence[str]) -> str:
    """Return a sentence with arms of equal numbers of brokers, and their differences.

    Empty if the arms are equal, or if one of them is unknown.
    """
    try:
        sizes = [len(build(text).brokers) for text in texts]
        if len(set(sizes)) == 1:
            return ""
        ways = [dict(_of_each_size(text, max(sizes) + FARTHEST)) for text in texts]
    except (TopologyInvalid, OSError):
        return ""
    common = set(ways[0]).intersection(*ways[1:])
    if not common:
        fixed = [
            f"{text} always has {size}"
            for text, size, texts_by_size in zip(texts, sizes, ways, strict=True)
            if len(texts_by_size) == 1
        ]
        why = f": {joined(fixed)}" if fixed else ""
        return f"No parameters make these arms equal in brokers{why}. Read the differences with that in mind."
    size = min(common, key=lambda count: _change(sizes, count))
    equal = [texts_by_size[size] for texts_by_size in ways]
    command = f"--topologies '{','.join(equal)}'"
    return f"The nearest arms that are equal in brokers, {size} each: {command}. {_links_then(equal)}"


def _change(sizes: Sequence[int], count: int) -> tuple[int, int, int]:
    """Sort key: the distance of arms with this number of brokers from the requested ones; on a tie the larger wins."""
    return sum(size != count for size in sizes), sum(abs(size - count) for size in sizes), -count


def _of_each_size(text: str, most: int) -> Iterator[tuple[int, str]]:
    """Yield (brokers, topology) with one count changed. The last of a size is the nearest, by the first parameter."""
    now = len(build(text).brokers)
    if not is_file(text):
        call = entry_call(text)
        for parameter, value in reversed(arguments(text).items()):
            if type(value) is int:
                for step in (1, -1):
                    around = _grown(text, call.name, call.arguments, parameter, value, step, most)
                    yield from reversed(list(around))
    yield now, text.strip()


def _grown(
    text: str, name: str, own: dict[str, object], parameter: str, value: int, step: int, most: int
) -> Iterator[tuple[int, str]]:
    """Raise or lower this count step by step while that changes the number of brokers."""
    size = len(build(text).brokers)
    while True:
        value += step
        changed = _written(name, own | {parameter: value})
        try:
            grown = len(build(changed).brokers)
        except TopologyInvalid:  # the parameter's limit is reached
            return
        if grown == size or grown > most:
            return
        size = grown
        yield grown, changed


def _written(name: str, parameters: dict[str, object]) -> str:
    """Write the topology without parameters that have default values."""
    defaults = arguments(name)
    stated = [f"{parameter}={value!r}" for parameter, value in parameters.items() if value != defaults[parameter]]
    return f"{name}({', '.join(stated)})" if stated else name


def _links_then(texts: Sequence[str]) -> str:
    shapes = [_shape(text, build(text)) for text in texts]
    if len({shape.link_text for shape in shapes}) == 1:
        return f"In these arms a message crosses the same number of links ({shapes[0].link_text})."
    links_by_shape = "; ".join(f"{shape.name}: {shape.link_text}" for shape in shapes)
    return f"In these arms the number of links that a message crosses still differs: {links_by_shape}."


def _shape(text: str, topology: Topology) -> Shape:
    names = {group.name for group in topology.groups}
    paths = topology.paths_between(PRODUCERS, CONSUMERS) if {PRODUCERS, CONSUMERS} <= names else ()
    standbys = sum(bool(broker.standby_of) for broker in topology.brokers)
    nobody: frozenset[str] = frozenset()
    return Shape(text, len(topology.brokers), standbys, count_by_links(paths), nobody, nobody)
