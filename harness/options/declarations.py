"""Declares each option of a run once, as a field of `Options`.

The following are derived from the declarations:

- Locust's command line and web form, in the order of the fields: `harness.options.arguments`
- how values are read and which numbers are rejected: `harness.options.run_options`
- the attributes of user classes that an option sets: `harness.options.user_classes`
- the options of ``brokerbench up``

`records.option_roles` declares how comparisons treat each option. ``make docs`` writes the tables of docs/options.md.
This module does not import Locust.
"""

# ruff: noqa: RUF009 - option() returns a field with metadata, not a default that instances share
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, get_args, get_type_hints

from drivers.client.connection_modes import CONNECTION_MODES, URIS
from drivers.protocols import PROTOCOLS
from records.errors import UserError
from records.loads.arrivals import LOADS
from records.loads.client_steps import MOST_CLIENTS, ClientSteps
from records.loads.rate_search import SearchSettings
from records.loads.rate_steps import LEAST_PER_S, MOST_PER_S, MOST_S, RateStep, format_steps
from records.store.run_store import StoreAddress
from topologies.catalogue.overlay import Overlay
from topologies.model.client_groups import ClientGroup
from topologies.model.launch import LOOPBACK
from topologies.model.topology import Topology
from topologies.model.trust import Trust
from topologies.products import PRODUCTS
from topologies.runtimes.capabilities import RUNTIMES
from topologies.runtimes.choice import BrokerSetup
from topologies.runtimes.managed import DEFAULT_MEMORY_MB, LEAST_MEMORY_MB, START_TIMEOUT_S
from topologies.runtimes.processes.cpu_groups import LEAST_CPUS
from topologies.runtimes.processes.disks import LEAST_MB

BROKERS, CLIENTS, LOAD, JUDGED, KEPT = SECTIONS = (
    "Topology and brokers",
    "Clients",
    "Load",
    "Faults and checks",
    "Results",
)
OF_LOCUST = ""
"""Section of options that Locust itself declares."""
PRIORITIES = NORMAL, REALTIME = "normal", "realtime"
SCENARIOS_OWN = "{scenario's own}"
"""Placeholder in a help text for the scenario's value."""
KINDS_OF_FAULTS = "{kinds of faults}"
"""Placeholder in a help text for the kinds of faults. `harness.faults` can only be imported after Locust."""
MOST_LETTERS = 4_000
MOST_DIGITS = 100
DAY_S = 86_400
INT_32 = (1 << 31) - 1
GIB = 1 << 30
MOST_CPUS = 4096
SET_BY_COMPARE = "kept in run.json; `brokerbench compare` sets it"
VERSIONS = "; ".join(f"{name} {', '.join(product.launch.versions)}" for name, product in PRODUCTS.items())
"""By product, the default version first."""


# -- the parts of a declaration ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Bounds:
    """The range from ``least`` to ``most``, both included; ``above_least`` excludes ``least``.

    The upper bounds reject values that no machine or protocol supports. A typo would otherwise be noticed only after
    the brokers have started.
    """

    least: float
    most: float
    above_least: bool = False

    def problem(self, number: float) -> str:
        """Return an error such as ``must be at least 1``, or '' if the number is within the bounds."""
        if number < self.least or (self.above_least and number == self.least):
            return f"must be {'more than' if self.above_least else 'at least'} {self.least:,g}"
        most = f"{self.most:,}" if isinstance(self.most, int) else f"{self.most:,.0f}"  # a float rounds 2^63 - 1
        return "" if number <= self.most else f"must be at most {most}"


