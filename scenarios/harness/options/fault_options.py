"""Reads ``--fault 'kill(broker-2, at=10, for=15)'``, and checks the faults of a run before anything starts."""

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from scenarios.harness.faults import (
    BlackholeLink,
    CommandFault,
    CutLink,
    DisconnectClients,
    Fault,
    FreezeBroker,
    FullStore,
    JoinBroker,
    KillBroker,
    RestartBroker,
    RollingRestart,
    SlowLink,
    StopBroker,
    StopLink,
    absent_at_start,
    repeated,
)
from scenarios.harness.faults.command import EXPECT_S
from scenarios.harness.faults.probe import partners
from scenarios.harness.faults.rolling_restart import PAUSE_S, earliest_s, in_turn
from scenarios.harness.options.run_options import OptionError
from scenarios.options import Options
from topologies.management.contract import management_of
from topologies.model.impairment import SETTINGS, parse_impairment
from topologies.model.spelling import nearest
from topologies.model.topology import Topology, opened_by_joining
from topologies.model.validity import TopologyInvalid
from topologies.runtimes.capabilities import Capability, why_not

EXAMPLE = "kill(broker-2, at=10, for=15)"
HOW = f"write KIND(BROKER or LINK, at=SECONDS, for=SECONDS), such as {EXAMPLE}"
HOW_COMMAND = (
    "a command cannot hold , ; = ( or ): put it into a script, such as command(./reboot.sh, target=broker-2, at=10)"
)
AGAIN = ("every", "times")
MOST_NAMES = 8  # of links in one sentence
CALL = re.compile(r"\s*([\w-]+)\s*\(\s*([^(),=]+?)\s*((?:,[^(),]*)*)\)\s*")


Times = Mapping[str, float]


@dataclass(frozen=True)
class FaultKind:
    """``make``: of the target and its times. ``takes``: the times that it may be given beside ``at``."""

    make: Callable[[str, Times], Fault]
    takes: tuple[str, ...] = ("for",)


def _lasting(make: Callable[[str, float, float | None], Fault]) -> FaultKind:
    return FaultKind(lambda target, times: make(target, times["at"], times.get("for")))


KINDS: Mapping[str, FaultKind] = {
    "kill": _lasting(KillBroker),
    "stop": _lasting(StopBroker),
    "restart": FaultKind(lambda target, times: RestartBroker(target, times["at"]), takes=()),
    "freeze": _lasting(FreezeBroker),
    "rolling-restart": FaultKind(
        lambda target, times: RollingRestart(target, times["at"], times.get("pause", PAUSE_S)), takes=("pause",)
    ),
    "disconnect": FaultKind(lambda target, times: DisconnectClients(target, times["at"]), takes=()),
    "full-store": _lasting(FullStore),
    "join": _lasting(JoinBroker),
    "cut": _lasting(CutLink),
    "blackhole": _lasting(BlackholeLink),
    "stop-link": _lasting(StopLink),
}
COMMAND, SLOW = "command", "slow"
KNOWN = (*KINDS, SLOW, COMMAND)
KIND = re.compile(r"[\w-]+")


def parse_faults(text: str) -> tuple[Fault, ...]:
    """The faults of a text such as ``kill(broker-2, at=10, for=15); restart(broker-1, at=40)``. Raises OptionError."""
    return tuple(fault for each in text.split(";") if each.strip() for fault in _parse(each))


