"""Turns what was asked of a run into one frozen value, its topology built, or raises `OptionError` with one sentence.

`arguments` says what can be asked.
"""

import logging
import math
import os
import random
from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, TypeVar

from drivers.client.connection_modes import CONNECTION_MODES
from drivers.protocols import Spoken, missing
from drivers.realtime import why_refused
from records.analysis_command import why_no_master
from records.client_steps import ClientSteps
from records.rate_search import BadSearchError, SearchSettings
from records.rate_steps import BadStepsError, RateStep, ends_s, text_of
from scenarios.harness.options.clients_option import clients_of
from scenarios.harness.options.limits import NUMBERS
from scenarios.harness.options.rate_option import search_of, stated_warm_up_s, steps_of
from scenarios.harness.scenario import SEARCH_AT_MOST_S, Scenario, Search
from scenarios.java_parts import why_no_client
from topologies.catalogue import lookup as catalogue
from topologies.catalogue.overlay import Overlay, overlaid
from topologies.catalogue.yaml_topology import is_file
from topologies.model.impaired_links import as_they_come, impaired
from topologies.model.launch import LOOPBACK
from topologies.model.proxied_links import proxied
from topologies.model.spelling import shortened
from topologies.model.topology import Topology
from topologies.model.trust import Trust, TrustInvalid
from topologies.model.validity import TopologyInvalid
from topologies.runtimes.capabilities import RUNTIMES
from topologies.runtimes.choice import (
    Look,
    RuntimeImpossible,
    Wanted,
    WishesConflict,
    choose,
    containers_for,
    look_here,
)
from topologies.runtimes.java import JvmRefuses
from topologies.runtimes.own import START_TIMEOUT_S
from topologies.runtimes.ports import addresses_here, no_address_to_bind
from topologies.runtimes.release import ReleaseImpossible

log = logging.getLogger("brokerbench")

Value = TypeVar("Value", int, float)
DRAIN_S = 60.0
BROKER_MEMORY_MB = 512
WITHOUT_PROXIES = ("memory", "external")
"""Runtimes whose links are left as they are unless ``--link`` is given."""
MOST_DIGITS = 100
RATES = "a number, steps such as 100,200,400@20s, or search"
PRIORITIES = NORMAL, REALTIME = "normal", "realtime"
INTEGERS = (
    *("messages", "producers", "consumers", "destinations", "body_bytes", "in_flight", "pool_size"),
    *("transaction_size", "message_priority", "prefetch", "base_port", "block", "order"),
)
TEXTS = (
    *("image", "connections", "uris", "failover", "client_version", "broker_version", "properties", "selector"),
    *("fault", "check", "session", "spark_master"),
)
PATHS = ("brokers_file", "distribution", "junit", "markdown")
READ_AS_TEXT = (
    *TEXTS,
    *PATHS,
    *("topology", "link", "overlay", "runtime", "protocol", "rate", "clients", "work_ms", "runs", "bind_host"),
    *("ca_file", "priority"),
)
FILES, LONGEST_FILE_NAME = (*PATHS, "runs", "ca_file", "overlay"), 255
MOST_LETTERS = 4_000
MOST_LETTERS_OF = {"properties": 100_000, "selector": 20_000}
"""Those whose text may have several lines."""
FLAGS = ("keep_data", "analyse_later", "control", "unset_defaults")
"""Options that are fields of `Options` by the same name."""


class OptionError(ValueError):
    """An option has a value that no run can be made of: names the option, the value, the rule and the next step."""

    def __init__(self, told: str) -> None:
        super().__init__(shortened(told))


