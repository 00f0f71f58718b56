"""Parses ``--fault 'kill(broker-2, at=10, for=15)'`` and checks a run's faults before anything starts."""

import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

from harness.faults import KINDS, CommandFault, Fault, repeated
from harness.faults.changed_configuration import with_changed_topologies
from harness.faults.contract import FOREVER
from harness.faults.join import absent_at_start
from harness.faults.power_loss import mark_simultaneous_losses, split_by_broker
from harness.faults.rolling_restart import earliest_s, expand_rolling_restarts
from harness.options.declarations import Options
from records.calls import before_missing_comma, parse_call
from records.errors import UserError, about
from topologies.model.impaired_links import with_all_proxied
from topologies.model.spelling import nearest
from topologies.model.topology import Topology, with_links_opened_by
from topologies.runtimes.capabilities import Capability, can
from topologies.runtimes.processes.disks import DEFAULT_MB, why_no_disks
from topologies.runtimes.proxies.link_proxies import why_no_proxies

EXAMPLE = "kill(broker-2, at=10, for=15)"
HOW = f"write KIND(BROKER or LINK, at=SECONDS, for=SECONDS), such as {EXAMPLE}"
HOW_COMMAND = (
    "a command cannot contain , ; = ( or ): put it into a script, such as command(./reboot.sh, target=broker-2, at=10)"
)
EVERY, TIMES = "every", "times"
MOST_NAMES = 8  # links that an error lists
KIND = re.compile(r"[\w-]+")


# -- the text ----------------------------------------------------------------------------------------------------------


def kinds_in_words() -> str:
    """List the kinds of faults for a help text: ``for brokers kill, …, full-store or join, for links cut, …``.

    ``command`` is not listed, as it is for brokers that the harness did not start.
    """
    ours = [fault for fault in KINDS.values() if fault is not CommandFault]
    of_brokers, of_links = ([fault.kind for fault in ours if fault.of_link == of_link] for of_link in (False, True))
    return ", ".join(
        f"for {targets} {', '.join(kinds[:-1])} or {kinds[-1]}"
        for targets, kinds in (("brokers", of_brokers), ("links", of_links))
    )


def parse_faults(text: str) -> tuple[Fault, ...]:
    """Parse a text such as ``kill(broker-2, at=10, for=15); restart(broker-1, at=40)``. Raises UserError."""
    return tuple(fault for part in text.split(";") if part.strip() for fault in _parse(part.strip()))


def _parse(text: str) -> tuple[Fault, ...]:
    """Parse one fault, which may be repeated."""
    try:
        return _parse_one(text)
    except ValueError as error:
        raise UserError(f"--fault {text!r}: {error}") from error


def _parse_one(text: str) -> tuple[Fault, ...]:
    """Parse one fault. Raises ValueError."""
    call = parse_call(text)
    kind = call.name if call else text.partition("(")[0].strip()
    if kind not in KINDS and KIND.fullmatch(kind):
        near = nearest(kind, [*KINDS])
        raise ValueError(f"no fault {kind!r}{f'{near} There' if near else '; there'} are {', '.join(KINDS)}")
    argument = call.texts[0] if call and call.texts else ""
    if call is None or not argument or {*",=()"} & {*argument}:
        raise ValueError(_why_unreadable(kind, text))
    fault, settings = KINDS[kind], {**call.settings}
    if further := call.texts[1:]:
        raise ValueError(f"{further[0]!r} is not NAME=SECONDS; {HOW}")
    fields = fault.fields_of(argument, {name: settings.pop(name) for name in fault.texts if name in settings})
    times = {name: _seconds(name, setting) for name, setting in settings.items() if name != "target"}
    if "at" not in times or settings.keys() - {"at", *fault.seconds, EVERY, TIMES}:
        times_of_kind = " and ".join(("at", *fault.seconds))
        raise ValueError(f"{kind} takes {times_of_kind} in seconds, and at is required; {HOW}")
    if (EVERY in times) != (TIMES in times) or not times.get(TIMES, 1.0).is_integer():
        rule = "a repeated fault takes every=SECONDS and times=HOW_MANY, a whole number"
        raise ValueError(f"{rule}, such as kill(consumers, at=10, for=5, every=20, times=3)")
    fields |= {field: times[name] for name, field in fault.seconds.items() if name in times}
    return repeated(fault(at_s=times["at"], **fields), times.get(EVERY, 0.0), int(times.get(TIMES, 1.0)))