def _parse(text: str) -> tuple[Fault, ...]:
    """One fault, or as many as it is repeated."""
    found = CALL.fullmatch(text)
    name = found[1] if found else text.partition("(")[0].strip()
    if name not in KNOWN and (found or KIND.fullmatch(name)):
        near = nearest(name, [*KNOWN])
        there_are = f"{near} There are" if near else "; there are"
        raise OptionError(f"--fault {text.strip()!r}: no fault {name!r}{there_are} {', '.join(KNOWN)}")
    if not found:
        raise OptionError(f"--fault {text.strip()!r}: {_why_unreadable(name, text.strip())}")
    target, rest = found[2], found[3]
    settings = _settings(text.strip(), rest)
    if name == COMMAND:
        kind = _of_command(text.strip(), target, settings)
    else:
        kind = _slow(text.strip(), settings) if name == SLOW else KINDS[name]
    times = {name: _seconds(text.strip(), name, value) for name, value in settings.items() if name != "target"}
    wrong = (settings.keys() if name != COMMAND else times.keys()) - {"at", *kind.takes, *AGAIN}
    if wrong or "at" not in times:
        rule = f"{name} takes {' and '.join(('at', *kind.takes))} in seconds, and at is required"
        raise OptionError(f"--fault {text.strip()!r}: {rule}; {HOW}")
    if ("every" in times) != ("times" in times) or not times.get("times", 1.0).is_integer():
        rule = "a repeated fault takes every=SECONDS and times=HOW_MANY, a whole number"
        raise OptionError(f"--fault {text.strip()!r}: {rule}, such as kill(consumers, at=10, for=5, every=20, times=3)")
    try:
        fault = kind.make(target, times)
        return repeated(fault, times.get("every", 0.0), int(times.get("times", 1.0)))
    except ValueError as error:
        raise OptionError(f"--fault {text.strip()!r}: {error}") from error


def _why_unreadable(name: str, text: str) -> str:
    if name == COMMAND:
        return HOW_COMMAND
    target = re.match(r"[^(]*\(\s*([^\s,()=]+)\s+\w+\s*=", text)
    comma = f"write a comma behind {target[1]}" if target else ""
    return f"cannot be read; {comma or HOW}{f', as in {EXAMPLE}' if comma else ''}"


def _settings(text: str, rest: str) -> dict[str, str]:
    """``, at=10, for=15`` as texts by name."""
    settings: dict[str, str] = {}
    for part in rest.split(",")[1:]:
        name, _, value = (each.strip() for each in part.partition("="))
        if name in settings:
            raise OptionError(f"--fault {text!r}: {name} is given twice; keep one")
        settings[name] = value
    return settings


def _seconds(text: str, name: str, value: str) -> float:
    try:
        return float(value)
    except ValueError:
        told = f"{name}={value}" if value else name
        raise OptionError(f"--fault {text!r}: {told!r} is no NAME=SECONDS; {HOW}") from None


def _of_command(text: str, command: str, settings: Mapping[str, str]) -> FaultKind:
    """``command(./reboot.sh, target=broker-2, at=10, expect=60)``: the command stands where others have the target."""
    target = settings.get("target")
    if not target:
        raise OptionError(f"--fault {text!r}: which broker does it take down? Add target=BROKER")

    def make(_command: str, times: Times) -> Fault:
        return CommandFault(target, times["at"], None, command, times.get("expect", EXPECT_S))

    return FaultKind(make, takes=("expect",))


def _slow(text: str, settings: dict[str, str]) -> FaultKind:
    """``slow(broker-1-to-broker-2, at=10, for=5, delay=40ms)``: takes what a link can be given out of the settings."""
    given = [f"{name}={settings.pop(name)}" for name in SETTINGS if name in settings]
    try:
        impairment = parse_impairment(",".join(given))
    except TopologyInvalid as error:
        raise OptionError(f"--fault {text!r}: {error}") from error
    return FaultKind(lambda target, times: SlowLink(target, times["at"], times.get("for"), impairment))


def planned_faults(
    own: Sequence[Fault], options: Options, topology: Topology, load_s: float | None
) -> tuple[tuple[Fault, ...], Topology]:
    """The faults of a run, each aimed at a broker or link that is there and ours to break, at a time that comes.

    Also the topology with its links as they are opened: brokers that join open theirs. ``own``: the scenario's faults.
    Those of the options take their place. Raises OptionError.
    """
    if not options.fault:
        return _planned(tuple(own), options, topology, load_s)
    asked = parse_faults(options.fault)
    try:
        return _planned(asked, options, topology, load_s)
    except OptionError as error:
        raise OptionError(f"--fault {options.fault!r}: {error}") from error


