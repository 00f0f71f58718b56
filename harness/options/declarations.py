"""Declares each option of a run once, as a field of `Options`.

These follow from the declarations:

- Locust's command line and web form, in the order of the fields: `harness.options.arguments`
- what is read, and which numbers are refused: `harness.options.run_options`
- what an option sets of user classes: `harness.options.user_settings`
- the options of ``brokerbench up``

`records.option_roles` says what comparisons make of an option. ``make docs`` writes the tables of docs/options.md.
Nothing of Locust is loaded here.
"""

# ruff: noqa: RUF009 - a declaration is no default that runs share
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, get_args, get_type_hints

from drivers.client.connection_modes import CONNECTION_MODES, URIS
from drivers.protocols import PROTOCOLS
from records.client_steps import MOST_CLIENTS, ClientSteps
from records.rate_search import SearchSettings
from records.rate_steps import LEAST_PER_S, MOST_PER_S, MOST_S, RateStep, text_of
from topologies.catalogue.overlay import Overlay
from topologies.model.launch import LOOPBACK
from topologies.model.topology import Topology
from topologies.model.trust import Trust
from topologies.products import PRODUCTS
from topologies.runtimes.capabilities import RUNTIMES
from topologies.runtimes.choice import Wanted
from topologies.runtimes.distribution import pinned_versions
from topologies.runtimes.own import START_TIMEOUT_S
from topologies.runtimes.processes.disks import LEAST_MB

BROKERS, CLIENTS, LOAD, JUDGED, KEPT = SECTIONS = (
    "Topology and brokers",
    "Clients",
    "Load",
    "Faults and checks",
    "Results",
)
OF_LOCUST = ""
"""The section of an option that Locust itself has."""
PRIORITIES = NORMAL, REALTIME = "normal", "realtime"
SCENARIOS_OWN = "{scenario's own}"
"""Stands in a help for the scenario's value."""
KINDS_OF_FAULTS = "{kinds of faults}"
"""Stands in a help for what `harness.faults` can do: it is loaded behind Locust."""
MOST_LETTERS = 4_000
DAY_S = 86_400
INT_32 = (1 << 31) - 1
GIB = 1 << 30
SET_BY_COMPARE = "kept in run.json; `brokerbench compare` sets it"
VERSIONS = "; ".join(
    f"{name} {', '.join(pinned_versions(product.launch.distribution))}" for name, product in PRODUCTS.items()
)
"""By product, the default version first."""


# -- what a declaration says -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Bounds:
    """``least`` to ``most``, both included. ``above_least``: ``least`` itself is too little.

    The upper bounds refuse what no machine or protocol takes. A slip of the keyboard would otherwise be noticed after
    the brokers have started.
    """

    least: float
    most: float
    above_least: bool = False

    def problem(self, number: float) -> str:
        """``must be at least 1``; '' if the number lies within them."""
        if number < self.least or (self.above_least and number == self.least):
            return f"must be {'more than' if self.above_least else 'at least'} {self.least:,g}"
        most = f"{self.most:,}" if isinstance(self.most, int) else f"{self.most:,.0f}"  # a float rounds 2^63 - 1
        return "" if number <= self.most else f"must be at most {most}"


