"""Describes a topology as text for a terminal."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any, Protocol, runtime_checkable

from brokerbench.drawing import draw_topology, has_same_drawing
from brokerbench.restart_impact import RestartImpact
from topologies.catalogue.lookup import Entry
from topologies.model.broker import AnyBroker
from topologies.model.client_groups import CONSUMERS, PRODUCERS, ClientGroup
from topologies.model.link import Link
from topologies.model.topology import Topology

PROTOCOL = "stomp"  # protocol of the shown failover URIs, if all their brokers support it
MOST_NAMES = 12
MOST_PATHS = 100  # the paths of a mesh with ten brokers
GROWTH = "adding a broker, by comparing the rendered files"


def catalogue(entries: Sequence[Entry]) -> str:
    """Return one line per entry: name, broker product and summary. Parameters are shown with the entry itself."""
    width = max(len(entry.name) for entry in entries)
    product_width = max(len(entry.product) for entry in entries)
    return "\n".join(f"{entry.name:<{width}}  {entry.product:<{product_width}}  {entry.summary}" for entry in entries)


def entry(
    listed: Entry, parameters: Mapping[str, object], usual: Topology, built: Topology, growths: Sequence[RestartImpact]
) -> str:
    """Return the description, the parameters, and the text of `topology`. ``usual``: the entry without parameters."""
    parameter_lines = _section("parameters", (f"{name}={value!r}" for name, value in parameters.items()))
    picture = listed.picture if has_same_drawing(built, usual) else draw_topology(built)
    return "\n\n".join([listed.summary, picture, parameter_lines, *_parts(built, growths)])


def topology(built: Topology, growths: Sequence[RestartImpact]) -> str:
    """Return a topology's picture, brokers, links, client groups, paths, warnings, and the effects of growth."""
    return "\n\n".join([draw_topology(built), *_parts(built, growths)])


def _parts(built: Topology, growths: Sequence[RestartImpact]) -> Iterator[str]:
    yield _section(f"{built.name} ({built.flavour}): brokers", map(_broker, built.brokers))
    yield _section("links", map(_link, built.links))
    yield _section("client groups", (f"{g.name}  {g.failover_uri_by_name(_protocol_at(g))}" for g in built.groups))
    yield _section(f"paths from {PRODUCERS} to {CONSUMERS}", _paths(built))
    if built.warnings:
        yield _section("warnings", built.warnings)
    yield _section(GROWTH, (line for growth in growths for line in _growth(growth)))


def _section(title: str, lines: Iterable[str]) -> str:
    return "\n".join([f"{title}:", *(f"  {line}" for line in tuple(lines) or ("none",))])


def _broker(broker: AnyBroker) -> str:
    roles = [f"in {broker.region}"] if broker.region else []
    roles += [f"stands by for {broker.standby_of}"] if broker.standby_of else []
    return f"{broker.name}  {', '.join(roles)}".rstrip()


def _protocol_at(group: ClientGroup) -> str:
    spoken_by_all = [p for p in group.enter_at[0].spoken if all(p in broker.spoken for broker in group.enter_at)]
    return spoken_by_all[0] if spoken_by_all and PROTOCOL not in spoken_by_all else PROTOCOL


def _growth(growth: RestartImpact) -> Iterator[str]:
    yield f"{growth.change}: {_few(growth.added)} new"
    yield f"  configuration changes, so restart: {_few(growth.restarted)}"
    yield f"  unchanged, keeps running: {_few(growth.untouched)}"


def _few(names: Sequence[str]) -> str:
    if not names:
        return "none"
    return ", ".join(names) if len(names) <= MOST_NAMES else f"{', '.join(names[:MOST_NAMES])}, … ({len(names)} in all)"


def _link(link: Link) -> str:
    arrow = "<->" if link.duplex else "-->"
    return f"{link.opened_by.name} {arrow} {link.to.name}  {link.kind} {link.name}, {link_settings(link)}"


def _paths(built: Topology) -> Iterator[str]:
    names = {group.name for group in built.groups}
    if not {PRODUCERS, CONSUMERS} <= names:
        group_names = ", ".join(sorted(names)) or "no group"
        yield f"none: scenarios need groups of these two names, and this topology has {group_names}"
        return
    paths = built.paths_between(PRODUCERS, CONSUMERS)
    for path in paths[:MOST_PATHS]:
        yield f"{path.hops} {'hop ' if path.hops == 1 else 'hops'}  {' -> '.join(path.route)}"
    if len(paths) > MOST_PATHS:
        longest = max(path.hops for path in paths)
        yield f"… ({len(paths):,} in all, of {longest} hop{'' if longest == 1 else 's'} at most)"


# -- the settings of a link --------------------------------------------------------------------------------------------


@runtime_checkable
class Named(Protocol):
    """A setting that describes itself in a word or two."""

    @property
    def described(self) -> str: ...


def link_settings(link: Link) -> str:
    """Describe a link in a line: its TTL, all settings that are not at their defaults, and its impairment.

    ``message_ttl=1 consumer_ttl=1, dynamically_included_destinations=queue://>, delay=40ms``
    """
    limits = " ".join(f"{name}={value}" for name, value in link.limits.items())  # empty for links without hop limits
    impairment = str(link.impairment) if link.impairment else ""
    return ", ".join(filter(None, [limits, *_set(link, {field.name for field in fields(Link)}), impairment]))


def _set(part: Any, left_out: set[str]) -> Iterator[str]:
    """Yield ``prefetch_size=5``, ``mirror(sync=True)``, … for the fields of a value that are not in ``left_out``."""
    for field in fields(part):
        value = getattr(part, field.name)
        if field.name not in left_out and value != _default(field):
            described = _described(value)
            yield field.name + (described if described[:1] in ("", "(") else f"={described}")


def _default(field: "Field[Any]") -> Any:
    return field.default_factory() if field.default_factory is not MISSING else field.default


def _described(value: Any) -> str:
    """Return the value in words; empty for a value without settings."""
    if isinstance(value, AnyBroker):
        return value.name
    if isinstance(value, Named):
        return value.described
    if isinstance(value, tuple):
        return " ".join(map(_described, value))
    if is_dataclass(value):
        inner = ", ".join(_set(value, {"max_hops"}))
        return getattr(value, "kind", "") + (f"({inner})" if inner else "")
    return str(value)