@dataclass(frozen=True)
class Options:
    """Everything that a user chose for one run; None where the scenario's own value holds.

    ``topology``: as it was asked for, such as ``mesh(brokers=5)``; ``built_topology``: what that is, its links as
    ``link`` says. It is built once a run, here.
    """

    topology: str
    built_topology: Topology
    runtime: str
    runtime_reason: str
    image: str | None
    protocol: str
    load_s: float | None
    messages: int | None
    warm_up_s: float | None  # None: until latency has settled (`scenarios.harness.run.warm_up`)
    rate: float | None
    producers: int | None
    consumers: int | None
    destinations: int | None
    body_bytes: int | None
    in_flight: int | None
    connections: str | None
    pool_size: int | None
    transaction_size: int | None
    prefetch: int | None
    work_ms: str | None  # as `drivers.client.work` reads it
    failover: str | None
    drain_s: float
    seed: int
    runs: Path
    broker_memory_mb: int
    base_port: int | None
    bind_host: str
    keep_data: bool
    spark_master: str | None
    brokers_file: Path | None = None
    link: str | None = None
    fault: str | None = None
    check: str | None = None
    analyse_later: bool = False
    session: str | None = None  # the comparison that this run is made for, and the run's place in it
    block: int | None = None
    order: int | None = None
    control: bool = False
    junit: Path | None = None
    markdown: Path | None = None
    trust: Trust = field(default_factory=Trust)
    broker_version: str | None = None
    distribution: Path | None = None
    steps: tuple[RateStep, ...] = ()  # of a load whose rate changes, of all producers together
    priority: str = NORMAL  # of the threads that send and receive
    search: SearchSettings | None = None  # for the highest rate that is held
    overlay: Overlay | None = None
    unset_defaults: bool = False
    client_version: str | None = None  # of the Java clients
    time_to_live_s: float | None = None
    message_priority: int | None = None
    properties: str | None = None  # JSON
    selector: str | None = None
    uris: str | None = None  # how many brokers each client is told of
    clients: ClientSteps | None = None  # of a load whose clients become more
    start_timeout_s: float = START_TIMEOUT_S

    def as_record(self) -> dict[str, str | int | float | bool | None]:
        """For run.json."""
        others = ("built_topology", "runtime_reason", "trust", "steps", "search", "overlay", "unset_defaults")
        names = (field.name for field in fields(self) if field.name not in others)
        values = {name: getattr(self, name) for name in names} | {"ca_file": self.trust.file or None}
        # None where they were not given: as in runs of before there were such options
        values |= {
            "overlay": self.overlay and self.overlay.path,
            "overlay_digest": self.overlay and self.overlay.digest,
        }
        values |= {"unset_defaults": self.unset_defaults or None}
        values |= {"clients": str(self.clients) if self.clients else None}
        values["rate"] = (str(self.search) if self.search else text_of(self.steps)) or self.rate
        return {name: str(value) if isinstance(value, Path) else value for name, value in values.items()}

    @property
    def files(self) -> dict[str, Path]:
        """The files to write beside the report, by the options that name them."""
        return {option: path for option, path in (("--junit", self.junit), ("--markdown", self.markdown)) if path}

    @property
    def wanted(self) -> Wanted:
        """The options that concern the brokers."""
        return Wanted(
            self.runtime,
            self.image,
            self.broker_memory_mb,
            self.base_port,
            self.bind_host,
            self.keep_data,
            self.brokers_file,
            self.trust,
            self.broker_version,
            self.distribution,
            self.overlay.path if self.overlay else None,
            self.unset_defaults,
            self.start_timeout_s,
        )


