"""Reads the options of a run into a frozen `Options`, including the topology, or raises `UserError` with one sentence.

`harness.options.declarations` declares the options. Texts and numbers are read first, by their declarations. Values
that depend on several options follow, then the rules about values and about conflicting options.
"""

import logging
import os
import random
from argparse import Namespace
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from drivers.client.connection_modes import CONNECTION_MODES
from drivers.protocols import PROTOCOLS, Spoken, missing
from drivers.realtime import why_refused
from drivers.users.broker_user import BrokerUser
from harness.java_parts import why_no_client
from harness.live.otlp_address import otlp_refusals
from harness.options.declarations import MOST_LETTERS, OPTIONS, REALTIME, Option, Options
from harness.options.load_options import with_load
from harness.scenario import AddClients, Scenario
from harness.user_attributes import attribute_refusals
from records.analysis_command import is_uri, why_no_master
from records.errors import UserError, about, refuse_first, without_user_info
from records.loads.arrivals import CLOSED
from records.store.run_store import StoreAddress, missing_credentials
from topologies.catalogue import lookup as catalogue
from topologies.catalogue.overlay import Overlay, apply_overlay
from topologies.catalogue.yaml_topology import is_file
from topologies.model.impaired_links import with_impairments, without_impairments
from topologies.model.launch import LOOPBACK
from topologies.model.proxied_links import proxied
from topologies.model.spelling import nearest
from topologies.model.topology import Topology
from topologies.model.trust import Trust
from topologies.runtimes.capabilities import RUNTIMES, Capability, can, why_not
from topologies.runtimes.choice import Look, choose, containers_for, look_here
from topologies.runtimes.ports import addresses_here, why_not_bindable

log = logging.getLogger("brokerbench")

LONGEST_FILE_NAME = 255
MEMORY = "memory"
OF_REAL_BROKERS = [protocol for protocol in PROTOCOLS if protocol != MEMORY]
RULES: Mapping[object, str] = {int: "a whole number", float: "a number"}
Value = str | int | float | Path | None


def read(namespace: Namespace, scenario: Scenario, load_s: float | None, look: Look = look_here) -> Options:
    """Return the options of the next run. ``load_s``: Locust's ``--run-time``. Raises UserError.

    ``look``: looks for container support; called only if containers are possible.
    """
    refuse_first(attribute_refusals(scenario.users, join=isinstance(scenario.load, AddClients)))
    values = _read_each(namespace)
    OPTIONS["load_s"].require_in_bounds(load_s)
    if values["seed"] is None:
        values["seed"] = random.SystemRandom().randrange(1 << 31)
    if values["closed"] and values["arrivals"]:
        raise UserError(
            f"--closed --arrivals {values['arrivals']}: both set when producers send; leave one of them out"
        )
    runtime = values["runtime"] or _runtime_implied(namespace)
    values |= {
        **_topology(namespace, scenario, runtime, values),
        "runtime": runtime,
        "runtime_reason": "",
        "protocol": protocols_of(scenario, values["protocol"], in_memory=runtime == "memory"),
        "arrivals": CLOSED if values["closed"] else values["arrivals"],
        "work_ms": (values["work_ms"] or "").strip() or None,
        **_places(namespace.runs),
        "trust": Trust(),
        # `with_load` reads these together
        **{"load_s": load_s, "rate": None, "class_rates": (), "steps": (), "search": None, "clients": None},
    }
    options = Options(**values)
    _require_possible(options)
    options = _on_brokers(options, namespace.ca_file, look)
    return with_load(options, scenario, *(str(text or "").strip() for text in (namespace.rate, namespace.clients)))


# -- each option by its declaration ------------------------------------------------------------------------------------


def _read_each(namespace: Namespace) -> dict[str, Any]:
    """Return the value of each option by its field in `Options`, from the command line or the web UI's form."""
    declared = {name: (option, getattr(namespace, option.dest)) for name, option in OPTIONS.items() if option.section}
    for option, value in declared.values():
        if isinstance(value, str) and option.kind in (str, Path):
            _require_readable(option, value)
    return {name: _read(option, value) for name, (option, value) in declared.items()}


def _read(option: Option, value: Any) -> Value:
    """Convert one value. The form passes its fields as text, with an empty text for an omitted option."""
    if option.kind is bool:
        return bool(value)
    if option.kind in (int, float):
        number = option.parse_number(value, option.kind, RULES[option.kind])
        return option.default if number is None else number
    if not value:
        return option.default or None
    return Path(value) if option.kind is Path else value


