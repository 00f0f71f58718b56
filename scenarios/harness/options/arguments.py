"""Adds brokerbench's options to Locust's command line; the web UI's form shows them too.

`scenarios.harness.options.run_options.read` makes frozen values of the parsed arguments.
"""

from argparse import Action, ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable
from functools import partial
from typing import Any

from drivers.client.connection_modes import CONNECTION_MODES, URIS
from drivers.protocols import PROTOCOLS
from scenarios.harness.options.run_options import BROKER_MEMORY_MB, DRAIN_S, PRIORITIES
from scenarios.harness.run.warm_up import AT_LEAST_S, AT_MOST_S
from scenarios.harness.scenario import Scenario
from topologies.model.launch import LOOPBACK
from topologies.products import PRODUCTS
from topologies.runtimes.capabilities import RUNTIMES
from topologies.runtimes.distribution import pinned_versions
from topologies.runtimes.own import START_TIMEOUT_S

SECTIONS = ("Topology and brokers", "Clients", "Load", "Faults and checks", "Results")


class Joined(Action):
    """An option that may be given more than once: what each says, joined by ``;``, as it may be written at once."""

    def __call__(
        self, parser: ArgumentParser, namespace: Namespace, values: Any, option_string: str | None = None
    ) -> None:
        before = getattr(namespace, self.dest)
        setattr(namespace, self.dest, f"{before};{values}" if before else values)


def add_arguments(parser: Any, scenario: Scenario) -> None:
    """Add brokerbench's arguments to Locust's parser. The web form shows them in the order in which they are added."""
    _refuse_endless_run_time(parser)
    brokers, clients, load, judged, kept = (_adder(parser.add_argument_group(title)) for title in SECTIONS)
    _add_what_runs_where(brokers, scenario)
    clients(
        "--protocol",
        default="",
        help=f"what the clients speak: {', '.join(PROTOCOLS)}; or PRODUCERS:CONSUMERS "
        f"(default: {scenario.default_protocol})",
    )
    _add_load(load, clients, scenario)
    clients(
        "--uris",
        default="",
        choices=("", *URIS),
        help="how many brokers of its group each client is told of: all (the scenarios' own way), or one, in turn",
    )
    clients("--failover", default=None, help="options of the failover URIs, such as 'randomize=false&timeout=3000'")
    judged(
        "--fault",
        default="",
        action=Joined,
        help="what is done during the load: 'kill(broker-2, at=10, for=15)'; to brokers kill, stop, restart, freeze, "
        "rolling-restart, disconnect, full-store or join, to links cut, blackhole, slow or stop-link; instead of the "
        "scenario's own; several by ';'",
    )
    judged(
        "--check",
        default="",
        action=Joined,
        help="what must hold beside the scenario's own checks: 'latency_ms.due_to_received.p99 < 50'; several by ';'",
    )
    load("--drain-timeout", type=float, default=DRAIN_S, help="seconds that consumers get to empty the queues")
    load("--seed", type=int, default=None, help="seed of every random choice (default: a new one, told in the report)")
    kept("--runs", default="runs", help="folder that keeps the runs", in_web_ui=False)
    brokers("--broker-memory", type=int, default=BROKER_MEMORY_MB, help="heap of each broker in MiB")
    brokers("--base-port", type=int, default=None, help="first port of a fixed range (default: free ports)")
    brokers(
        "--bind-host",
        default=LOOPBACK,
        help="address of this machine where the brokers listen; with another than the default (%(default)s) they can "
        "be reached from its network, so that workers on other hosts can be their clients",
    )
    brokers(
        "--start-timeout",
        type=float,
        default=START_TIMEOUT_S,
        help="seconds that the brokers get to come up; more on a machine with much else to do",
    )
    brokers("--keep-data", action="store_true", help="keep the brokers' message stores in the run's folder")
    _add_analysis(kept)


def _refuse_endless_run_time(parser: Any) -> None:
    """Locust's own ``-t`` lets Python's OverflowError out."""
    for action in parser._actions:
        if action.dest == "run_time" and action.type is not None:
            action.type = partial(_run_time_s, action.type)


def _run_time_s(timespan: Callable[[str], int], text: str) -> int:
    """``timespan``: Locust's own reading."""
    try:
        return timespan(text)
    except (OverflowError, ValueError, ArgumentTypeError) as error:
        raise ArgumentTypeError(f"{text!r}; write a time of at most 31 days, such as 30s, 5m or 1h20m") from error


def _adder(group: Any) -> Callable[..., None]:
    """Adds arguments to this group of the parser."""

    def add(*names: str, in_web_ui: bool = True, **settings: Any) -> None:
        if "choices" in settings:  # '' stands for an option that is not given: no value to offer in a help
            settings["metavar"] = "{" + ",".join(filter(None, settings["choices"])) + "}"
        action = group.add_argument(*names, **settings)
        action.include_in_web_ui = in_web_ui
        action.is_secret = action.is_required = action.is_multiple = False  # as Locust's own add_argument sets them

    return add