def _why_unreadable(kind: str, text: str) -> str:
    if kind == CommandFault.kind:
        return HOW_COMMAND
    target = before_missing_comma(text.partition("(")[2])
    return f"cannot be read; write a comma after {target}, as in {EXAMPLE}" if target else f"cannot be read; {HOW}"


def _seconds(name: str, setting: str) -> float:
    if (name, setting) == ("for", "forever"):
        return FOREVER
    try:
        return float(setting)
    except ValueError:
        written = f"{name}={setting}" if setting else name
        raise ValueError(f"{written!r} is not NAME=SECONDS; {HOW}") from None


# -- the faults of a run -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PlannedFaults:
    """The faults of a run, aimed and checked, with the topology and the disks that they need.

    ``topology``: brokers that join open their links themselves, and all links lead through proxies if a fault needs it.
    ``disk_mb``: size of the brokers' disks; None without disks.
    """

    faults: tuple[Fault, ...]
    topology: Topology
    disk_mb: int | None


def plan_faults(own: Sequence[Fault], options: Options, load_s: float | None) -> PlannedFaults:
    """Plan the faults of a run. ``own``: the scenario's faults, which the faults of ``--fault`` replace.

    Raises UserError if a target does not exist, if the run is not allowed to break it, or if a fault does not fit into
    the load.
    """
    faults = parse_faults(options.fault) if options.fault else tuple(own)
    with about(f"--fault {options.fault!r}: " if options.fault else ""):
        faults, topology = _aim(faults, options.built_topology, options, load_s)
        if broken := [fault for fault in faults if fault.through_proxy]:
            topology = _through_proxies(topology, broken[0], options.runtime)
        faults = with_changed_topologies(faults, topology)
        return PlannedFaults(faults, topology, options.disk_mb or _needed_disk_mb(faults, options.runtime))


def _aim(
    faults: tuple[Fault, ...], topology: Topology, options: Options, load_s: float | None
) -> tuple[tuple[Fault, ...], Topology]:
    _require_possible_on(options.runtime, faults)
    faults = split_by_broker(expand_rolling_restarts(faults, topology))
    chance = random.Random(f"{options.seed}:faults")
    joining = absent_at_start(_aimed(fault, topology, chance) for fault in faults if fault.joins)
    topology = with_links_opened_by(topology, joining)  # this renames links, so link faults are aimed after it
    aimed = mark_simultaneous_losses(tuple(_aimed(fault, topology, chance) for fault in faults))
    for fault, begins_s in zip(aimed, earliest_s(aimed), strict=True):
        _require_in_load(fault, begins_s, load_s)
    for pair in combinations(aimed, 2):
        _require_apart(*sorted(pair, key=lambda fault: fault.at_s))
    for fault in aimed:
        if why := fault.why_not_in(topology, aimed):
            raise UserError(f"fault {fault.kind} of {fault.target}: {why}")
    for broker in sorted(joining):
        _require_there([fault for fault in aimed if fault.target == broker])
    _require_entries(joining, topology)
    return aimed, topology


def _through_proxies(topology: Topology, fault: Fault, runtime: str) -> Topology:
    """Route every link through a proxy, so that the links of the fault differ from the others only by the fault."""
    with about(f"fault {fault.kind} of {fault.target}: "):
        proxied = with_all_proxied(topology)
        if why := why_no_proxies(proxied, runtime):
            raise UserError(why)
    return proxied


def _needed_disk_mb(faults: Iterable[Fault], runtime: str) -> int | None:
    """Return the size of every broker's disk if any broker loses power, so that the brokers are alike."""
    losing = next((fault for fault in faults if Capability.OWNS_DISKS in fault.needs), None)
    if losing is None:
        return None
    if why := why_no_disks(runtime):
        raise UserError(f"fault {losing.kind} of {losing.target}: {why}")
    return DEFAULT_MB


def _require_possible_on(runtime: str, faults: Sequence[Fault]) -> None:
    """Reject faults that the runtime does not support.

    Only the user's own command can take down brokers that were already running. Managed brokers reject commands.
    """
    how = "use a command of your own: --fault 'command(./reboot.sh, target=BROKER, at=10, expect=60)'"
    hint = "" if can(runtime, Capability.OPERATES_BROKERS) else f"; or {how}"
    for fault in faults:
        if why := fault.why_not_on(runtime):
            raise UserError(f"fault {fault.kind} of {fault.target}: {why}{hint}")