def _require_readable(option: Option, text: str) -> None:
    """Raise UserError for text that is not UTF-8, too long for its option, or contains control characters."""
    if any("\ud800" <= letter <= "\udfff" for letter in text):
        raise UserError(f"{option.name} {text}: contains bytes that are not UTF-8; write it in UTF-8")
    if len(text) > (most := option.most_letters or MOST_LETTERS):
        raise UserError(f"{option.name} {text[:40]}…: has {len(text):,} characters; write at most {most:,}")
    if option.kind is Path and any(len(os.fsencode(part)) > LONGEST_FILE_NAME for part in Path(text).parts):
        raise UserError(
            f"{option.name} {text}: a file name has at most {LONGEST_FILE_NAME} bytes; choose a shorter name"
        )
    if option.most_letters is None and not text.isprintable():
        raise UserError(f"{option.name} {text!r}: contains control characters; write one line without them")


# -- what follows from several options ---------------------------------------------------------------------------------


def _runtime_implied(namespace: Namespace) -> str:
    """Return the runtime implied by options that only one runtime accepts; empty without these options."""
    if namespace.protocol == "memory":
        return "memory"
    return "external" if namespace.brokers_file else ""


def _topology(namespace: Namespace, scenario: Scenario, runtime: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Build the topology with the overlay and the settings of its links. Return the fields of `Options` about it."""
    topology = values["topology"] or scenario.default_topology
    link = values["link"] or ("" if why_not(runtime, Capability.PROXIES_LINKS) else scenario.default_link) or None
    built_topology, overlay = _built(topology, namespace.overlay)
    if why := scenario.why_no_link(built_topology):
        raise UserError(f"--topology {topology}: {why}")
    said_by = "--link" if namespace.link else f"--topology {topology}: default_link of scenario {scenario.name}:"
    built_topology = _linked(built_topology, link, runtime, said_by)
    return {"topology": topology, "built_topology": built_topology, "link": link, "overlay": overlay}


def _built(text: str, overlay: str | None) -> tuple[Topology, Overlay | None]:
    """Build the topology that ``text`` names, with the overlay."""
    with about("--topology " if is_file(text) else f"--topology {text}: "):  # errors in a file already name the file
        topology = catalogue.build(text)
    return apply_overlay(topology, overlay)


def _linked(topology: Topology, link: str | None, runtime: str, said_by: str) -> Topology:
    """Return the topology with the link settings of ``link``. ``said_by``: names the source of ``link`` in errors."""
    if can(runtime, Capability.REACHES_RUNNING_BROKERS) and not link and proxied(topology.links):
        log.warning(
            "the brokers are already running, so the delays and bandwidths of links in topology %s are ignored",
            topology.name,
        )
        return without_impairments(topology)
    with about(f"{said_by} "):
        return with_impairments(topology, link)


def _on_brokers(options: Options, ca_file: str | None, look: Look) -> Options:
    """Return the options with a runtime that is possible on this machine and with the authorities to trust."""
    look_for = containers_for(options.built_topology, look)
    chosen = choose(options.runtime, options.image, look_for, options.wanted.release)
    with about("--ca-file "):
        trust = Trust.read(Path(ca_file)) if ca_file else Trust()
    options = replace(options, runtime=chosen.runtime, runtime_reason=chosen.reason, trust=trust)
    options.wanted.check(options.built_topology)
    return options


# -- protocols -------------------------------------------------------------------------------------------------------


def protocols_of(scenario: Scenario, option: str | None, *, in_memory: bool) -> str:
    """Return the protocols of a run, as `Spoken` writes them. ``option``: the value of ``--protocol``.

    ``in_memory``: the brokers are simulated in memory and support only the protocol ``memory``. Raises UserError.
    """
    if option and "=" in option:
        raise UserError(
            f"--protocol {option}: the option cannot set protocols of user classes; write protocol = … in the class"
        )
    default = option or (MEMORY if in_memory else scenario.default_protocol)
    own = [user for user in scenario.users if user.protocol]
    if not own:
        return default
    for user in own:
        _require_protocol(user, in_memory=in_memory)
    if option and len(own) == len(scenario.users):
        raise UserError(
            f"--protocol {option}: it applies to user classes that do not set a protocol, but all of "
            f"{', '.join(user.__name__ for user in own)} set one; leave the option out, or the protocol of a class"
        )
    try:
        spoken_by_default = Spoken.parse(default)
    except ValueError as error:
        raise UserError(f"--protocol {default}: {error}") from error
    return str(_spoken(scenario, spoken_by_default))


def _require_protocol(user: type[BrokerUser], *, in_memory: bool) -> None:
    subject = f"{user.__name__}: protocol = {user.protocol!r}"
    if in_memory:
        raise UserError(
            f"{subject}: brokers in memory support only {MEMORY}; leave out the class's protocol, or --runtime {MEMORY}"
        )
    if user.protocol not in OF_REAL_BROKERS:
        hint = nearest(str(user.protocol), OF_REAL_BROKERS)
        next_step = f"{hint} Write" if hint else "; write"
        raise UserError(f"{subject}: unknown protocol{next_step} one of {', '.join(OF_REAL_BROKERS)}")


def _spoken(scenario: Scenario, default: Spoken) -> Spoken:
    """Return the protocols of both roles and of each class that differs from its role.

    A role's protocol is the default if a class of this role uses it, otherwise the protocol of the first class.
    """
    by_role: dict[str, dict[str, str]] = {"producer": {}, "consumer": {}}
    for user in scenario.users:
        by_role[user.role][user.__name__] = user.protocol or default.of(user.role)
    of_role = {}
    for role, by_class in by_role.items():
        protocols = [*by_class.values()]
        of_role[role] = default.of(role) if default.of(role) in protocols else protocols[0]
    of_classes = tuple(
        (name, protocol)
        for role, by_class in by_role.items()
        for name, protocol in by_class.items()
        if protocol != of_role[role]
    )
    return Spoken(of_role["producer"], of_role["consumer"], of_classes)


# -- rules -------------------------------------------------------------------------------------------------------------


def _require_possible(options: Options) -> None:
    if options.runtime not in ("", *RUNTIMES):
        raise UserError(f"--runtime {options.runtime}: unknown runtime; write one of {', '.join(RUNTIMES)}")
    if options.connections not in (None, *CONNECTION_MODES):
        raise UserError(
            f"--connections {options.connections}: unknown connection mode; write one of {', '.join(CONNECTION_MODES)}"
        )
    _check_protocol(options.protocol)
    version = options.client_version
    if version and (why := why_no_client(version, Spoken.parse(options.protocol).distinct)):
        raise UserError(f"--client-version {version}: {why}")
    if (options.protocol == "memory") != (options.runtime == "memory"):
        raise UserError(
            f"--protocol {options.protocol} --runtime {options.runtime}: "
            "memory can only be combined with memory; leave one of them out"
        )
    _check_ports(options)
    if options.bind_host != LOOPBACK and (why := why_not(options.runtime, Capability.LISTENS)):
        raise UserError(f"--bind-host {options.bind_host}: {why}")
    _check_runs(options.runs)
    if options.spark_master and (why := why_no_master(options.spark_master)):
        raise UserError(f"--spark-master {options.spark_master}: {why}")
    refuse_first(otlp_refusals(options.otlp, os.environ))
    for option, path in options.files.items():
        _check_file(option, path, options)
    if why := why_not_bindable(options.bind_host, addresses_here()):
        raise UserError(f"--bind-host {options.bind_host}: {why}")
    if options.priority == REALTIME and (why := why_refused()):
        raise UserError(f"--priority {REALTIME}: {why}")


def _check_protocol(text: str) -> None:
    try:
        spoken = Spoken.parse(text)
    except ValueError as error:
        raise UserError(f"--protocol {text}: {error}") from error
    for protocol in spoken.distinct:
        if problem := missing(protocol):
            raise UserError(f"--protocol {text}: {problem}")


def _check_ports(options: Options) -> None:
    if options.live_port and options.live_port == options.metrics_port:
        port = options.live_port
        raise UserError(f"--live {port} --metrics-port {port}: both name the same port; use two different ports")


def _places(text: str) -> dict[str, Any]:
    """Return the folder of runs, and the store that finished runs are copied to; None without a store."""
    if not is_uri(text):
        return {"runs": Path(text), "store": None}  # `_check_runs` rejects an empty name
    with about(f"--runs {without_user_info(text)}: "):
        store = StoreAddress.parse(text)
        if missing := missing_credentials(os.environ):
            raise UserError(missing)
    return {"runs": Path(str(OPTIONS["runs"].default)), "store": store}


def _check_runs(path: Path) -> None:
    """Raise UserError if the folder of runs cannot be created, as far as this is known before the run."""
    if str(path) == ".":
        raise UserError("--runs: the current folder cannot hold the runs; write the name of a subfolder, such as runs")
    try:
        existing = next(parent for parent in (path, *path.absolute().parents) if parent.exists())
        if not existing.is_dir():
            raise UserError(f"--runs {path}: {existing} is a file; choose a folder")
    except OSError as error:
        raise UserError(f"--runs {path}: {error.strerror}; choose a folder") from error
    if not os.access(existing, os.W_OK):
        raise UserError(f"--runs {path}: {existing} is not writable; choose another folder")


def _check_file(option: str, path: Path, options: Options) -> None:
    """Raise UserError if the file cannot be written, as far as this is known before the run."""
    if options.analyse_later:
        later = f"leave {option} out and use `brokerbench report RUN {option} {path}`"
        raise UserError(f"{option} {path}: --analyse-later writes no results yet; {later}")
    if not path.parent.is_dir():
        raise UserError(f"{option} {path}: folder {path.parent} does not exist; create it first")
    if path.is_dir():
        raise UserError(f"{option} {path}: is a folder; write the name of a file")
    if not os.access(path.parent, os.W_OK):
        raise UserError(f"{option} {path}: {path.parent} is not writable; choose another folder")
    if further := [name for name, further_path in options.files.items() if name != option and further_path == path]:
        raise UserError(f"{option} {path}: {option} and {further[0]} name the same file; choose two files")
