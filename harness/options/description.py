"""Describes a run before it begins: its brokers, links, clients and options, as a `records.run.RunInfo`."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict
from inspect import get_annotations
from typing import Any

from drivers.client.connection_modes import POOLED
from drivers.client.work import Work
from drivers.protocols import Spoken
from drivers.users.broker_user import BrokerUser
from drivers.users.locust_users import ConsumerUser, ProducerUser, Stay
from harness import machine
from harness.java_parts import java_client_versions
from harness.options.declarations import Options
from harness.options.topology_rules import reachability_warnings
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
    topology: Topology,
    groups: tuple[ClientGroup, ...],
    routes: tuple[Route, ...],
) -> RunInfo:
    """Return the facts of a run that are known before it begins, except its checks.

    `harness.run.record` adds the run id and the events.
    """
    named = {group.name: group for group in groups}
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
            GroupInfo(g.name, tuple(b.name for b in g.enter_at), _failover_uris(g, scenario, options))
            for g in named.values()
        ),
        users=tuple(_user_info(user) for user in scenario.users),
        routes=routes,
        rate_steps=options.steps,
        held_p99_ms=options.search.p99_ms if options.search else None,
        client_steps=str(options.clients or ""),
        limited_on_purpose=limited_on_purpose(scenario, options),
        warnings=(
            *topology.warnings,
            *reachability_warnings(topology, scenario.users, routes),
            *options.wanted.warnings(topology, machine.memory_bytes()),
        ),
        options=options.as_record(),
        versions=machine.versions()
        | java_client_versions(Spoken.parse(options.protocol).distinct, options.client_version or ""),
        machine=machine.describe(),
        rendered=_files(options, topology),
    )


def limited_on_purpose(scenario: Scenario, options: Options) -> str:
    """Return the reason why a backlog is an expected result of the run; '' if a backlog casts doubt on the run."""
    if scenario.limited_on_purpose:
        return scenario.limited_on_purpose
    if options.steps or options.search:
        return "the rate changes, and each rate is reported as held or not"
    if options.clients:
        return "the number of clients grows, and each step is reported as held or not"
    return ""


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


def _failover_uris(group: ClientGroup, scenario: Scenario, options: Options) -> str:
    """Return the group's failover URI with broker names instead of addresses, once per protocol of the users."""
    spoken = Spoken.parse(options.protocol)
    protocols = dict.fromkeys(
        spoken.of(user.role, user.__name__) for user in scenario.users if user.group == group.name
    )
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
