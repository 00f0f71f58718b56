"""Describes a run before it begins: its brokers, links, clients and options, as a `records.run.RunInfo`."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from inspect import get_annotations
from typing import Any, NamedTuple

from drivers.client.connection_modes import POOLED
from drivers.client.work import Work
from drivers.protocols import Spoken
from drivers.users.broker_user import BrokerUser
from drivers.users.locust_users import ConsumerUser, ProducerUser, Stay
from harness import machine
from harness.faults.changed_configuration import changes_of
from harness.faults.contract import Fault
from harness.faults.rolling_restart import RestartInTurn, why_too_long
from harness.java_parts import java_client_versions
from harness.judgement import RunChecks
from harness.options.declarations import Options
from harness.options.user_classes import RunUsers
from harness.routing import reachability_warnings, undelivered_class_warnings
from harness.scenario import Scenario
from records.loads.arrivals import CLOSED
from records.loads.destination_pattern import PLACE
from records.loads.routes import Route
from records.run import RECEIVERS, BrokerInfo, GroupInfo, LinkInfo, RunInfo, UserInfo
from topologies.model.client_groups import ClientGroup
from topologies.model.impairment import Impairment
from topologies.model.link import Link
from topologies.model.proxied_links import proxied
from topologies.model.topology import Topology

Setting = str | int | float | bool
ALWAYS_RECORDED = (
    "body_bytes",
    "durable",
    "prefetch",
    "durable_subscription",
    "connections",
)
NEVER_RECORDED = ("role", "group", "destination", "resend_in_doubt")
"""The first three have their own fields in `UserInfo`."""
RENAMED = {"durable_subscription": "durable", "priority": "message_priority"}
RECORDED_AS: Mapping[str, Callable[[Any], Setting | None]] = {
    "properties": lambda user: str(user.message_settings().properties) or None,
    "selector": lambda user: " | ".join(user.selectors()),
    "stays": lambda user: None if user.stays == (Stay(),) else "; ".join(map(str, user.stays)),
    "sends_per_second": lambda user: None if user.arrivals == CLOSED else user.sends_per_second,
    "in_flight": lambda user: None if user.arrivals == CLOSED else user.in_flight,
    "work_ms": lambda user: str(user.work_ms) if Work.parse(str(user.work_ms)) else None,
    "destinations": lambda user: user.destinations if user.destinations > 1 or PLACE in user.destination else None,
    "pool_size": lambda user: user.pool_size if user.connections == POOLED else None,
}
"""By attribute of a user class: returns the value to record, or None to omit it."""


def describe(
    scenario: Scenario,
    options: Options,
    users: RunUsers,
    routes: tuple[Route, ...],
    faults: Sequence[Fault],
    *,
    unserved: Sequence[str],
    judged_by: RunChecks,
    load_s: float | None,
    after_faults_s: float | None,
    **known: Any,
) -> RunInfo:
    """Return the facts of a run that are known before it begins.

    `harness.run.record` adds the run id and the events. ``unserved``: warnings about consumers that cannot process all
    messages that are sent to them; the offered rate is then not judged. ``known``: further fields of `RunInfo`.
    """
    topology = options.built_topology
    named = {user.group: options.client_group(user.group) for user in users.every}
    changes = _after_restarts(faults, topology, users, routes)
    return RunInfo(
        run_id="",
        scenario=scenario.name,
        topology=options.topology,
        runtime=options.runtime,
        protocol=options.protocol,
        question=(scenario.question or "").strip(),
        answered_by=scenario.answered_by,
        command=command_line(options),
        seed=options.seed,
        runtime_reason=options.runtime_reason,
        brokers=tuple(BrokerInfo(b.name, b.region, b.standby_of) for b in topology.brokers),
        links=_links(topology),
        groups=tuple(
            GroupInfo(g.name, tuple(b.name for b in g.enter_at), _failover_uris(g, users, options))
            for g in named.values()
        ),
        users=tuple(_user_info(user) for user in users.every),
        routes=routes,
        rate_steps=options.steps,
        held_p99_ms=options.search.p99_ms if options.search else None,
        client_steps=str(options.clients or ""),
        limited_on_purpose=_limited_on_purpose(scenario, options, bool(unserved)),
        warnings=(
            *topology.warnings,
            *reachability_warnings(topology, users.every, routes),
            *options.wanted.warnings(topology, machine.memory_bytes()),
            *unserved,
            *judged_by.left_out,
            *filter(None, [why_too_long(faults, load_s)]),
            *changes.warnings,
        ),
        unknowns=tuple(undelivered_class_warnings(users.every, routes)),
        options=options.as_record()
        | changes.options
        | ({} if after_faults_s is None else {"load_ends_after_faults_s": after_faults_s}),
        versions=machine.versions()
        | java_client_versions(Spoken.parse(options.protocol).distinct, options.client_version or ""),
        machine=machine.describe(),
        rendered=_files(options, topology) | changes.files,
        checks=judged_by.checks,
        premises=judged_by.premises,
        **known,
    )


def _limited_on_purpose(scenario: Scenario, options: Options, is_unserved: bool) -> str:
    """Return the reason why a backlog is an expected result of the run; '' if a backlog casts doubt on the run."""
    if scenario.limited_on_purpose:
        return scenario.limited_on_purpose
    if options.steps or options.search:
        return "the rate changes, and each rate is reported as held or not"
    if options.clients:
        return "the number of clients grows, and each step is reported as held or not"
    return "the consumers cannot process all messages that are sent to them" if is_unserved else ""


class _Changes(NamedTuple):
    """What restarts with another configuration add to the facts of a run."""

    options: dict[str, str]
    files: dict[str, str]
    warnings: tuple[str, ...]


def _after_restarts(
    faults: Sequence[Fault], topology: Topology, users: RunUsers, routes: tuple[Route, ...]
) -> _Changes:
    """Return the settings that restarts change, the overlays' text, and warnings about the topology after them."""
    changes = changes_of(faults, topology)
    if not changes:
        return _Changes({}, {}, ())
    changing = [fault for fault in faults if isinstance(fault, RestartInTurn) and fault.overlay and fault.changed]
    texts = {f"overlay/{f.overlay.path.name} (restart)": f.overlay.text for f in changing if f.overlay}
    last = changing[-1].changed
    assert last is not None, "selected above"
    known = {*reachability_warnings(topology, users.every, routes), *topology.warnings}
    later = (*last.warnings, *reachability_warnings(last, users.every, routes))
    return _Changes(
        {"changed_by_restarts": "; ".join(changes)},
        texts,
        tuple(f"after the restarts: {text}" for text in later if text not in known),
    )


