"""Determines which brokers must restart if a broker is added, because their configuration changes.

An entry with counts of brokers is built unchanged, and again with each count raised by one. Other topologies get an
additional broker with a link like the first link of a broker where clients connect. Both are rendered for the same
hosts and ports, and their files are compared. A broker reads its configuration at the start, so each changed file needs
a restart.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import count

from brokerbench.rendering import files_of, site_by_names
from records.run import RunInfo
from topologies.catalogue.lookup import arguments, build, entry_call
from topologies.catalogue.yaml_topology import is_file
from topologies.model.broker import AnyBroker
from topologies.model.link import Link
from topologies.model.topology import Topology
from topologies.model.validity import TopologyInvalid

NEW = "new-broker"


@dataclass(frozen=True)
class RestartImpact:
    """``change``: the new parameter value, ``brokers=4``, or the new link. All others are broker names."""

    change: str
    added: tuple[str, ...]
    restarted: tuple[str, ...]
    untouched: tuple[str, ...]


def restart_impacts(text: str) -> tuple[RestartImpact, ...]:
    """Return the impact of each parameter whose next value adds brokers; if there is none, of an additional link.

    Empty if the topology cannot be larger, because its product has no links.

    ``text`` names an entry of the catalogue or a file.
    """
    counted = () if is_file(text) else tuple(_counted(text))
    if counted:
        return counted
    topology = build(text)
    return (add_broker(topology),) if topology.product.join or topology.links else ()


def restarts_of(run: RunInfo) -> str:
    """Return `brokers_to_restart` for the topology of a run."""
    return brokers_to_restart(str(run.options.get("topology") or run.topology))


@cache
def brokers_to_restart(text: str) -> str:
    """Return the brokers that must restart if one is added: ``hub``, ``all 3``, ``none``; or ``edges=4: none; …``.

    Empty if the topology's name is unknown, or if the topology cannot be larger.
    """
    try:
        ways = restart_impacts(text)
    except (ValueError, OSError):
        return ""
    names_by_growth = [_restarted(growth) for growth in ways]
    if len(ways) == 1:
        return names_by_growth[0]
    return "; ".join(f"{growth.change}: {names}" for growth, names in zip(ways, names_by_growth, strict=True))


def _restarted(growth: RestartImpact) -> str:
    if growth.untouched or len(growth.restarted) < 2:
        return ", ".join(growth.restarted) or "none"
    return f"all {len(growth.restarted)}"


def add_broker(now: Topology) -> RestartImpact:
    """Return the growth by one broker. Its link copies an existing one, and the broker copies that link's far end."""
    entry = now.groups[0].enter_at[0] if now.groups else now.brokers[0]
    entry = now.broker(entry.active)
    like = next((link for link in now.links if entry in (link.opened_by, link.to)), None)
    name = next(unused for unused in _names() if unused not in {broker.name for broker in now.brokers})
    if like:
        link = _like(like, entry, name)
    else:
        assert now.product.join is not None, "`restart_impacts` asks for no other topology"
        link = now.product.join(_broker_like(entry, name), entry, now.links)
    joining = link.to if link.opened_by == entry else link.opened_by
    grown = replace(now, brokers=(*now.brokers, joining), links=(*now.links, link))
    change = f"one additional link, from {link.opened_by.name} to {link.to.name}" + (
        f", like {like.name}" if like else ""
    )
    return compare_files(change, now, grown)


def compare_files(change: str, now: Topology, grown: Topology) -> RestartImpact:
    """Compare the brokers' files of two topologies."""
    before, after = _configurations(now), _configurations(grown)
    staying = [name for name in before if name in after]
    return RestartImpact(
        change,
        added=tuple(name for name in after if name not in before),
        restarted=tuple(name for name in staying if before[name] != after[name]),
        untouched=tuple(name for name in staying if before[name] == after[name]),
    )


def _counted(text: str) -> Iterator[RestartImpact]:
    name, now, parameters = entry_call(text).name, build(text), arguments(text)
    for parameter, value in parameters.items():
        if type(value) is not int:
            continue
        try:
            grown = build(_written(name, parameters | {parameter: value + 1}))
        except TopologyInvalid:  # the parameter's limit is reached
            continue
        if len(grown.brokers) > len(now.brokers):
            yield compare_files(f"{parameter}={value + 1}", now, grown)


def _like(link: Link, entry: AnyBroker, name: str) -> Link:
    """Return a copy of the link that joins ``entry`` to a new broker instead."""
    if link.opened_by == entry:
        return link.between(entry, _broker_like(link.to, name))
    return link.between(_broker_like(link.opened_by, name), entry)


def _broker_like(like: AnyBroker, name: str) -> AnyBroker:
    return replace(like, name=name, standby_of="")


def _names() -> Iterator[str]:
    yield NEW
    yield from (f"{NEW}-{number}" for number in count(2))


def _configurations(topology: Topology) -> dict[str, dict[str, str]]:
    """Return the files of each broker."""
    return files_of(topology, site_by_names(topology))


def _written(name: str, parameters: dict[str, object]) -> str:
    return f"{name}({', '.join(f'{parameter}={value!r}' for parameter, value in parameters.items())})"