def _planned(
    asked: tuple[Fault, ...], options: Options, topology: Topology, load_s: float | None
) -> tuple[tuple[Fault, ...], Topology]:
    _require_ours(asked, options.runtime)
    asked = in_turn(asked, topology)
    chance = random.Random(f"{options.seed}:faults")
    joining = absent_at_start(_aimed(fault, topology, chance) for fault in asked if fault.joins)
    topology = opened_by_joining(topology, joining)  # its links have other names then: only now aim at links
    aimed = tuple(_aimed(fault, topology, chance) for fault in asked)
    for fault, begins_s in zip(aimed, earliest_s(aimed), strict=True):
        _require_in_load(fault, begins_s, load_s)
    for one, other in combinations(aimed, 2):
        _require_apart(one, other)
    _require_joins(aimed, options, topology)
    _require_management(aimed, options, topology)
    return aimed, topology


def _aimed(fault: Fault, topology: Topology, chance: random.Random) -> Fault:
    """At the broker or link of that name; for a client group at any broker where it enters, but no standby.

    A broker that joins is the last one, as the one that was added last. Clients that try the brokers of their URI in
    order are all at the first one, so that is theirs.
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
            return fault.aimed_at(entries[-1].name)
        return fault.aimed_at((entries[0] if "randomize=false" in group.failover else chance.choice(entries)).name)
    known = [*brokers, *groups]
    raise OptionError(
        f"fault {fault.kind} at {fault.at_s:g} s: topology {topology.name!r} has no broker {fault.target!r}"
        f"{_instead(fault.target, known)} has {', '.join(brokers)}, and the groups {', '.join(groups)}"
    )


def _aimed_at_link(fault: Fault, topology: Topology, chance: random.Random) -> Fault:
    """At the link of that name; for a client group at any link with an end where the group enters."""
    names = [link.name for link in topology.links]
    if fault.target in names:
        return fault
    entries = {broker for group in topology.groups if group.name == fault.target for broker in group.enter_at}
    if at_group := [link.name for link in topology.links if {link.opened_by, link.to} & entries]:
        return fault.aimed_at(chance.choice(at_group))
    have = f"{', '.join(names[:MOST_NAMES])}{' …' if names[MOST_NAMES:] else ''}"
    raise OptionError(
        f"fault {fault.kind} at {fault.at_s:g} s: topology {topology.name!r} has no link {fault.target!r}"
        f"{_instead(fault.target, names)} has {have or 'none, so choose another --topology or a fault of a broker'}"
    )


def _instead(name: str, known: list[str]) -> str:
    """``; did you mean 'broker-2'? It``, or ``; it``: to be followed by what there is."""
    near = nearest(name, known)
    return f"{near} It" if near else "; it"


def _require_ours(faults: Sequence[Fault], runtime: str) -> None:
    """Brokers that run already are taken down by the user's own command only, and brokers of ours by no command."""
    for fault in faults:
        by_command = isinstance(fault, CommandFault)
        why = why_not(runtime, Capability.OPERATES_BROKERS)
        if why and not by_command:
            how = "a command of yours may: --fault 'command(./reboot.sh, target=BROKER, at=10, expect=60)'"
            raise OptionError(f"fault {fault.kind} of {fault.target}: {why}; or {how}")
        if by_command and not why:
            rule = "a command is for brokers that run already (--runtime external)"
            raise OptionError(f"fault {fault.kind} of {fault.target}: {rule}; write kill, stop, restart or freeze")


def _require_in_load(fault: Fault, begins_s: float, load_s: float | None) -> None:
    """``begins_s``: at the earliest."""
    if load_s is None:
        return
    if not fault.for_s and begins_s >= load_s:
        pauses = "" if begins_s == fault.at_s else "after the pauses before it, "
        raise OptionError(
            f"fault {fault.kind} of {fault.target}: {pauses}it begins {begins_s:g} s into the load, which is over "
            f"after {load_s:g} s; make the load longer (-t)"
        )
    ends_s = begins_s + (fault.for_s or 0.0)
    if ends_s > load_s:
        raise OptionError(
            f"fault {fault.kind} of {fault.target}: it lasts from {begins_s:g} s to {ends_s:g} s of the load, "
            f"which is over after {load_s:g} s; make the load longer (-t)"
        )


def _require_apart(one: Fault, other: Fault) -> None:
    first, second = sorted((one, other), key=lambda fault: fault.at_s)
    if first.target == second.target and second.at_s <= first.at_s + first.lasts_s:
        raise OptionError(
            f"fault {second.kind} of {second.target} at {second.at_s:g} s: it has another fault then, "
            f"{first.kind} at {first.at_s:g} s; let one end before the other begins"
        )