@dataclass(frozen=True)
class Option:
    """An option of a run.

    ``kind``: the type that the command line gives, such as `str` for a rate, which may be steps; None: its field's.
    ``default``: where it is left out; None: the scenario's own, or nothing. ``sets``: the attribute of user classes,
    such as ``producers.body_bytes``; ``users`` are both kinds. ``repeats``: it may be given again, which is the same as
    ``;`` in between. ``most_letters``: of a text that may have several lines. ``in_form``: whether the web form shows
    it. ``recorded``: whether run.json has its field as it is. ``beside_report``: it names a file of `OTHER_FILES` in
    reports/other_files.py, which no web form does.
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
    most_letters: int | None = None
    in_form: bool = True
    recorded: bool = True
    beside_report: bool = False

    @property
    def dest(self) -> str:
        """Its name in a namespace, and of its field in the form."""
        return self.name.removeprefix("--").replace("-", "_")

    @property
    def parser_default(self) -> str | float | None:
        """What the parsed command line has where it is left out."""
        if self.choices or self.repeats:
            return ""
        return False if self.kind is bool else self.default

    def problem(self, number: float | None) -> str:
        """Which bound a number breaks, as `Bounds.problem`; '' if none."""
        return "" if self.bounds is None or number is None else self.bounds.problem(number)


# -- the options -------------------------------------------------------------------------------------------------------


def option(name: str, section: str, help: str, **declared: Any) -> Any:
    """A field of `Options` with its `Option`. Its type is the type of what is read."""
    return field(metadata={"option": Option(name, section, help, **declared)})


@dataclass(frozen=True, kw_only=True)
class Options:
    """Everything that a user chose for one run; None where the scenario's own value holds.

    A field with an `Option` has what was read for it. The others follow from several options: ``built_topology`` is
    what ``topology`` names, with the overlay, its links as ``link`` says. It is built once a run.
    """

    topology: str = option(
        "--topology",
        BROKERS,
        f"catalogue entry, such as 'mesh(brokers=5)', or a YAML file (default: {SCENARIOS_OWN})",
    )
    """a name of the catalogue with its parameters, such as `'mesh(brokers=4)'`, or a YAML file; see
    [topologies.md](topologies.md)
    """
    built_topology: Topology
    link: str | None = option(
        "--link",
        BROKERS,
        "what links are like: 'LINK:delay=40ms,jitter=5ms,bandwidth=10MB/s', where LINK is a link's name, all "
        "between two brokers or regions (A<->B), regions for all between regions, or *; several by ';'",
        repeats=True,
    )
    """delay, jitter and bandwidth of links; see [slow-links.md](slow-links.md). Default: the scenario's: no delay,
    except [wan](scenarios/wan.md).
    """
    client_version: str | None = option(
        "--client-version",
        BROKERS,
        "version of OpenWire's or Core's Java clients, as of --broker-version",
    )
    """version of the Java clients: of `openwire` one of Classic's in `--broker-version`, of `core` one of
    Artemis's. They come from the distribution of that version, to brokers of any version. Default: the first of these.
    """
    overlay: Overlay | None = option(
        "--overlay",
        BROKERS,
        "YAML file with settings of brokers and of their JVMs, laid over those of the topology",
        recorded=False,
        kind=Path,
    )
    """YAML file with settings of brokers, links and JVMs, laid over those of the topology; see [below](#overlays).
    `none` is no file. Default: `none`.
    """
    unset_defaults: bool = option(
        "--unset-defaults",
        BROKERS,
        "write only what the topology and the overlay set into the brokers' files; all else is the brokers' own",
        recorded=False,
    )
    """write only what the topology and the overlay set into the brokers' files; see [below](#the-brokers-own-defaults)
    """
    runtime: str = option(
        "--runtime",
        BROKERS,
        "where the brokers run (default: containers if possible)",
        choices=RUNTIMES,
    )
    """where the brokers run: `containers`, `processes`, `external` for [brokers that run
    already](running.md#brokers-that-run-already), or `memory` for simulated brokers. Default: `containers` if a Docker
    engine and the image are available, else `processes`.
    """
    runtime_reason: str
    brokers_file: Path | None = option(
        "--brokers-file",
        BROKERS,
        "YAML file: where brokers run already (--runtime external)",
        in_form=False,
    )
    """YAML file with the addresses of brokers that run already"""
    empty_queues: bool = option(
        "--empty-queues",
        BROKERS,
        "before the run, remove all messages from its queues and durable subscriptions on brokers that run already "
        "(otherwise messages there are an error)",
        in_form=False,
    )
    """with `external`: remove all messages from the run's own queues and durable subscriptions before the run. Without
    it a run is rejected if there are any: see [running.md](running.md#brokers-that-run-already).
    """
    trust: Trust = option(
        "--ca-file",
        BROKERS,
        "authorities to trust for TLS, in PEM (default: this machine's)",
        in_form=False,
        recorded=False,
        kind=Path,
    )
    """PEM file with the authorities to trust for TLS of brokers that run already"""
    image: str | None = option(
        "--image",
        BROKERS,
        "image of the brokers' containers (default: upstream's)",
    )
    """container image of the brokers. Default: `apache/activemq-classic:5.18.3`, for Artemis
    `apache/activemq-artemis:2.44.0`.
    """
    broker_version: str | None = option(
        "--broker-version",
        BROKERS,
        f"version of the brokers as processes: {VERSIONS}",
    )
    """{help}; see [below](#versions-and-builds-of-the-brokers). Default: the first of the product."""
    distribution: Path | None = option(
        "--distribution",
        BROKERS,
        "a build of the brokers to run as processes: an unpacked distribution, or its .tar.gz or .zip",
    )
    """a build of the brokers to run as processes: an unpacked distribution, or its `.tar.gz` or `.zip`; see
    [below](#versions-and-builds-of-the-brokers)
    """
    protocol: str = option(
        "--protocol",
        CLIENTS,
        f"what the clients speak: {', '.join(PROTOCOLS)}; or PRODUCERS:CONSUMERS (default: {SCENARIOS_OWN})",
        default="",
    )
    """`stomp`, `amqp`, `openwire` or `core` (Artemis only); two of them as `PRODUCERS:CONSUMERS`; `memory` with the
    memory runtime. User classes may have [protocols of their own](drivers.md#several-protocols-in-one-run). Default:
    the scenario's: `stomp`, of `rebalance` `openwire`.
    """
    load_s: float | None = option(
        "--run-time", OF_LOCUST, "length of the load", bounds=Bounds(0, MOST_S, above_least=True)
    )
    """length of the load, after the warm-up. Default: the scenario's."""
    messages: int | None = option(
        "--messages",
        LOAD,
        "end the load after so many messages in all, instead of by time",
        bounds=Bounds(1, 1_000_000_000_000),
    )
    """the number of messages after which the load ends, instead of a time"""
    warm_up_s: float | None = option(  # None: until latency has settled (`harness.run.warm_up`)
        "--warm-up", LOAD, f"seconds before the load counts (default: {SCENARIOS_OWN})", bounds=Bounds(0, DAY_S)
    )
    """seconds before the load counts, exactly so many. Default: the scenario's, else until the median latencies of
    three successive seconds agree within a tenth or 0.2 ms, and no backlog grows or drains (they do not rise or fall
    steadily by 0.1 s): at least 5 s, at most 15 s.
    """
    rate: float | None = option(
        "--rate",
        LOAD,
        "sends a second of all producers together; or steps of a load, such as '100,200,400@20s': three rates of "
        "20 s each; '100..1000@60s' is one that rises evenly; 'search' looks for the highest rate that is held",
        bounds=Bounds(LEAST_PER_S, MOST_PER_S),
        kind=str,
    )
    """sends per second of all producers together; or a load in steps, such as `'100,200,400@20s'`, see
    [below](#a-load-in-steps). Default: the scenario's.
    """
    steps: tuple[RateStep, ...]  # of a load whose rate changes, of all producers together
    search: SearchSettings | None  # for the highest rate that is held
    priority: str = option(
        "--priority",
        LOAD,
        "of the threads that send and receive: realtime keeps them on time beside other work on the machine "
        "(Linux, where brokerbench doctor says that it is permitted); given back if they use most of a core",
        default=NORMAL,
        choices=PRIORITIES,
    )
    """`realtime`: real-time priority for the threads that send and receive, so that other work on the machine makes
    them less late; Linux, where it is permitted (`brokerbench doctor` says whether). They give it back, with a warning
    in the report, if they use most of a core.
    """
    clients: ClientSteps | None = option(
        "--clients",
        LOAD,
        "numbers of clients in steps, of a scenario that adds clients while the load runs: '50,100,200@10s'; "
        "'50,100@10s,connect=2000,p99=500' with the milliseconds that clients may take to connect, and messages",
        kind=str,
    )
    """numbers of clients in steps, such as `'50,100,200@10s'`, of a scenario that adds clients while its load runs: see
    [connections](scenarios/connections.md). Default: the scenario's.
    """
    producers: int | None = option(
        "--producers", LOAD, "how many producers (default: the scenario's)", bounds=Bounds(1, MOST_CLIENTS)
    )
    consumers: int | None = option(
        "--consumers", LOAD, "how many consumers (default: the scenario's)", bounds=Bounds(1, MOST_CLIENTS)
    )
    destinations: int | None = option(
        "--destinations",
        LOAD,
        "how many destinations the users of a class share (default: the scenario's); the destination in the "
        "scenario needs a place for the number, as queue://orders.{n} has",
        bounds=Bounds(1, MOST_CLIENTS),
        sets="users.destinations",
    )
    """number of destinations that the users of each class share; see [scenarios.md](scenarios.md#several-destinations).
    Default: the scenario's: 1.
    """
    body_bytes: int | None = option(
        "--body-bytes",
        LOAD,
        "size of a message body, at least 32",
        bounds=Bounds(32, GIB),
        sets="producers.body_bytes",
    )
    in_flight: int | None = option(
        "--in-flight",
        LOAD,
        "sends of one producer that may await their confirmation",
        bounds=Bounds(1, 10_000_000),
        sets="producers.in_flight",
    )
    connections: str | None = option(
        "--connections",
        CLIENTS,
        "one for each client (the scenarios' own way), pooled among those of a group, or per-message: producers "
        "connect for each message as functions do, and consumers have one each",
        choices=CONNECTION_MODES,
        sets="users.connections",
    )
    """`one` per client, `pooled` or `per-message`; see [drivers.md](drivers.md#connections). Default: the scenario's:
    `one`.
    """
    pool_size: int | None = option(
        "--pool-size",
        CLIENTS,
        "connections that producers, and consumers, of a group share in each process if pooled",
        bounds=Bounds(1, MOST_CLIENTS),
        sets="users.pool_size",
    )
    """with `pooled`: connections that the producers of a group share in each process, and as many for its consumers.
    Default: the scenario's: 1.
    """
    prefetch: int | None = option(
        "--prefetch",
        LOAD,
        "messages that a broker may send a consumer ahead",
        bounds=Bounds(1, INT_32),
        sets="consumers.prefetch",
    )
    """messages that a broker may send a consumer ahead of its acknowledgements; not for Core, which counts bytes"""
    work_ms: str | None = option(  # as `drivers.client.work` reads it
        "--work-ms",
        LOAD,
        "milliseconds that a consumer takes for a message before it acknowledges it: 5, '2..8' or 'exponential(5)'",
        sets="consumers.work_ms",
    )
    """milliseconds that a consumer takes for a message before it acknowledges it: `5`, `2..8` (each as likely) or
    `'exponential(5)'`; see [drivers.md](drivers.md#consumers-that-take-time); not for Core. Default: the scenario's: 0.
    """
    transaction_size: int | None = option(
        "--transaction-size",
        LOAD,
        "messages of a producer that arrive together or not at all",
        bounds=Bounds(1, 10_000_000),
        sets="producers.transaction_size",
    )
    """messages per transaction: a producer sends so many, commits, and waits for the broker; see
    [drivers.md](drivers.md#what-becomes-of-a-send). Default: the scenario's: no transactions.
    """
    time_to_live_s: float | None = option(
        "--ttl",
        LOAD,
        "seconds that a message lives: after them no consumer gets it any more",
        bounds=Bounds(0, math.inf, above_least=True),  # drivers.client.message_settings knows the most
        sets="producers.time_to_live_s",
    )
    """seconds that a message lives; after them no consumer gets it any more: see [messages that
    expire](scenarios.md#messages-that-expire)
    """
    message_priority: int | None = option(
        "--message-priority",
        LOAD,
        "priority of the messages, 0 to 9 (default: the scenario's)",
        bounds=Bounds(0, INT_32),  # as the most of a time to live
        sets="producers.priority",
    )
    """0 to 9; `--priority` is another option, of threads"""
    properties: str | None = option(  # JSON
        "--properties",
        LOAD,
        'of each message, as JSON; messages take several values in turn: \'{"colour": ["red", "blue"]}\'',
        sets="producers.properties",
        most_letters=100_000,
    )
    """of each message, as JSON; messages take several values in turn: `'{"colour": ["red", "blue"]}'`"""
    selector: str | None = option(
        "--selector",
        LOAD,
        "which messages consumers get: \"colour = 'red'\"; of all consumer classes",
        sets="consumers.selector",
        most_letters=20_000,
    )
    """which messages all consumers get: `"colour = 'red'"`"""
    uris: str | None = option(
        "--uris",
        CLIENTS,
        "how many brokers of its group each client is told of: all (the scenarios' own way), or one, in turn",
        choices=URIS,
        sets="users.uris",
    )
    """how many brokers of its group each client is told of: `all`, or `one`; see
    [drivers.md](drivers.md#clients-that-are-told-of-one-broker). Default: the scenario's: `all`.
    """
    failover: str | None = option(
        "--failover",
        CLIENTS,
        "options of the failover URIs, such as 'randomize=false&timeout=3000'",
    )
    """options of the clients' [failover URI](drivers.md#the-failover-uri), such as `'randomize=false&timeout=3000'`.
    Default: the topology's.
    """
    fault: str | None = option(
        "--fault",
        JUDGED,
        f"what is done during the load: 'kill(broker-2, at=10, for=15)'; {KINDS_OF_FAULTS}; instead of the scenario's "
        "own; several by ';'",
        repeats=True,
    )
    """what is done to a broker during the load, such as `'kill(broker-2, at=10, for=15)'`; see below. Default: the
    scenario's own faults.
    """
    check: str | None = option(
        "--check",
        JUDGED,
        "what must hold beside the scenario's own checks: 'latency_ms.due_to_received.p99 < 50'; several by ';'",
        repeats=True,
    )
    """what must hold for the run to pass, such as `'latency_ms.due_to_received.p99 < 50'`, beside the scenario's own
    checks
    """
    drain_s: float = option(
        "--drain-timeout",
        LOAD,
        "seconds that consumers get to empty the queues",
        default=60.0,
        bounds=Bounds(0, DAY_S, above_least=True),
    )
    seed: int = option(
        "--seed",
        LOAD,
        "seed of every random choice (default: a new one, told in the report)",
        bounds=Bounds(-(1 << 63), (1 << 63) - 1),  # run.json is read by programs whose numbers have 64 bits
    )
    runs: Path = option("--runs", KEPT, "folder that keeps the runs", default="runs", in_form=False)
    broker_memory_mb: int = option(
        "--broker-memory",
        BROKERS,
        "heap of each broker in MiB",
        default=512,
        bounds=Bounds(64, 4 << 20),
    )
    base_port: int | None = option(
        "--base-port",
        BROKERS,
        "first port of a fixed range (default: free ports)",
        bounds=Bounds(1024, 65_000),
    )
    bind_host: str = option(
        "--bind-host",
        BROKERS,
        "address of this machine where the brokers listen; with another than the default (%(default)s) they can "
        "be reached from its network, so that workers on other hosts can be their clients",
        default=LOOPBACK,
    )
    """address on which the brokers listen; see [running.md](running.md#several-load-generators)"""
    start_timeout_s: float = option(
        "--start-timeout",
        BROKERS,
        "seconds that the brokers get to come up; more on a machine with much else to do",
        default=START_TIMEOUT_S,
        bounds=Bounds(0, DAY_S, above_least=True),
    )
    keep_data: bool = option(
        "--keep-data",
        BROKERS,
        "keep the brokers' message stores in the run's folder",
    )
    """keep the brokers' message stores after the run"""
    disk_mb: int | None = option(
        "--disks",
        BROKERS,
        "give each broker's data a disk of its own of so many MiB: an ext4 file system on a loop device, as "
        "power-loss does (processes, as root)",
        bounds=Bounds(LEAST_MB, 4 << 20),
    )
    """size in MiB of a disk for each broker's data: an ext4 file system in a sparse file on a loop device, which needs
    root (`brokerbench doctor` says whether). Arms of a comparison without `power-loss` then have disks too. Default:
    none; 4096 with `power-loss`.
    """
    dry_run: bool = option(
        "--dry-run",
        KEPT,
        "check every option, print as JSON what would be run, with checks and fault times, and start nothing",
        in_form=False,
        recorded=False,
    )
    """check every option, warn of consumers that messages cannot reach, print as JSON what would be run, its checks and
    when its faults happen too, and start nothing
    """
    analyse_later: bool = option(
        "--analyse-later",
        KEPT,
        "end without results and report: `brokerbench analyse RUN RUN` computes those of many runs at once",
        in_form=False,
    )
    junit: Path | None = option(
        "--junit",
        KEPT,
        "file to write the checks to as JUnit XML; one of an earlier run is removed first",
        beside_report=True,
    )
    """file to write the checks to, as JUnit XML: [docs/ci.md](ci.md). One of an earlier run is removed as the run
    begins
    """
    markdown: Path | None = option(
        "--markdown", KEPT, "file to write a summary in Markdown to, likewise", beside_report=True
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
    session: str | None = option(  # the comparison that this run is made for, and the run's place in it
        "--session", KEPT, f"name of the comparison that this run is for, {SET_BY_COMPARE}", in_form=False
    )
    block: int | None = option(
        "--block",
        KEPT,
        f"the run's block in that comparison, {SET_BY_COMPARE}",
        bounds=Bounds(1, 1_000_000),
        in_form=False,
    )
    order: int | None = option(
        "--order", KEPT, f"the run's turn in its block, {SET_BY_COMPARE}", bounds=Bounds(1, 1_000_000), in_form=False
    )
    control: bool = option("--control", KEPT, f"the run repeats another of its block, {SET_BY_COMPARE}", in_form=False)
    """the run repeats the first arm in its block, kept in `run.json`; `brokerbench compare` sets it"""
    spark_master: str | None = option(
        "--spark-master", KEPT, "where the analysis runs (default local[*])", in_form=False
    )
    """where the analysis runs: [a Spark cluster](running.md#the-analysis-on-a-spark-cluster). Default: this machine."""

    def as_record(self) -> dict[str, str | int | float | bool | None]:
        """For run.json."""
        recorded = {name: getattr(self, name) for name, option in OPTIONS.items() if option.recorded}
        recorded |= {
            "clients": str(self.clients) if self.clients else None,
            "rate": (str(self.search) if self.search else text_of(self.steps)) or self.rate,
            # None where they were not given: as in runs of before there were such options
            "ca_file": self.trust.file or None,
            "overlay": self.overlay and self.overlay.path,
            "overlay_digest": self.overlay and self.overlay.digest,
            "unset_defaults": self.unset_defaults or None,
            "empty_queues": self.empty_queues or None,
        }
        return {name: str(value) if isinstance(value, Path) else value for name, value in recorded.items()}

    @property
    def files(self) -> dict[str, Path]:
        """The files to write beside the report, by the options that name them."""
        paths = {option.name: getattr(self, name) for name, option in OPTIONS.items() if option.beside_report}
        return {name: path for name, path in paths.items() if path}

    @property
    def wanted(self) -> Wanted:
        """The options that concern the brokers."""
        own = {field.name: getattr(self, field.name) for field in fields(Wanted)}
        return Wanted(**own | {"overlay": self.overlay and self.overlay.path})


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
"""Each option by its field in `Options`."""
