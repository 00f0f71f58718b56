"""Plans restarts after which brokers have a changed configuration, as Amazon MQ applies one.

Each broker keeps its old settings until its own restart. So after each restart the topology is a mixture: the brokers
that have restarted, and the links that they open, have the new settings, and all others the old ones.
"""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

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
    if problem := next(_out_of_turn(faults), ""):
        raise UserError(problem)
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


def _out_of_turn(faults: Sequence[Fault]) -> Iterator[str]:
    """Yield restarts with an overlay that may begin before the restarts of the overlay before them are over.

    Each restart changes the topology that the one before it left behind, so their order in the list must be the order
    in time. A restart takes as long as the broker needs, so only a restart that waits for the one before it is in turn.
    """
    previous: RestartInTurn | None = None
    waits_for_previous = False
    for fault in faults:
        if fault.turn_pause_s is None:
            waits_for_previous = False
        if not isinstance(fault, RestartInTurn) or fault.overlay is None:
            continue
        if previous is not None and not waits_for_previous:
            yield (
                f"{_subject(fault)} at {fault.at_s:g} s does not wait for the restart of {previous.target} at "
                f"{previous.at_s:g} s, which has an overlay and is listed before it; restarts with an overlay must "
                "take place in their order in the list: list them in the order of their times, one directly after the "
                "other, so that each waits for the one before it"
            )
        previous, waits_for_previous = fault, True


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
    if old.process and old.process != new.process:
        changes = _changes(old.process, new.process)
        yield f"{old.process.section}: {changes}, but settings of a process cannot change at a restart; {LEAVE_OUT}"
    was, is_now = (_ports(broker, topology) for broker, topology in ((old, before), (new, after)))
    if was != is_now:
        yield f"connectors: {was} → {is_now}, but ports and their transports cannot change at a restart; {LEAVE_OUT}"
    if old.link_users != new.link_users:
        changes = ", ".join(_field_differences("users", old.link_users, new.link_users))
        yield f"{changes}, but users of links cannot change at a restart; {LEAVE_OUT}"
    yield from _queue_problems(old, new)
    through = {link.name for link in proxied(before.links)}
    for link, changed in zip(before.links, after.links, strict=True):
        if link.user_name != changed.user_name:
            users = f"{link.user_name or 'none'} → {changed.user_name or 'none'}"
            yield f"link {link.name!r}: user_name {users}, but it cannot change at a restart; {LEAVE_OUT}"
        if link.name != changed.name and link.name in through:
            names = f"name {link.name} → {changed.name}"
            yield f"link {link.name!r}: {names}, but it goes through a proxy, so its name cannot change; {LEAVE_OUT}"
    if not describe_changes(before, after):
        yield (
            "its restart would change nothing; name a setting of this broker or of a link that it opens, with a new "
            "value, restart only the brokers that change, or leave overlay out"
        )


def _queue_problems(old: AnyBroker, new: AnyBroker) -> Iterator[str]:
    """Yield changed names of queues with dead letters: a run reads them from the topology at its start."""
    for called, queues, changed_queues in (
        ("dead-letter queues", old.dead_letter_queues, new.dead_letter_queues),
        ("expiry queues", old.expiry_queues, new.expiry_queues),
    ):
        if {*queues} != {*changed_queues}:
            yield (
                f"{called}: {_shown(queues)} → {_shown(changed_queues)} ({_changes(old, new)}), but a run looks for "
                f"dead letters in the queues from its start; {LEAVE_OUT}, or put it into --overlay for the whole run"
            )


def _ports(broker: AnyBroker, topology: Topology) -> str:
    """Return the broker's listening ports in words: ``openwire (tcp), mqtt (mqtt)``."""
    ports = ", ".join(f"{protocol} ({broker.client_scheme(protocol)})" for protocol in broker.protocols)
    return f"{ports}{' and a port for links with TLS' if topology.product.needs_tls(topology, broker) else ''}"


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


def _changes(old: object, new: object) -> str:
    return ", ".join(_differences(old, new))


def _differences(old: object, new: object, path: str = "") -> Iterator[str]:
    """Yield each field that differs, also in values that have fields themselves: ``jvm.heap_mb 512 → 1024``."""
    for field in dataclasses.fields(old):  # type: ignore[arg-type]
        was, is_now = getattr(old, field.name), getattr(new, field.name)
        if was != is_now and not isinstance(was, AnyBroker):  # the ends of links have their own entries
            yield from _field_differences(f"{path}{field.name}", was, is_now)


def _field_differences(name: str, was: object, is_now: object) -> Iterator[str]:
    if dataclasses.is_dataclass(was) and type(was) is type(is_now):
        yield from _differences(was, is_now, f"{name}.")
    elif isinstance(was, tuple) and isinstance(is_now, tuple) and all(hasattr(e, "KEY") for e in (*was, *is_now)):
        old, new = _by_key(was), _by_key(is_now)
        for key in dict.fromkeys((*old, *new)):
            if old.get(key) != new.get(key):
                yield from _field_differences(f"{name}[{key}]", old.get(key), new.get(key))
    else:
        yield f"{name} {_shown(was)} → {_shown(is_now)}"


def _by_key(entries: Sequence[Any]) -> dict[str, object]:
    return {" ".join(str(getattr(entry, name)) for name in entry.KEY): entry for entry in entries}


def _shown(value: object) -> str:
    """Return a value in a few words; of a value with fields only its type."""
    if value in (None, (), ""):
        return "none"
    if isinstance(value, tuple):
        return f"({', '.join(map(_shown, value))})"
    return type(value).__name__ if dataclasses.is_dataclass(value) else str(value)


def changes_of(faults: Sequence[Fault], topology: Topology) -> list[str]:
    """Return one sentence per restart that changes settings: ``source: link source-to-sink: name …``. Pure."""
    sentences, before = [], topology
    for fault in faults:
        if isinstance(fault, RestartInTurn) and fault.changed is not None:
            sentences.append(f"{fault.target}: {', '.join(describe_changes(before, fault.changed))}")
            before = fault.changed
    return sentences