def _require_management(faults: Sequence[Fault], options: Options, topology: Topology) -> None:
    """What a broker is asked to do, it can do."""
    links = {link.name: link for link in topology.links}
    for fault in faults:
        told = f"fault {fault.kind} of {fault.target}"
        if fault.by_management and (why := why_not(options.runtime, Capability.MANAGES_BROKERS)):
            raise OptionError(f"{told}: {why}")
        if isinstance(fault, DisconnectClients):
            _require_clients(fault.target, told, topology)
        if isinstance(fault, FullStore):
            _require_store_limit(fault.target, told, topology)
            _require_active(fault, faults, told, topology)
        if isinstance(fault, StopLink) and links[fault.target].cluster_name:
            raise OptionError(
                f"{told}: it is one of the links of cluster {links[fault.target].cluster_name!r}, and a broker can "
                "only stop all of its links there together; use cut"
            )


def _require_clients(broker: str, told: str, topology: Topology) -> None:
    entries = list(dict.fromkeys(each.name for group in topology.groups for each in group.enter_at))
    if broker not in entries:
        raise OptionError(f"{told}: no client enters there; clients enter at {', '.join(entries)}")


def _require_store_limit(broker: str, told: str, topology: Topology) -> None:
    if management_of(topology).store_limit is None:
        raise OptionError(
            f"{told}: brokers of product {topology.product.name} take no other store limit while they run; use "
            "freeze, which holds producers back too, or a topology of another product"
        )
    if topology.broker(broker).store is None:
        raise OptionError(
            f"{told}: it keeps messages in memory only (persistence: null), so it has no store that could be full; "
            "leave persistence out"
        )


def _require_active(fault: Fault, faults: Sequence[Fault], told: str, topology: Topology) -> None:
    """A standby stores nothing until another fault has taken its active down."""
    active = topology.broker(fault.target).standby_of
    if active and not any(one.takes_down and one.target == active and one.at_s < fault.at_s for one in faults):
        raise OptionError(f"{told}: it stands by, so it stores nothing; choose {active}, or kill that one before")


def _require_joins(faults: Sequence[Fault], options: Options, topology: Topology) -> None:
    """Brokers that join can be absent, and each fault of one finds it as the fault needs it."""
    joining = absent_at_start(faults)
    if joining and (why := why_not(options.runtime, Capability.LINKS_BROKERS)):
        raise OptionError(f"fault join of {min(joining)}: {why}")
    for broker in sorted(joining):
        _require_alone(broker, topology)
        _require_in_turn([fault for fault in faults if fault.target == broker])
    for group in topology.groups:
        entries = [broker.name for broker in group.enter_at]
        if joining.issuperset(entries):
            raise OptionError(
                f"fault join of {', '.join(entries)}: the clients of group {group.name!r} enter nowhere else, so they "
                "could not connect before it; choose a topology where they enter at a further broker"
            )


def _require_alone(broker: str, topology: Topology) -> None:
    if others := partners(topology, broker):
        raise OptionError(
            f"fault join of {broker}: it is one of a pair with {', '.join(others)}, and which of them serves is "
            "decided when they start; choose a broker without a standby"
        )
    for link in topology.links:
        if broker in (link.opened_by.name, link.to.name) and not link.starts_by_itself:
            raise OptionError(
                f"fault join of {broker}: its link {link.name} does not start by itself (auto_start=False), so nobody "
                "would start it then; leave auto_start out"
            )


def _require_in_turn(faults: Sequence[Fault]) -> None:
    """Of one broker that joins: a join needs it absent, any other fault needs it there."""
    there, before = False, "it is absent until it joins"
    for fault in sorted(faults, key=lambda fault: fault.at_s):
        if fault.joins == there:
            rule = "give the join before it for=SECONDS" if there else "choose a time when it is there"
            raise OptionError(f"fault {fault.kind} of {fault.target} at {fault.at_s:g} s: {before}; {rule}")
        if fault.joins:
            there = not fault.has_end
            left = f"left at {fault.at_s + fault.lasts_s:g} s"
            before = f"it joined at {fault.at_s:g} s and {'stays' if there else left}"