def read(
    namespace: Namespace,
    scenario: Scenario,
    load_s: float | None,
    look: Look = look_here,
) -> Options:
    """The options of the next run. ``load_s`` is Locust's ``--run-time``. Raises OptionError.

    ``look``: the means for containers; asked only if containers are possible.
    """
    _require_readable(namespace)
    given = _as_given(namespace)
    seed, messages = _integer(namespace, "seed"), given["messages"]
    warm_up_s = _number(namespace, "warm_up")
    drain_s = _number(namespace, "drain_timeout")
    start_timeout_s = _number(namespace, "start_timeout")
    broker_memory_mb = _integer(namespace, "broker_memory")
    runtime = namespace.runtime or _runtime_implied(namespace)
    topology = namespace.topology or scenario.default_topology
    steps, search = _changing_rate(namespace, scenario, load_s, messages)
    clients = _clients(namespace, scenario, load_s, messages, changing=bool(steps or search))
    link = namespace.link or ("" if runtime in WITHOUT_PROXIES else scenario.default_link) or None
    built_topology, overlay = _built(topology, namespace.overlay)
    _require_link(scenario, topology, built_topology)
    said_by = "--link" if namespace.link else f"--topology {topology}: default_link of scenario {scenario.name}:"
    built_topology = _linked(built_topology, link, runtime, said_by)
    default_warm_up_s = stated_warm_up_s(scenario, steps, messages)
    options = Options(
        **given,
        topology=topology,
        built_topology=built_topology,
        runtime=runtime,
        runtime_reason="",
        protocol=namespace.protocol or ("memory" if runtime == "memory" else scenario.default_protocol),
        load_s=_load_s(load_s, scenario, steps, search, clients),
        warm_up_s=default_warm_up_s if warm_up_s is None else warm_up_s,
        rate=None if steps or search else _number(namespace, "rate", RATES),
        time_to_live_s=_number(namespace, "ttl"),
        work_ms=str(namespace.work_ms or "").strip() or None,
        drain_s=DRAIN_S if drain_s is None else drain_s,
        seed=random.SystemRandom().randrange(1 << 31) if seed is None else seed,
        runs=Path(namespace.runs),
        broker_memory_mb=BROKER_MEMORY_MB if broker_memory_mb is None else broker_memory_mb,
        bind_host=namespace.bind_host or LOOPBACK,
        link=link,
        steps=steps,
        priority=namespace.priority or NORMAL,
        search=search,
        overlay=overlay,
        clients=clients,
        start_timeout_s=START_TIMEOUT_S if start_timeout_s is None else start_timeout_s,
    )
    _check(options)
    if options.priority == REALTIME and (refused := why_refused()):
        raise OptionError(f"--priority {REALTIME}: {refused}")
    return _on_brokers(options, namespace.ca_file, look)


def _changing_rate(
    namespace: Namespace, scenario: Scenario, load_s: float | None, messages: int | None
) -> tuple[tuple[RateStep, ...], SearchSettings | None]:
    """The steps or the search that ``--rate`` asks for, if any. Raises OptionError."""
    rate = str(namespace.rate or "").strip()
    try:
        return steps_of(rate, scenario, load_s, messages), search_of(rate, scenario, messages)
    except (BadStepsError, BadSearchError) as error:
        raise OptionError(f"--rate {error}") from error


def _clients(
    namespace: Namespace, scenario: Scenario, load_s: float | None, messages: int | None, *, changing: bool
) -> ClientSteps | None:
    """The steps that ``--clients`` or the scenario asks for, if any. Raises OptionError.

    ``changing``: the rate of the load changes.
    """
    given = {
        "--run-time": load_s,
        "--messages": messages,
        "--producers": _integer(namespace, "producers"),
        "--consumers": _integer(namespace, "consumers"),
        "--rate": namespace.rate if changing else None,
    }
    try:
        return clients_of(str(namespace.clients or "").strip(), scenario, given)
    except ValueError as error:
        raise OptionError(f"--clients {error}") from error


def _load_s(
    load_s: float | None,
    scenario: Scenario,
    steps: Sequence[RateStep],
    search: SearchSettings | None,
    clients: ClientSteps | None,
) -> float | None:
    """How long the load lasts; None: as long as the scenario has it."""
    if clients:
        return float(clients.for_s)
    if steps:
        return float(ends_s(steps)[-1])
    if load_s is None and search:
        return scenario.load.for_s if isinstance(scenario.load, Search) else SEARCH_AT_MOST_S
    return load_s


def _require_readable(namespace: Namespace) -> None:
    """Raise OptionError for text that is no UTF-8, or that no file name, selector or list of values has."""
    for name in READ_AS_TEXT:
        text = getattr(namespace, name, None)
        if not isinstance(text, str):
            continue
        option = f"--{name.replace('_', '-')}"
        if any("\ud800" <= letter <= "\udfff" for letter in text):
            raise OptionError(f"{option} {text}: holds bytes that are no UTF-8; write it in UTF-8")
        if len(text) > (most := MOST_LETTERS_OF.get(name, MOST_LETTERS)):
            raise OptionError(f"{option} {text[:40]}…: has {len(text):,} characters; write at most {most:,}")
        if name in FILES and any(len(os.fsencode(part)) > LONGEST_FILE_NAME for part in Path(text).parts):
            raise OptionError(
                f"{option} {text}: the name of a file has at most {LONGEST_FILE_NAME} bytes; name another"
            )
        if name not in MOST_LETTERS_OF and not text.isprintable():
            raise OptionError(f"{option} {text!r}: holds control characters; write it in one line, without them")