@dataclass(frozen=True)
class Option:
    """An option of a run.

    ``kind``: the type of the value on the command line, such as `str` for a rate, which can also be steps; None means
    the type of the field. ``default``: the value if the option is omitted; None means the scenario's value or no value.
    ``sets``: the attribute of user classes that the option sets, such as ``producers.body_bytes``; ``users`` means both
    kinds. ``repeats``: the option can be repeated; the values are joined with ``;``. ``repeats_by_name``: the same for
    values ``NAME=VALUE``; of other values, the last one counts. ``most_letters``: the maximum
    length of a text that can have several lines. ``in_form``: whether the web form shows the option. ``recorded``:
    whether run.json contains the field unchanged. ``beside_report``: the option names a file of `OTHER_FILES` in
    reports/other_files.py. The web form does not show these options.
    """

    name: str
    section: str
    help: str
    kind: type | None = None
    default: str | float | None = None
    bounds: Bounds | None = None
    choices: tuple[str, ...] = ()
    sets: str = ""
    repeats: bool = False
    repeats_by_name: bool = False
    most_letters: int | None = None
    in_form: bool = True
    recorded: bool = True
    beside_report: bool = False

    @property
    def dest(self) -> str:
        """The option's name in the parsed namespace and in the web form."""
        return self.name.removeprefix("--").replace("-", "_")

    @property
    def parser_default(self) -> str | float | None:
        """Value in the parsed command line if the option is omitted."""
        if self.choices or self.repeats:
            return ""
        return False if self.kind is bool else self.default

    def parse_number(self, value: Any, kind: Any, rule: str) -> float | None:
        """Parse a number within the bounds; None if the option is omitted. Raises UserError.

        ``kind``: `int` or `float`. ``rule``: describes the expected value.
        """
        if value in (None, "", "None"):
            return None
        if isinstance(value, str) and len(value) > MOST_DIGITS:
            raise UserError(f"{self.name} {value}: has more than {MOST_DIGITS} characters; write {rule}")
        try:
            number: float = kind(value)
        except (ValueError, OverflowError) as error:
            raise UserError(f"{self.name} {value}: must be {rule}") from error
        if isinstance(number, float) and not math.isfinite(number):
            raise UserError(f"{self.name} {number}: must be a finite number")
        self.require_in_bounds(number)
        return number

    def problem(self, number: float | None) -> str:
        """Return the bound that a number violates, as `Bounds.problem` does, or '' if there is none."""
        return "" if self.bounds is None or number is None else self.bounds.problem(number)

    def require_in_bounds(self, number: float | None) -> None:
        """Raise UserError for a number outside the bounds."""
        if number is None or not (problem := self.problem(number)):
            return
        if self.name == "--base-port":  # scenarios do not set a port
            raise UserError(f"--base-port {number}: must be between 1024 and 65000")
        shown = number if isinstance(number, int) else f"{number:g}"
        raise UserError(f"{self.name} {shown}: {problem}; leave it out to use the default")


# -- the options -------------------------------------------------------------------------------------------------------


def option(name: str, section: str, help: str, **declared: Any) -> Any:
    """Declare a field of `Options` with its `Option`. The field's type is the type of the value that was read."""
    return field(metadata={"option": Option(name, section, help, **declared)})