def _add_load(add: Callable[..., None], clients: Callable[..., None], scenario: Scenario) -> None:
    add("--messages", type=int, default=None, help="end the load after so many messages in all, instead of by time")
    add("--warm-up", type=float, default=None, help=f"seconds before the load counts (default: {_warm_up(scenario)})")
    add(
        "--rate",
        default=None,
        help="sends a second of all producers together; or steps of a load, such as '100,200,400@20s': three rates of "
        "20 s each; '100..1000@60s' is one that rises evenly; 'search' looks for the highest rate that is held",
    )
    add(
        "--priority",
        default="",
        choices=("", *PRIORITIES),
        help="of the threads that send and receive: realtime keeps them on time beside other work on the machine "
        "(Linux, where brokerbench doctor says that it is permitted); given back if they use most of a core",
    )
    add(
        "--clients",
        default=None,
        help="numbers of clients in steps, of a scenario that adds clients while the load runs: '50,100,200@10s'; "
        "'50,100@10s,connect=2000,p99=500' with the milliseconds that clients may take to connect, and messages",
    )
    add("--producers", type=int, default=None, help="how many producers (default: the scenario's)")
    add("--consumers", type=int, default=None, help="how many consumers (default: the scenario's)")
    add(
        "--destinations",
        type=int,
        default=None,
        help="how many destinations the users of a class share (default: the scenario's); the destination in the "
        "scenario needs a place for the number, as queue://orders.{n} has",
    )
    add("--body-bytes", type=int, default=None, help="size of a message body, at least 32")
    add("--in-flight", type=int, default=None, help="sends of one producer that may await their confirmation")
    clients(
        "--connections",
        default="",
        choices=("", *CONNECTION_MODES),
        help="one for each client (the scenarios' own way), pooled among those of a group, or per-message: producers "
        "connect for each message as functions do, and consumers have one each",
    )
    clients(
        "--pool-size",
        type=int,
        default=None,
        help="connections that producers, and consumers, of a group share in each process if pooled",
    )
    add("--prefetch", type=int, default=None, help="messages that a broker may send a consumer ahead")
    add(
        "--work-ms",
        default=None,
        help="milliseconds that a consumer takes for a message before it acknowledges it: 5, '2..8' or "
        "'exponential(5)'",
    )
    add("--transaction-size", type=int, default=None, help="messages of a producer that arrive together or not at all")
    _add_messages(add)


def _add_messages(add: Callable[..., None]) -> None:
    add("--ttl", type=float, default=None, help="seconds that a message lives: after them no consumer gets it any more")
    add("--message-priority", type=int, default=None, help="priority of the messages, 0 to 9 (default: the scenario's)")
    add(
        "--properties",
        default=None,
        help='of each message, as JSON; messages take several values in turn: \'{"colour": ["red", "blue"]}\'',
    )
    add("--selector", default=None, help="which messages consumers get: \"colour = 'red'\"; of all consumer classes")


def _add_analysis(add: Callable[..., None]) -> None:
    add(
        "--dry-run",
        action="store_true",
        help="check every option, print as JSON what would be run, with checks and fault times, and start nothing",
        in_web_ui=False,
    )
    add(
        "--analyse-later",
        action="store_true",
        help="end without results and report: `brokerbench analyse RUN RUN` computes those of many runs at once",
        in_web_ui=False,
    )
    add(
        "--junit",
        default=None,
        help="file to write the checks to as JUnit XML; one of an earlier run is removed first",
        in_web_ui=False,
    )
    add("--markdown", default=None, help="file to write a summary in Markdown to, likewise", in_web_ui=False)
    kept = "kept in run.json; `brokerbench compare` sets it"
    add("--session", default=None, help=f"name of the comparison that this run is for, {kept}", in_web_ui=False)
    add("--block", type=int, default=None, help=f"the run's block in that comparison, {kept}", in_web_ui=False)
    add("--order", type=int, default=None, help=f"the run's turn in its block, {kept}", in_web_ui=False)
    add("--control", action="store_true", help=f"the run repeats another of its block, {kept}", in_web_ui=False)
    add("--spark-master", default=None, help="where the analysis runs (default local[*])", in_web_ui=False)


def _warm_up(scenario: Scenario) -> str:
    if scenario.warm_up_s is not None:
        return f"{scenario.warm_up_s:g}"
    return f"until the median latency settles, at least {AT_LEAST_S} and at most {AT_MOST_S:g}"


def _add_what_runs_where(add: Callable[..., None], scenario: Scenario) -> None:
    add(
        "--topology",
        default=scenario.default_topology,
        help="catalogue entry, such as 'mesh(brokers=5)', or a YAML file "
        f"(default: {scenario.default_topology.replace('%', '%%')})",
    )
    add(
        "--link",
        default="",
        action=Joined,
        help="what links are like: 'LINK:delay=40ms,jitter=5ms,bandwidth=10MB/s', where LINK is a link's name, all "
        "between two brokers or regions (A<->B), regions for all between regions, or *; several by ';'",
    )
    add("--client-version", default=None, help="version of OpenWire's or Core's Java clients, as of --broker-version")
    add(
        "--overlay",
        default=None,
        help="YAML file with settings of brokers and of their JVMs, laid over those of the topology",
    )
    add(
        "--unset-defaults",
        action="store_true",
        help="write only what the topology and the overlay set into the brokers' files; all else is the brokers' own",
    )
    add(
        "--runtime",
        default="",
        choices=("", *RUNTIMES),
        help="where the brokers run (default: containers if possible)",
    )
    add(
        "--brokers-file",
        default=None,
        help="YAML file: where brokers run already (--runtime external)",
        in_web_ui=False,
    )
    add(
        "--ca-file",
        default=None,
        help="authorities to trust for TLS, in PEM (default: this machine's)",
        in_web_ui=False,
    )
    add("--image", default=None, help="image of the brokers' containers (default: upstream's)")
    add("--broker-version", default=None, help=f"version of the brokers as processes: {_versions()}")
    add(
        "--distribution",
        default=None,
        help="a build of the brokers to run as processes: an unpacked distribution, or its .tar.gz or .zip",
    )


def _versions() -> str:
    """By product, the default version first."""
    known = {name: pinned_versions(product.launch.distribution) for name, product in PRODUCTS.items()}
    return "; ".join(f"{name} {', '.join(versions)}" for name, versions in known.items())