def _aimed(fault: Fault, topology: Topology, chance: random.Random) -> Fault:
    """Aim a fault at the broker or link that it names, or at a broker of the client group that it names.

    For a group, the broker is chosen at random among its entry brokers, without standbys. There are two exceptions: the
    broker that joins is the last entry broker, as the latest addition to the network. If clients try brokers in the
    URI's order, they are all connected to the first broker, so this broker is the target.
    """
    if fault.of_link:
        return _aimed_at_link(fault, topology, chance)
    brokers = {broker.name: broker for broker in topology.brokers}
    if fault.target in brokers:
        return fault
    groups = {group.name: group for group in topology.groups}
    if fault.target in groups:
        group = groups[fault.target]
        entries = [broker for broker in group.enter_at if not broker.standby_of]
        if fault.joins:
            return fault.with_target(entries[-1].name)
        return fault.with_target((entries[0] if "randomize=false" in group.failover else chance.choice(entries)).name)
    raise UserError(
        f"fault {fault.kind} at {fault.at_s:g} s: topology {topology.name!r} has no broker {fault.target!r}"
        f"{_suggestion(fault.target, [*brokers, *groups])} has {', '.join(brokers)}, and the groups {', '.join(groups)}"
    )


def _aimed_at_link(fault: Fault, topology: Topology, chance: random.Random) -> Fault:
    """Aim a fault at the link that it names, or at a random link with an end at an entry broker of a client group."""
    names = [link.name for link in topology.links]
    if fault.target in names:
        return fault
    entries = {broker for group in topology.groups if group.name == fault.target for broker in group.enter_at}
    if at_group := [link.name for link in topology.links if {link.opened_by, link.to} & entries]:
        return fault.with_target(chance.choice(at_group))
    have = f"{', '.join(names[:MOST_NAMES])}{' …' if names[MOST_NAMES:] else ''}"
    raise UserError(
        f"fault {fault.kind} at {fault.at_s:g} s: topology {topology.name!r} has no link {fault.target!r}"
        f"{_suggestion(fault.target, names)} has {have or 'none, so choose another --topology or a broker fault'}"
    )


def _suggestion(name: str, names: list[str]) -> str:
    """Return ``; did you mean 'broker-2'? It`` or ``; it``, to be followed by the names that exist."""
    near = nearest(name, names)
    return f"{near} It" if near else "; it"


def _require_in_load(fault: Fault, begins_s: float, load_s: float | None) -> None:
    """Raise UserError if a fault does not fit into the load. ``begins_s``: its earliest beginning."""
    if load_s is None:
        return
    if not fault.least_s and begins_s >= load_s:
        pauses = "" if begins_s == fault.at_s else "after the pauses before it, "
        raise UserError(
            f"fault {fault.kind} of {fault.target}: {pauses}it begins {begins_s:g} s into the load, which ends "
            f"after {load_s:g} s; make the load longer (-t)"
        )
    ends_s = begins_s + fault.least_s
    if ends_s > load_s:
        raise UserError(
            f"fault {fault.kind} of {fault.target}: it lasts from {begins_s:g} s to {ends_s:g} s of the load, "
            f"which ends after {load_s:g} s; make the load longer (-t)"
        )


def _require_apart(earlier: Fault, later: Fault) -> None:
    if earlier.target == later.target and later.at_s <= earlier.at_s + earlier.lasts_s:
        raise UserError(
            f"fault {later.kind} of {later.target} at {later.at_s:g} s: it overlaps the fault {earlier.kind} at "
            f"{earlier.at_s:g} s; let one end before the other begins"
        )


def _require_there(faults: Sequence[Fault]) -> None:
    """Check the faults of a broker that joins: a join needs it to be absent, and any other fault needs it to be up."""
    is_there, before = False, "it is absent until it joins"
    for fault in sorted(faults, key=lambda fault: fault.at_s):
        if fault.joins == is_there:
            rule = "give the join before it for=SECONDS" if is_there else "choose a time when the broker is present"
            raise UserError(f"fault {fault.kind} of {fault.target} at {fault.at_s:g} s: {before}; {rule}")
        if fault.joins:
            is_there = not fault.has_end
            until = "stays" if is_there else f"left at {fault.at_s + fault.lasts_s:g} s"
            before = f"it joined at {fault.at_s:g} s and {until}"


def _require_entries(joining: frozenset[str], topology: Topology) -> None:
    """Raise UserError if a client group has no entry broker that is up from the start."""
    for group in topology.groups:
        entries = [broker.name for broker in group.enter_at]
        if joining.issuperset(entries):
            raise UserError(
                f"fault join of {', '.join(entries)}: the clients of group {group.name!r} have no other entry broker, "
                "so they could not connect before the join; choose a topology where the group has another entry broker"
            )
