"""Plans restarts after which brokers have a changed configuration, as Amazon MQ applies one.

Each broker keeps its old settings until its own restart. So after each restart the topology is a mixture: the brokers
that have restarted, and the links that they open, have the new settings, and all others the old ones.
"""

import dataclasses
from collections.abc import Iterator, Sequence

from harness.faults.contract import Fault
from harness.faults.rolling_restart import RestartInTurn
from records.errors import UserError
from topologies.catalogue.overlay import partly_applied
from topologies.model.broker import AnyBroker
from topologies.model.proxied_links import proxied
from topologies.model.topology import Topology
from topologies.model.validity import TopologyInvalid

LEAVE_OUT = "leave it out of the overlay"


def with_changed_topologies(faults: Sequence[Fault], topology: Topology) -> tuple[Fault, ...]:
    """Return the faults, with the topology after each restart with an overlay. Raises UserError. Pure."""
    planned: list[Fault] = []
    before = after = current = topology
    restarted: list[str] = []
    overlay = None
    for fault in faults:
        if not isinstance(fault, RestartInTurn) or fault.overlay is None:
            planned.append(fault)
            continue
        if fault.overlay is not overlay:
            overlay, before, restarted = fault.overlay, current, []
            after = _after(fault, before)
        restarted.append(fault.target)
        try:
            changed = partly_applied(before, after, restarted)
        except TopologyInvalid as error:
            raise UserError(f"{_subject(fault)}: once {', '.join(restarted)} has restarted: {error}") from error
        if problem := next(_problems(fault.target, current, changed), ""):
            raise UserError(f"{_subject(fault)}: {problem}")
        planned.append(dataclasses.replace(fault, changed=changed))
        current = changed
    if problem := next(_renamed_targets(planned, topology), ""):
        raise UserError(problem)
    return tuple(planned)


def _after(fault: RestartInTurn, before: Topology) -> Topology:
    assert fault.overlay is not None, "the caller has looked"
    try:
        return fault.overlay.apply(before, renames_links=True)
    except TopologyInvalid as error:
        raise UserError(f"fault rolling-restart: overlay {error}") from error


def _subject(fault: RestartInTurn) -> str:
    assert fault.overlay is not None, "the caller has looked"
    return f"fault rolling-restart: overlay={fault.overlay.path}: broker {fault.target}"


def _problems(name: str, before: Topology, after: Topology) -> Iterator[str]:
    """Yield settings of a broker that a restart cannot change: they are fixed when the brokers of a run start."""
    old, new = before.broker(name), after.broker(name)
    if any(broker.standby_of for broker in before.brokers):
        yield "the topology has pairs, whose standbys need the same configuration; choose a topology without standbys"
    if old.java != new.java:
        yield f"jvm: the settings of a JVM cannot change at a restart; {LEAVE_OUT}"
    if _ports(old) != _ports(new) or before.product.needs_tls(before, old) != after.product.needs_tls(after, new):
        yield f"connectors: listening ports and their transports cannot change at a restart; {LEAVE_OUT}"
    if old.link_users != new.link_users:
        yield f"users: users of links cannot change at a restart; {LEAVE_OUT}"
    through = {link.name for link in proxied(before.links)}
    for link, changed in zip(before.links, after.links, strict=True):
        if link.user_name != changed.user_name:
            yield f"link {link.name!r}: user_name cannot change at a restart; {LEAVE_OUT}"
        if link.name != changed.name and link.name in through:
            yield f"link {link.name!r} goes through a proxy, so its name cannot change; {LEAVE_OUT}"
    if not describe_changes(before, after):
        yield (
            "its restart would change nothing; name a setting of this broker or of a link that it opens, with a new "
            "value, or leave overlay out"
        )


def _ports(broker: AnyBroker) -> tuple[tuple[str, str], ...]:
    return tuple((protocol, broker.client_scheme(protocol)) for protocol in broker.protocols)


def _renamed_targets(faults: Sequence[Fault], topology: Topology) -> Iterator[str]:
    """Yield faults of links that a restart renames."""
    after = next((f.changed for f in reversed(faults) if isinstance(f, RestartInTurn) and f.changed), topology)
    pairs = zip(topology.links, after.links, strict=True)
    renamed = {old.name: new.name for old, new in pairs if old.name != new.name}
    for fault in faults:
        if fault.of_link and fault.target in renamed:
            yield (
                f"fault {fault.kind} of {fault.target}: a restart renames this link to {renamed[fault.target]}; "
                "leave the fault or the new name out"
            )


def describe_changes(before: Topology, after: Topology) -> list[str]:
    """Return each setting that differs: ``link source-to-sink: name source-to-sink → other``. Pure."""
    pairs = [
        *((f"broker {old.name}", old, new) for old, new in zip(before.brokers, after.brokers, strict=True)),
        *((f"link {old.name}", old, new) for old, new in zip(before.links, after.links, strict=True)),
    ]
    return [f"{subject}: {change}" for subject, old, new in pairs for change in _differences(old, new)]


def _differences(old: object, new: object) -> Iterator[str]:
    for field in dataclasses.fields(old):  # type: ignore[arg-type]
        was, is_now = getattr(old, field.name), getattr(new, field.name)
        if was == is_now or isinstance(was, AnyBroker):  # the ends of links have their own entries
            continue
        plain = all(isinstance(value, str | int | float | bool) for value in (was, is_now))
        yield f"{field.name} {was} → {is_now}" if plain else f"{field.name} changed"


def changes_of(faults: Sequence[Fault], topology: Topology) -> list[str]:
    """Return one sentence per restart that changes settings: ``source: link source-to-sink: name …``. Pure."""
    sentences, before = [], topology
    for fault in faults:
        if isinstance(fault, RestartInTurn) and fault.changed is not None:
            sentences.append(f"{fault.target}: {', '.join(describe_changes(before, fault.changed))}")
            before = fault.changed
    return sentences
