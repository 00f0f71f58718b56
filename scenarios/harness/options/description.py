"""Describes a run before it begins: its brokers, links, clients and options, as in `records.run`."""

import sys
from dataclasses import asdict

from drivers.client.connection_modes import ONE_URI, POOLED
from drivers.client.message_settings import MessageSettings
from drivers.client.work import Work
from drivers.contract import DEFAULT_PRIORITY
from drivers.protocols import Spoken
from drivers.users.broker_user import BrokerUser
from drivers.users.locust_users import ConsumerUser, ProducerUser
from records.destination_pattern import PLACE
from records.run import RECEIVERS, BrokerInfo, GroupInfo, LinkInfo, RunInfo, UserInfo
from scenarios import machine
from scenarios.harness.options.reachability_check import reachability_warnings
from scenarios.harness.scenario import Scenario
from scenarios.java_parts import java_client_versions
from scenarios.options import Options
from topologies.model.client_groups import ClientGroup
from topologies.model.impairment import Impairment
from topologies.model.link import Link
from topologies.model.proxied_links import proxied
from topologies.model.topology import Topology


def describe(scenario: Scenario, options: Options, topology: Topology, groups: tuple[ClientGroup, ...]) -> RunInfo:
    """What is known of a run before it begins, but for its checks. The run's record adds the id and the events."""
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
        rate_steps=options.steps,
        held_p99_ms=options.search.p99_ms if options.search else None,
        client_steps=str(options.clients or ""),
        limited_on_purpose=limited_on_purpose(scenario, options),
        warnings=(
            *topology.warnings,
            *reachability_warnings(topology, scenario.users),
            *options.wanted.warnings(topology, machine.memory_bytes()),
        ),
        options=options.as_record(),
        versions=machine.versions()
        | java_client_versions(Spoken.parse(options.protocol).distinct, options.client_version or ""),
        machine=machine.describe(),
        rendered=_files(options, topology),
    )


def limited_on_purpose(scenario: Scenario, options: Options) -> str:
    """Why a backlog is the answer to the run's question, and no doubt about it; '' if it would be one."""
    if scenario.limited_on_purpose:
        return scenario.limited_on_purpose
    if options.steps or options.search:
        return "the rate changes, and each rate says whether it was held"
    if options.clients:
        return "the clients become more, and each step says whether they were held"
    working = [user for user in scenario.users if issubclass(user, ConsumerUser) and Work.parse(str(user.work_ms))]
    return f"{working[0].__name__} works {working[0].work_ms} ms for each message" if working else ""


def _files(options: Options, topology: Topology) -> dict[str, str]:
    """The overlay as it was asked for, and each JVM with settings of its own; the runtime adds the rendered files."""
    overlay = {f"overlay/{options.overlay.path.name}": options.overlay.text} if options.overlay else {}
    jvms = {broker.name: broker.java.arguments for broker in topology.brokers}
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
            proxied=link in through,
            **asdict(link.impairment or Impairment()),
        )
        for link in topology.links
    )


def _failover_uris(group: ClientGroup, scenario: Scenario, options: Options) -> str:
    """The group's failover URI for people, once a protocol that its users speak."""
    spoken = Spoken.parse(options.protocol)
    protocols = dict.fromkeys(spoken.of(user.role) for user in scenario.users if user.group == group.name)
    return " and ".join(group.failover_uri_by_name(protocol) for protocol in protocols)


def _user_info(user: type[BrokerUser]) -> UserInfo:
    settings: dict[str, str | int | float | bool] = {}
    if issubclass(user, ProducerUser):
        settings = _producer_settings(user)
    if issubclass(user, ConsumerUser):
        settings = _consumer_settings(user)
    if user.destinations > 1 or PLACE in user.destination:
        settings["destinations"] = user.destinations
    if user.may_fail:
        settings["may_fail"] = True
    settings["connections"] = user.connections
    if user.connections == POOLED:
        settings["pool_size"] = user.pool_size
    if user.joins:
        settings["joins"] = user.joins
    if user.uris == ONE_URI:
        settings["uris"] = user.uris
    return UserInfo(user.__name__, user.role, user.group, user.destination, user.fixed_count, settings)


def _producer_settings(user: type[ProducerUser]) -> dict[str, str | int | float | bool]:
    settings: dict[str, str | int | float | bool] = {
        "body_bytes": user.body_bytes,
        "durable": user.durable,
        "sends_per_second": user.sends_per_second,
        "in_flight": user.in_flight,
    }
    if user.rate_steps:
        settings["rate_steps"] = user.rate_steps
    if user.transaction_size:
        settings["transaction_size"] = user.transaction_size
    if user.awaits_replies:
        settings["awaits_replies"] = True
    return settings | _message_settings(user.message_settings())


def _consumer_settings(user: type[ConsumerUser]) -> dict[str, str | int | float | bool]:
    settings: dict[str, str | int | float | bool] = {
        "prefetch": user.prefetch,
        "selector": " | ".join(user.selectors()),
        "durable": user.durable_subscription,
    }
    if len(user.stays) > 1 or user.stays[0].until_s is not None or user.stays[0].place is not None:
        settings["stays"] = "; ".join(map(str, user.stays))
    if Work.parse(str(user.work_ms)):
        settings["work_ms"] = str(user.work_ms)
    if user.replies:
        settings["replies"] = True
    return settings


def _message_settings(messages: MessageSettings) -> dict[str, str | int | float | bool]:
    """What messages carry beyond the defaults. The analysis reads properties and time to live from here."""
    settings: dict[str, str | int | float | bool] = {}
    if messages.properties.cycles:
        settings["properties"] = str(messages.properties)
    if messages.time_to_live_s is not None:
        settings["time_to_live_s"] = messages.time_to_live_s
    if messages.priority != DEFAULT_PRIORITY:
        settings["message_priority"] = messages.priority
    return settings


def command_line(options: Options) -> tuple[str, ...]:
    """The command that makes this run again, with what was chosen for it: the runtime and the seed."""
    arguments = [*sys.argv[1:]]
    for option, value in (("--runtime", options.runtime), ("--seed", str(options.seed))):
        if not any(argument.partition("=")[0] == option for argument in arguments):
            arguments += [option, value]
    return ("locust", *arguments)


def _kind(link: Link) -> str:
    """Its own, or RECEIVERS where messages go only to the broker that opened it."""
    return RECEIVERS if link.directions == ((link.to.name, link.opened_by.name),) else link.kind