@dataclass(frozen=True, kw_only=True)
class Options:
    """Everything that a user chose for one run; None means the scenario's value.

    A field with an `Option` holds the value that was read for it. The other fields are derived from several options:
    ``built_topology`` is the topology that ``topology`` names, with the overlay and the link settings of ``link``
    applied. It is built once per run. ``store`` is where finished runs are copied to; None without ``--runs s3://…``.
    """

    topology: str = option(
        "--topology",
        BROKERS,
        f"catalogue entry, such as 'mesh(brokers=5)', or a YAML file (default: {SCENARIOS_OWN})",
    )
    """catalogue entry with its parameters, such as `'mesh(brokers=4)'`, or a YAML file; see
    [topologies.md](topologies.md)
    """
    built_topology: Topology
    link: str | None = option(
        "--link",
        BROKERS,
        "delay, jitter and bandwidth of links: 'LINK:delay=40ms,jitter=5ms,bandwidth=10MB/s', where LINK is the name "
        "of a link, A<->B for the links between two brokers or regions, 'regions' for all links between regions, or *; "
        "separate several with ';'",
        repeats=True,
    )
    """delay, jitter and bandwidth of links; see [slow-links.md](slow-links.md). Default: the scenario's value (no
    delay, except for [wan](scenarios/wan.md)).
    """
    client_version: str | None = option(
        "--client-version",
        BROKERS,
        "version of the OpenWire or Core Java clients, one of the versions of --broker-version",
    )
    """version of the Java clients: a Classic version of `--broker-version` for `openwire`, an Artemis version for
    `core`. The clients are taken from the distribution of that version and can connect to brokers of any version.
    Default: the first version listed.
    """
    overlay: Overlay | None = option(
        "--overlay",
        BROKERS,
        "YAML file with settings of brokers and JVMs that override the topology's",
        recorded=False,
        kind=Path,
    )
    """YAML file with settings of brokers, links and JVMs that override the topology's; see [below](#overlays). `none`
    means no file. Default: `none`.
    """
    unset_defaults: bool = option(
        "--unset-defaults",
        BROKERS,
        "write only the settings of the topology and the overlay into the brokers' files; everything else keeps the "
        "brokers' defaults",
        recorded=False,
    )
    """write only the settings of the topology and the overlay into the brokers' files; see
    [below](#the-brokers-own-defaults)
    """
    runtime: str = option(
        "--runtime",
        BROKERS,
        "where the brokers run (default: containers if possible)",
        choices=RUNTIMES,
    )
    """where the brokers run: `containers`, `processes`, `external` for [brokers that are already
    running](running.md#brokers-that-run-already), or `memory` for simulated brokers. Default: `containers` if a Docker
    engine and the image are available, otherwise `processes`.
    """
    runtime_reason: str
    brokers_file: Path | None = option(
        "--brokers-file",
        BROKERS,
        "YAML file with the addresses of brokers that are already running (--runtime external)",
        in_form=False,
    )
    """YAML file with the addresses of brokers that are already running"""
    empty_queues: bool = option(
        "--empty-queues",
        BROKERS,
        "on brokers that are already running, remove all messages from the run's queues and durable subscriptions "
        "before the run (without this option, messages there are an error)",
        in_form=False,
    )
    """with `external`: remove all messages from the run's queues and durable subscriptions before the run. Without
    this option, a run is rejected if there are any: see [running.md](running.md#brokers-that-run-already).
    """
    trust: Trust = option(
        "--ca-file",
        BROKERS,
        "PEM file with the certificate authorities to trust for TLS (default: those of this machine)",
        in_form=False,
        recorded=False,
        kind=Path,
    )
    """PEM file with the certificate authorities to trust for TLS connections to brokers that are already running"""
    image: str | None = option(
        "--image",
        BROKERS,
        "container image of the brokers (default: the official one)",
    )
    """container image of the brokers. Default: `apache/activemq-classic:5.18.3`, for Artemis
    `apache/activemq-artemis:2.44.0`.
    """
    broker_version: str | None = option(
        "--broker-version",
        BROKERS,
        f"version of the brokers that run as processes: {VERSIONS}",
    )
    """{help}; see [below](#versions-and-builds-of-the-brokers). Default: the product's first version."""
    distribution: Path | None = option(
        "--distribution",
        BROKERS,
        "broker build to run as processes: an unpacked distribution, or its .tar.gz or .zip",
    )
    """broker build to run as processes: an unpacked distribution, or its `.tar.gz` or `.zip`; see
    [below](#versions-and-builds-of-the-brokers)
    """
    protocol: str = option(
        "--protocol",
        CLIENTS,
        f"protocol of the clients: {', '.join(PROTOCOLS)}; or PRODUCERS:CONSUMERS (default: {SCENARIOS_OWN})",
        default="",
    )
    """`stomp`, `amqp`, `openwire` or `core` (Artemis only); two of them as `PRODUCERS:CONSUMERS`; `memory` with the
    memory runtime. User classes can [set their own protocol](drivers.md#several-protocols-in-one-run). Default: the
    scenario's value, which is `stomp`, or `openwire` for `rebalance`.
    """
    load_s: float | None = option(
        "--run-time", OF_LOCUST, "length of the load", bounds=Bounds(0, MOST_S, above_least=True)
    )
    """length of the load, after the warm-up. Default: the scenario's value."""
    messages: int | None = option(
        "--messages",
        LOAD,
        "end the load after this number of messages in total, instead of by time",
        bounds=Bounds(1, 1_000_000_000_000),
    )
    """end the load after this number of messages in total, instead of by time"""
    warm_up_s: float | None = option(  # None: until latency has settled (`harness.run.warm_up`)
        "--warm-up", LOAD, f"seconds before the load counts (default: {SCENARIOS_OWN})", bounds=Bounds(0, DAY_S)
    )
    """exact number of seconds before the load counts. Default: the scenario's value. Otherwise the warm-up lasts until
    the median latencies of three successive seconds agree within 10 % or 0.2 ms, and no backlog grows or drains (they
    do not rise or fall steadily by 0.1 s): at least 5 s, at most 15 s.
    """
    rate: float | None = option(
        "--rate",
        LOAD,
        "total sends per second of all producers; or a load in steps: '100,200,400@20s' is three rates of 20 s each, "
        "'100..1000@60s' rises evenly; 'search' looks for the highest rate that is held; or the rate of one producer "
        "class: 'OrderProducer=200', several by repeating the option",
        bounds=Bounds(LEAST_PER_S, MOST_PER_S),
        kind=str,
        repeats_by_name=True,
    )
    """total sends per second of all producers; or a load in steps, such as `'100,200,400@20s'`, see
    [below](#a-load-in-steps); or the total of one producer class, such as `OrderProducer=200`. Repeat the option for
    other classes; a class without one keeps its own rate. Default: the scenario's value.
    """
    class_rates: tuple[tuple[str, float], ...]  # producer classes with a rate of their own: sends per second in total
    steps: tuple[RateStep, ...]  # if the rate changes: steps of all producers together
    search: SearchSettings | None  # for the highest rate that is held
    priority: str = option(
        "--priority",
        LOAD,
        "priority of the threads that send and receive: realtime keeps them on time when the machine does other work "
        "(Linux only, if permitted: see brokerbench doctor); the threads drop it if they use most of a core",
        default=NORMAL,
        choices=PRIORITIES,
    )
    """`realtime` gives the threads that send and receive real-time priority, so that other work on the machine delays
    them less. It needs Linux and permission (`brokerbench doctor` shows whether it is permitted). If the threads use
    most of a core, they drop it, and the report has a warning.
    """
    clients: ClientSteps | None = option(
        "--clients",
        LOAD,
        "number of clients in each step, for a scenario that adds clients while the load runs: '50,100,200@10s'; "
        "'50,100@10s,connect=2000,p99=500' also sets limits in ms for connecting and for the p99 of messages",
        kind=str,
    )
    """number of clients in each step, such as `'50,100,200@10s'`, for a scenario that adds clients while its load runs:
    see [connections](scenarios/connections.md). Default: the scenario's value.
    """
    producers: int | None = option(
        "--producers", LOAD, "number of producers (default: the scenario's value)", bounds=Bounds(1, MOST_CLIENTS)
    )
    consumers: int | None = option(
        "--consumers", LOAD, "number of consumers (default: the scenario's value)", bounds=Bounds(1, MOST_CLIENTS)
    )
    destinations: int | None = option(
        "--destinations",
        LOAD,
        "number of destinations that the users of each class share (default: the scenario's value); the scenario's "
        "destination needs a placeholder for the number, as in queue://orders.{n}",
        bounds=Bounds(1, MOST_CLIENTS),
        sets="users.destinations",
    )
    """number of destinations that the users of each class share; see [scenarios.md](scenarios.md#several-destinations).
    Default: the scenario's value, which is 1.
    """
    arrivals: str | None = option(
        "--arrivals",
        LOAD,
        "when producers send at their rate: fixed (the default of all scenarios), at equal intervals, or poisson, at "
        "random intervals, as many independent clients send; closed: the same as --closed",
        choices=LOADS,
        sets="producers.arrivals",
    )
    """when producers send at their rate: `fixed`, at equal intervals, or `poisson`, at exponentially distributed random
    intervals, as many independent clients send; see [running.md](running.md#arrivals). `closed` is the same as
    `--closed`. Default: the scenario's value, which is `fixed`.
    """
    closed: bool = option(
        "--closed",
        LOAD,
        "closed load: each producer sends as soon as its last send is answered, without a rate; this latency hides "
        "waits",
        recorded=False,
    )
    """closed load: each producer sends as soon as its last send is answered, without a rate; see
    [running.md](running.md#closed-loads)
    """
    body_bytes: int | None = option(
        "--body-bytes",
        LOAD,
        "size of a message body in bytes, at least 32",
        bounds=Bounds(32, GIB),
        sets="producers.body_bytes",
    )
    in_flight: int | None = option(
        "--in-flight",
        LOAD,
        "maximum number of unconfirmed sends per producer",
        bounds=Bounds(1, 10_000_000),
        sets="producers.in_flight",
    )
    connections: str | None = option(
        "--connections",
        CLIENTS,
        "connections of the clients: one for each client (the default of all scenarios), pooled within a group, or "
        "per-message: producers connect for each message, as serverless functions do, and each consumer has one "
        "connection",
        choices=CONNECTION_MODES,
        sets="users.connections",
    )
    """`one` per client, `pooled` or `per-message`; see [drivers.md](drivers.md#connections). Default: the scenario's
    value, which is `one`.
    """
    pool_size: int | None = option(
        "--pool-size",
        CLIENTS,
        "number of connections that a group's producers share in each process, and also its consumers (with "
        "--connections pooled)",
        bounds=Bounds(1, MOST_CLIENTS),
        sets="users.pool_size",
    )
    """with `pooled`: number of connections that a group's producers share in each process; its consumers share the same
    number. Default: the scenario's value, which is 1.
    """
    prefetch: int | None = option(
        "--prefetch",
        LOAD,
        "number of messages that a broker sends a consumer ahead of its acknowledgments",
        bounds=Bounds(1, INT_32),
        sets="consumers.prefetch",
    )
    """number of messages that a broker sends a consumer ahead of its acknowledgments; not for Core, which counts bytes
    """
    work_ms: str | None = option(  # as `drivers.client.work` reads it
        "--work-ms",
        LOAD,
        "milliseconds that a consumer works on each message before it acknowledges it: 5, '2..8' or 'exponential(5)'",
        sets="consumers.work_ms",
    )
    """milliseconds that a consumer works on each message before it acknowledges it: `5`, `2..8` (uniformly distributed)
    or `'exponential(5)'`; see [drivers.md](drivers.md#consumers-that-take-time); not for Core. Default: the scenario's
    value, which is 0.
    """
    transaction_size: int | None = option(
        "--transaction-size",
        LOAD,
        "number of messages per transaction",
        bounds=Bounds(1, 10_000_000),
        sets="producers.transaction_size",
    )
    """number of messages per transaction: a producer sends this number, commits, and waits for the broker; see
    [drivers.md](drivers.md#outcomes-of-a-send). Default: the scenario's value (0: no transactions).
    """
    time_to_live_s: float | None = option(
        "--ttl",
        LOAD,
        "time to live of the messages in seconds",
        bounds=Bounds(0, math.inf, above_least=True),  # drivers.client.message_settings has the upper bound
        sets="producers.time_to_live_s",
    )
    """time to live of the messages in seconds: see [messages that expire](scenarios.md#messages-that-expire)"""
    message_priority: int | None = option(
        "--message-priority",
        LOAD,
        "priority of the messages, 0 to 9 (default: the scenario's value)",
        bounds=Bounds(0, INT_32),  # drivers.client.message_settings has the real upper bound
        sets="producers.priority",
    )
    """priority of the messages, 0 to 9; `--priority` is for threads"""
    properties: str | None = option(  # JSON
        "--properties",
        LOAD,
        'message properties as JSON; messages cycle through several values: \'{"color": ["red", "blue"]}\'',
        sets="producers.properties",
        most_letters=100_000,
    )
    """message properties as JSON; messages cycle through several values: `'{"color": ["red", "blue"]}'`"""
    selector: str | None = option(
        "--selector",
        LOAD,
        "message selector of all consumer classes: \"color = 'red'\"",
        sets="consumers.selector",
        most_letters=20_000,
    )
    """message selector of all consumer classes: `"color = 'red'"`"""
    uris: str | None = option(
        "--uris",
        CLIENTS,
        "brokers in each client's failover URI: all brokers of its group (the default of all scenarios), or one, "
        "assigned round-robin",
        choices=URIS,
        sets="users.uris",
    )
    """brokers in each client's failover URI: `all` brokers of its group, or `one`; see
    [drivers.md](drivers.md#clients-with-one-broker-in-their-uri). Default: the scenario's value, which is `all`.
    """
    failover: str | None = option(
        "--failover",
        CLIENTS,
        "options of the clients' failover URIs, such as 'randomize=false&timeout=3000'",
    )
    """options of the clients' [failover URIs](drivers.md#the-failover-uri), such as `'randomize=false&timeout=3000'`.
    Default: the topology's value.
    """
    fault: str | None = option(
        "--fault",
        JUDGED,
        f"fault to inject during the load: 'kill(broker-2, at=10, for=15)'; {KINDS_OF_FAULTS}; replaces the scenario's "
        "faults; separate several with ';'",
        repeats=True,
    )
    """fault to inject during the load, such as `'kill(broker-2, at=10, for=15)'`; see below. Default: the scenario's
    faults.
    """
    check: str | None = option(
        "--check",
        JUDGED,
        "condition for the run to pass, in addition to the scenario's checks: 'latency_ms.due_to_received.p99 < 50'; "
        "separate several with ';'",
        repeats=True,
    )
    """condition for the run to pass, in addition to the scenario's checks, such as
    `'latency_ms.due_to_received.p99 < 50'`, or `'latency_ms.due_to_received.p99{OrderConsumer} < 50'` for
    [one consumer class](scenarios.md#latency-of-one-consumer-class-or-destination)
    """
    abort_on: str | None = option(
        "--abort-on",
        JUDGED,
        "conditions that end the load early and fail the run: 'messages.failed > 0; latency_ms.due_to_received.p99 > "
        "500 for 10s'; separate several with ';'",
        repeats=True,
    )
    """conditions that end the load early and fail the run, such as
    `'messages.failed > 0; latency_ms.due_to_received.p99 > 500 for 10s'`; see
    [running.md](running.md#end-a-run-that-has-failed). Default: none.
    """
    abort_in_warm_up: bool = option(
        "--abort-in-warm-up",
        JUDGED,
        "evaluate --abort-on in the warm-up too, and count the warm-up's messages",
    )
    """{help}"""
    drain_s: float = option(
        "--drain-timeout",
        LOAD,
        "seconds that consumers have to empty the queues after the load",
        default=60.0,
        bounds=Bounds(0, DAY_S, above_least=True),
    )
    seed: int = option(
        "--seed",
        LOAD,
        "seed of every random choice (default: a new seed, shown in the report)",
        bounds=Bounds(-(1 << 63), (1 << 63) - 1),  # programs with 64-bit numbers read run.json
    )
    runs: Path = option(
        "--runs",
        KEPT,
        "folder for the results of runs, or s3://BUCKET/PREFIX to store each finished run there too",
        default="runs",
        in_form=False,
    )
    """folder for the results of runs; with `s3://BUCKET/PREFIX`, each finished run is copied from the folder `runs` to
    [S3](running.md#results-in-s3)
    """
    store: StoreAddress | None = None
    broker_memory_mb: int = option(
        "--broker-memory",
        BROKERS,
        "heap of each broker in MiB",
        default=DEFAULT_MEMORY_MB,
        bounds=Bounds(LEAST_MEMORY_MB, 4 << 20),
    )
    broker_cpus: float | None = option(
        "--broker-cpus",
        BROKERS,
        "cores that each broker may use, such as 0.5, by a CPU quota of its control group (processes need root)",
        bounds=Bounds(LEAST_CPUS, MOST_CPUS),
    )
    """cores that each broker may use, such as 0.5: a CPU quota of its control group (processes need root). With it,
    topologies of different sizes have
    [equal shares of the cores for each broker](scenarios/capacity.md#equal-shares-of-the-cores). Default: no limit.
    """
    base_port: int | None = option(
        "--base-port",
        BROKERS,
        "first port of a fixed range (default: free ports)",
        bounds=Bounds(1024, 65_000),
    )
    bind_host: str = option(
        "--bind-host",
        BROKERS,
        "address of this machine on which the brokers listen (default: %(default)s); with an address that other hosts "
        "can reach, workers on those hosts can connect",
        default=LOOPBACK,
    )
    """address on which the brokers listen; see [running.md](running.md#several-load-generators)"""
    start_timeout_s: float = option(
        "--start-timeout",
        BROKERS,
        "seconds that the brokers have to start; increase it on a busy machine",
        default=START_TIMEOUT_S,
        bounds=Bounds(0, DAY_S, above_least=True),
    )
    keep_data: bool = option(
        "--keep-data",
        BROKERS,
        "keep the brokers' message stores in the run's folder",
    )
    """keep the brokers' message stores after the run"""
    jfr: bool = option(
        "--jfr",
        BROKERS,
        "record Java Flight Recorder in each broker, and in the JVMs of Java clients; the report shows pauses of the "
        "garbage collector, hot methods and lock waits (processes only)",
    )
    """record [Java Flight Recorder](running.md#profile-the-brokers) in each broker, and in the JVMs of Java clients;
    the report shows pauses of the garbage collector, hot methods and lock waits (processes only)
    """
    disk_mb: int | None = option(
        "--disks",
        BROKERS,
        "put each broker's data on a separate disk of this size in MiB: an ext4 file system on a loop device, as "
        "power-loss does (processes only, needs root)",
        bounds=Bounds(LEAST_MB, 4 << 20),
    )
    """size in MiB of a separate disk for each broker's data: an ext4 file system in a sparse file on a loop device. It
    needs root (`brokerbench doctor` shows whether it is possible). Use it to give disks also to the arms of a
    comparison that have no `power-loss`. Default: no disks; 4096 with `power-loss`.
    """
    dry_run: bool = option(
        "--dry-run",
        KEPT,
        "check every option, print the planned run as JSON, with its checks and fault times, and start nothing",
        in_form=False,
        recorded=False,
    )
    """check every option, warn about consumers that messages cannot reach, print the planned run as JSON, with its
    checks and fault times, and start nothing
    """
    analyse_later: bool = option(
        "--analyse-later",
        KEPT,
        "end without results and report; `brokerbench analyse RUN RUN` analyzes several runs together later",
        in_form=False,
    )
    junit: Path | None = option(
        "--junit",
        KEPT,
        "JUnit XML file to write the checks to; an existing file is removed when the run begins",
        beside_report=True,
    )
    """JUnit XML file to write the checks to: [docs/ci.md](ci.md). An existing file is removed when the run begins."""
    markdown: Path | None = option(
        "--markdown",
        KEPT,
        "Markdown file to write a summary to; an existing file is removed when the run begins",
        beside_report=True,
    )
    live_port: int | None = option(
        "--live",
        KEPT,
        "port on loopback for the Brokers page of a run without a web UI, which shows brokers, links, clients and "
        "latencies every second",
        bounds=Bounds(1, 65_535),
        in_form=False,
        recorded=False,
    )
    """port on loopback for the Brokers page of a headless run: brokers, links, clients, latencies and faults, every
    second; see [running.md](running.md#watch-a-headless-run). The page only reads. Default: none.
    """
    metrics_port: int | None = option(
        "--metrics-port",
        KEPT,
        "port on loopback where Prometheus can scrape the run at /metrics",
        bounds=Bounds(1, 65_535),
        in_form=False,
        recorded=False,
    )
    """port on loopback where Prometheus can scrape the run at `/metrics`; see
    [running.md](running.md#watch-a-headless-run). Default: none.
    """
    otlp: str | None = option(
        "--otlp",
        KEPT,
        "address of an OpenTelemetry collector (OTLP over HTTP), such as http://127.0.0.1:4318, to push metrics, "
        "faults and phases to",
        in_form=False,
        recorded=False,
    )
    """address of an OpenTelemetry collector (OTLP over HTTP), such as `http://127.0.0.1:4318`, to push metrics, faults
    and phases to; see [running.md](running.md#push-to-an-opentelemetry-collector). Default: none.
    """
    session: str | None = option(  # the comparison that this run is made for, and the run's place in it
        "--session", KEPT, f"name of the comparison that this run belongs to, {SET_BY_COMPARE}", in_form=False
    )
    block: int | None = option(
        "--block",
        KEPT,
        f"the run's block in the comparison, {SET_BY_COMPARE}",
        bounds=Bounds(1, 1_000_000),
        in_form=False,
    )
    order: int | None = option(
        "--order",
        KEPT,
        f"the run's position in its block, {SET_BY_COMPARE}",
        bounds=Bounds(1, 1_000_000),
        in_form=False,
    )
    control: bool = option(
        "--control", KEPT, f"the run repeats another run in its block, {SET_BY_COMPARE}", in_form=False
    )
    """the run repeats the first arm in its block, kept in `run.json`; `brokerbench compare` sets it"""
    spark_master: str | None = option(
        "--spark-master", KEPT, "where the analysis runs (default local[*])", in_form=False
    )
    """[Spark cluster](running.md#the-analysis-on-a-spark-cluster) that runs the analysis. Default: this machine."""

    def as_record(self) -> dict[str, str | int | float | bool | None]:
        """Return the options as run.json stores them."""
        class_rates = ";".join(f"{name}={per_s:g}" for name, per_s in self.class_rates)
        recorded = {name: getattr(self, name) for name, option in OPTIONS.items() if option.recorded}
        recorded |= {
            "clients": str(self.clients) if self.clients else None,
            "rate": (str(self.search) if self.search else format_steps(self.steps)) or class_rates or self.rate,
            # None if they were not given, as in runs that are older than these options
            "ca_file": self.trust.file or None,
            "overlay": self.overlay and self.overlay.path,
            "overlay_digest": self.overlay and self.overlay.digest,
            "unset_defaults": self.unset_defaults or None,
            "empty_queues": self.empty_queues or None,
            "jfr": self.jfr or None,
        }
        return {name: str(value) if isinstance(value, Path) else value for name, value in recorded.items()}

    @property
    def files(self) -> dict[str, Path]:
        """The files to write in addition to the report, by the option that names each file."""
        paths = {option.name: getattr(self, name) for name, option in OPTIONS.items() if option.beside_report}
        return {name: path for name, path in paths.items() if path}

    def client_group(self, name: str) -> ClientGroup:
        """Return a client group of the topology, with the failover options of ``--failover``.

        Raises KeyError if the group does not exist, and ValueError for failover options that no group can have.
        """
        group = self.built_topology.group(name)
        return group if self.failover is None else replace(group, failover=self.failover)

    @property
    def wanted(self) -> BrokerSetup:
        """The options that concern the brokers."""
        own = {field.name: getattr(self, field.name) for field in fields(BrokerSetup)}
        return BrokerSetup(**own | {"overlay": self.overlay and self.overlay.path})


def _declared() -> dict[str, Option]:
    hints = get_type_hints(Options)
    declared = {}
    for declaring in fields(Options):
        if option := declaring.metadata.get("option"):
            hint = hints[declaring.name]
            own_kind = next(kind for kind in (*get_args(hint), hint) if kind is not type(None))
            declared[declaring.name] = replace(option, kind=option.kind or own_kind)
    return declared


OPTIONS: Mapping[str, Option] = _declared()
"""Options by their field in `Options`."""