def _as_given(namespace: Namespace) -> dict[str, Any]:
    """The options that are fields of the same name. Raises OptionError."""
    return (
        {name: _integer(namespace, name) for name in INTEGERS}
        | {name: getattr(namespace, name) or None for name in TEXTS}
        | {name: Path(given) if (given := getattr(namespace, name)) else None for name in PATHS}
        | {name: bool(getattr(namespace, name)) for name in FLAGS}
    )


def _on_brokers(options: Options, ca_file: str | None, look: Look) -> Options:
    """With the runtime that is possible here, and the authorities to trust. Raises OptionError."""
    try:
        look_for = containers_for(options.built_topology, look)
        chosen = choose(options.runtime, options.image, look_for, options.wanted.release)
        trust = Trust.read(Path(ca_file)) if ca_file else Trust()
        options = replace(options, runtime=chosen.runtime, runtime_reason=chosen.reason, trust=trust)
        options.wanted.check(options.built_topology)
    except TrustInvalid as error:
        raise OptionError(f"--ca-file {error}") from error
    except (RuntimeImpossible, WishesConflict, ReleaseImpossible, JvmRefuses) as error:
        raise OptionError(str(error)) from error
    return options


def _built(text: str, overlay: str | None) -> tuple[Topology, Overlay | None]:
    """The topology that ``text`` names, with the overlay. Raises OptionError."""
    try:
        topology = catalogue.build(text)
    except TopologyInvalid as error:
        of_what = "" if is_file(text) else f"{text}: "  # a file is named in each problem
        raise OptionError(f"--topology {of_what}{error}") from error
    try:
        return overlaid(topology, overlay)
    except TopologyInvalid as error:
        raise OptionError(str(error)) from error


def _require_link(scenario: Scenario, text: str, topology: Topology) -> None:
    """The topology has the link that the scenario asks about. ``text`` names it. Raises OptionError."""
    needed = scenario.link
    if needed and not any(needed.is_one(topology, link) for link in topology.links):
        raise OptionError(
            f"--topology {text}: it has no {needed.what}, and scenario {scenario.name} asks about one; "
            f"{scenario.another_topology('that has it')}"
        )


def _linked(topology: Topology, link: str | None, runtime: str, said_by: str) -> Topology:
    """The topology with its links as ``link`` says. ``said_by`` names in an error who says so. Raises OptionError."""
    if runtime == "external" and not link and proxied(topology.links):
        log.warning("the brokers run already, so their links are left as they are, whatever %s says", topology.name)
        return as_they_come(topology)
    try:
        return impaired(topology, link)
    except TopologyInvalid as error:
        raise OptionError(f"{said_by} {error}") from error


def _runtime_implied(namespace: Namespace) -> str:
    """The runtime implied by options that only one runtime takes; '' without such an option."""
    if namespace.protocol == "memory":
        return "memory"
    return "external" if namespace.brokers_file else ""


def _number(namespace: Namespace, name: str, rule: str = "a number") -> float | None:
    number = _parsed(namespace, name, float, rule)
    if number is not None and not math.isfinite(number):
        raise OptionError(f"--{name.replace('_', '-')} {number}: must be a finite number")
    return number


def _integer(namespace: Namespace, name: str) -> int | None:
    return _parsed(namespace, name, int, "a whole number")


def _parsed(namespace: Namespace, name: str, parse: Callable[[Any], Value], rule: str) -> Value | None:
    """The web UI's form hands its fields over as text, an empty one for what is left out."""
    value = getattr(namespace, name)
    if value in (None, "", "None"):
        return None
    if isinstance(value, str) and len(value) > MOST_DIGITS:
        raise OptionError(f"--{name.replace('_', '-')} {value}: has more than {MOST_DIGITS} characters; write {rule}")
    try:
        return parse(value)
    except (ValueError, OverflowError) as error:
        raise OptionError(f"--{name.replace('_', '-')} {value}: must be {rule}") from error