def _files(options: Options, topology: Topology) -> dict[str, str]:
    """Return the overlay's text and the options of each JVM that has settings. The runtime adds the rendered files."""
    overlay = {f"overlay/{options.overlay.path.name}": options.overlay.text} if options.overlay else {}
    jvms = {broker.name: broker.process.arguments for broker in topology.brokers if broker.process}
    own = {f"{name}/jvm.options": "".join(f"{line}\n" for line in lines) for name, lines in jvms.items() if lines}
    return overlay | own


def _links(topology: Topology) -> tuple[LinkInfo, ...]:
    through = proxied(topology.links)
    return tuple(
        LinkInfo(
            link.name,
            link.opened_by.name,
            link.to.name,
            link.duplex,
            _kind(link),
            tls=link.uses_tls,
            destination_rules=link.destination_rules,
            proxied=link in through,
            **asdict(link.impairment or Impairment()),
        )
        for link in topology.links
    )


def _failover_uris(group: ClientGroup, users: RunUsers, options: Options) -> str:
    """Return the group's failover URI with broker names instead of addresses, once per protocol of the users."""
    spoken = Spoken.parse(options.protocol)
    protocols = dict.fromkeys(spoken.of(user.role, user.__name__) for user in users.every if user.group == group.name)
    return " and ".join(group.failover_uri_by_name(protocol) for protocol in protocols)


def _user_info(user: type[BrokerUser]) -> UserInfo:
    """Return the settings of a user class: the public attributes that drivers declare, in order of declaration.

    Attributes with their default value are omitted, except those in `ALWAYS_RECORDED`.
    """
    settings: dict[str, Setting] = {}
    for kind in (kind for kind in (ProducerUser, ConsumerUser, BrokerUser) if issubclass(user, kind)):
        for name in get_annotations(kind):
            if name.startswith("_") or name in NEVER_RECORDED:
                continue
            if name in RECORDED_AS:
                setting = RECORDED_AS[name](user)
            else:
                is_recorded = name in ALWAYS_RECORDED or getattr(user, name) != getattr(kind, name)
                setting = getattr(user, name) if is_recorded else None
            if setting is not None:
                settings[RENAMED.get(name, name)] = setting
    return UserInfo(user.__name__, user.role, user.group, user.destination, user.fixed_count, settings)


def command_line(options: Options) -> tuple[str, ...]:
    """Return the command that repeats this run, with the runtime and the seed that were chosen for it."""
    arguments = [*sys.argv[1:]]
    for option, value in (("--runtime", options.runtime), ("--seed", str(options.seed))):
        if not any(argument.partition("=")[0] == option for argument in arguments):
            arguments += [option, value]
    return ("locust", *arguments)


def _kind(link: Link) -> str:
    """Return the link's kind, or RECEIVERS if messages cross it only toward the broker that opened it."""
    return RECEIVERS if link.directions == ((link.to.name, link.opened_by.name),) else link.kind