_BOUNDED = {
    "--run-time": "load_s",
    "--messages": "messages",
    "--warm-up": "warm_up_s",
    "--rate": "rate",
    "--producers": "producers",
    "--consumers": "consumers",
    "--destinations": "destinations",
    "--body-bytes": "body_bytes",
    "--in-flight": "in_flight",
    "--pool-size": "pool_size",
    "--transaction-size": "transaction_size",
    "--prefetch": "prefetch",
    "--ttl": "time_to_live_s",
    "--message-priority": "message_priority",
    "--drain-timeout": "drain_s",
    "--start-timeout": "start_timeout_s",
    "--broker-memory": "broker_memory_mb",
    "--seed": "seed",
    "--block": "block",
    "--order": "order",
}
"""Options by name to the field that holds their numbers."""


def _check(options: Options) -> None:
    if options.runtime not in ("", *RUNTIMES):
        raise OptionError(f"--runtime {options.runtime}: not known; write one of {', '.join(RUNTIMES)}")
    if options.connections not in (None, *CONNECTION_MODES):
        raise OptionError(f"--connections {options.connections}: not known; write one of {', '.join(CONNECTION_MODES)}")
    _check_protocol(options.protocol)
    version = options.client_version
    if version and (why := why_no_client(version, Spoken.parse(options.protocol).distinct)):
        raise OptionError(f"--client-version {version}: {why}")
    if (options.protocol == "memory") != (options.runtime == "memory"):
        raise OptionError(
            f"--protocol {options.protocol} --runtime {options.runtime}: "
            "memory goes with memory only; leave one of them out"
        )
    _check_numbers(options)
    if options.base_port is not None and not 1024 <= options.base_port <= 65000:
        raise OptionError(f"--base-port {options.base_port}: must lie between 1024 and 65000")
    if options.bind_host != LOOPBACK and options.runtime == "memory":
        raise OptionError(f"--bind-host {options.bind_host}: brokers in memory listen nowhere; leave it out")
    _check_runs(options.runs)
    if options.spark_master and (why := why_no_master(options.spark_master)):
        raise OptionError(f"--spark-master {options.spark_master}: {why}")
    _check_file("--junit", options.junit, options)
    _check_file("--markdown", options.markdown, options)
    if why := no_address_to_bind(options.bind_host, addresses_here()):
        raise OptionError(f"--bind-host {options.bind_host}: {why}")


def _check_numbers(options: Options) -> None:
    for option, name in _BOUNDED.items():
        value = getattr(options, name)
        if value is not None and (problem := NUMBERS[name].problem(value)):
            shown = value if isinstance(value, int) else f"{value:g}"
            raise OptionError(f"{option} {shown}: {problem}; leave it out for the scenario's own value")


def _check_runs(path: Path) -> None:
    """Refuse a folder of runs that cannot be made, as far as that is known before the run."""
    if str(path) == ".":
        raise OptionError("--runs: names no folder of its own; write a name, such as runs")
    try:
        there = next(parent for parent in (path, *path.absolute().parents) if parent.exists())
        if not there.is_dir():
            raise OptionError(f"--runs {path}: {there} is a file; name a folder")
    except OSError as error:
        raise OptionError(f"--runs {path}: {error.strerror}; name a folder") from error
    if not os.access(there, os.W_OK):
        raise OptionError(f"--runs {path}: nothing can be written in {there}; choose another folder")


def _check_file(option: str, path: Path | None, options: Options) -> None:
    """Refuse a file that cannot be written, as far as that is known before the run."""
    if path is None:
        return
    if options.analyse_later:
        later = f"leave {option} out and use `brokerbench report RUN {option} {path}`"
        raise OptionError(f"{option} {path}: with --analyse-later there is nothing to write yet; {later}")
    if not path.parent.is_dir():
        raise OptionError(f"{option} {path}: there is no folder {path.parent}; make it first")
    if path.is_dir():
        raise OptionError(f"{option} {path}: is a folder; write the name of a file")
    if not os.access(path.parent, os.W_OK):
        raise OptionError(f"{option} {path}: nothing can be written in {path.parent}; choose another folder")
    if options.junit == options.markdown:
        raise OptionError(f"{option} {path}: --junit and --markdown name the same file; write two")


def _check_protocol(text: str) -> None:
    try:
        spoken = Spoken.parse(text)
    except ValueError as error:
        raise OptionError(f"--protocol {text}: {error}") from error
    for protocol in spoken.distinct:
        if problem := missing(protocol):
            raise OptionError(f"--protocol {text}: {problem}")
