"""What can be asked of a run on Locust's command line, and is it sensible?

The arguments are added to Locust's own parser (the web UI's form shows them too); `read` turns the parsed namespace
into one frozen value or raises `OptionError` with one sentence.
"""

import math
import random
from argparse import Action, ArgumentParser, Namespace
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, TypeVar

from drivers.habits import HABITS
from drivers.protocols import PROTOCOLS, Spoken, missing
from scenarios.harness.scenario import Scenario
from topologies.catalogue import built
from topologies.runtimes.addresses import addresses_here, no_address_to_bind
from topologies.runtimes.choice import RUNTIMES, Look, RuntimeImpossible, choose, containers_for, look_here
from topologies.runtimes.making import Wanted, WishesConflict
from topologies.runtimes.ports import LOOPBACK
from topologies.trust import Trust, TrustInvalid

Value = TypeVar("Value", int, float)
DRAIN_S = 60.0
BROKER_MEMORY_MB = 512


class OptionError(ValueError):
    """An option has a value that no run can be made of: names the option, the value, the rule and the next step."""


@dataclass(frozen=True)
class Options:
    """Everything that a user chose for one run; None where the scenario's own value holds."""

    topology: str
    runtime: str
    runtime_reason: str
    image: str | None
    protocol: str
    load_s: float | None
    messages: int | None
    warm_up_s: float
    rate: float | None
    producers: int | None
    consumers: int | None
    body_bytes: int | None
    in_flight: int | None
    connections: str | None
    pool_size: int | None
    transaction_size: int | None
    failover: str | None
    drain_s: float
    seed: int
    runs: Path
    broker_memory_mb: int
    base_port: int | None
    bind_host: str
    keep_data: bool
    lag_limit_ms: float | None
    spark_master: str | None
    brokers_file: Path | None = None
    link: str | None = None
    trust: Trust = field(default_factory=Trust)

    def as_record(self) -> dict[str, str | int | float | bool | None]:
        """For run.json."""
        names = (field.name for field in fields(self) if field.name not in ("runtime_reason", "trust"))
        values = {name: getattr(self, name) for name in names} | {"ca_file": self.trust.file or None}
        return {name: str(value) if isinstance(value, Path) else value for name, value in values.items()}

    @property
    def wanted(self) -> Wanted:
        """What of it concerns the brokers."""
        return Wanted(
            self.runtime,
            self.image,
            self.broker_memory_mb,
            self.base_port,
            self.bind_host,
            self.keep_data,
            self.brokers_file,
            self.trust,
        )


class Joined(Action):
    """An option that may be given more than once: what each says, joined by ``;``, as it may be written at once."""

    def __call__(
        self, parser: ArgumentParser, namespace: Namespace, values: Any, option_string: str | None = None
    ) -> None:
        before = getattr(namespace, self.dest)
        setattr(namespace, self.dest, f"{before};{values}" if before else values)


def add_arguments(parser: Any, scenario: Scenario) -> None:
    """Add brokerbench's arguments to Locust's parser."""
    group = parser.add_argument_group("brokerbench", "What is run on which brokers")

    def add(*names: str, in_web_ui: bool = True, **settings: Any) -> None:
        action = group.add_argument(*names, **settings)
        action.include_in_web_ui = in_web_ui
        action.is_secret = action.is_required = action.is_multiple = False  # as Locust's own add_argument sets them

    _add_what_runs_where(add, scenario)
    add("--protocol", default="", help=f"what the clients speak: {', '.join(PROTOCOLS)}; or PRODUCERS:CONSUMERS")
    add("--messages", type=int, default=None, help="end the load after so many messages in all, instead of by time")
    add("--warm-up", type=float, default=None, help=f"seconds before the load counts (default {scenario.warm_up_s:g})")
    add("--rate", type=float, default=None, help="sends a second of all producers together")
    add("--producers", type=int, default=None, help="how many producers (default: the scenario's)")
    add("--consumers", type=int, default=None, help="how many consumers (default: the scenario's)")
    add("--body-bytes", type=int, default=None, help="size of a message body, at least 32")
    add("--in-flight", type=int, default=None, help="sends of one producer that may await their confirmation")
    add(
        "--connections",
        default="",
        choices=("", *HABITS),
        help="one for each client (the scenarios' own way), pooled among those of a group, or per-message: producers "
        "connect for each message as functions do, and consumers have one each",
    )
    add(
        "--pool-size",
        type=int,
        default=None,
        help="connections that producers, and consumers, of a group share in each process if pooled",
    )
    add("--transaction-size", type=int, default=None, help="messages of a producer that arrive together or not at all")
    add("--failover", default=None, help="options of the failover URIs, such as 'randomize=false&timeout=3000'")
    add("--drain-timeout", type=float, default=DRAIN_S, help="seconds that consumers get to empty the queues")
    add("--seed", type=int, default=None, help="seed of every random choice (default: a new one, told in the report)")
    add("--runs", default="runs", help="folder that keeps the runs", in_web_ui=False)
    add("--broker-memory", type=int, default=BROKER_MEMORY_MB, help="heap of each broker in MiB")
    add("--base-port", type=int, default=None, help="first port of a fixed range (default: free ports)")
    add(
        "--bind-host",
        default=LOOPBACK,
        help="address of this machine where the brokers listen; with another than the default (%(default)s) they can "
        "be reached from its network, so that workers on other hosts can be their clients",
    )
    add("--keep-data", action="store_true", help="keep the brokers' message stores in the run's folder")
    add("--lag-limit", type=float, default=None, help="p99 of the generator's lag in ms above which a run is invalid")
    add("--spark-master", default=None, help="where the analysis runs (default local[*])", in_web_ui=False)


def _add_what_runs_where(add: Callable[..., None], scenario: Scenario) -> None:
    add(
        "--topology",
        default=scenario.default_topology,
        help="catalogue entry, such as 'mesh(brokers=5)', or a YAML file",
    )
    add(
        "--link",
        default="",
        action=Joined,
        help="what links are like: 'LINK:delay=40ms,jitter=5ms,bandwidth=10MB/s', where LINK is a link's name, all "
        "between two brokers or regions (A<->B), or *; several by ';'",
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


def read(
    namespace: Namespace,
    scenario: Scenario,
    load_s: float | None,
    look: Look = look_here,
) -> Options:
    """The options of the next run. ``load_s`` is Locust's ``--run-time``. Raises OptionError.

    ``look``: what there is for containers; asked if they come into question.
    """
    seed = _integer(namespace, "seed")
    messages = _integer(namespace, "messages")
    default_warm_up_s = 0.0 if messages is not None else scenario.warm_up_s
    warm_up_s = _number(namespace, "warm_up")
    drain_s = _number(namespace, "drain_timeout")
    broker_memory_mb = _integer(namespace, "broker_memory")
    runtime = namespace.runtime or _runtime_implied(namespace)
    options = Options(
        topology=namespace.topology or scenario.default_topology,
        runtime=runtime,
        runtime_reason="",
        image=namespace.image or None,
        protocol=namespace.protocol or ("memory" if runtime == "memory" else "stomp"),
        load_s=load_s,
        messages=messages,
        warm_up_s=default_warm_up_s if warm_up_s is None else warm_up_s,
        rate=_number(namespace, "rate"),
        producers=_integer(namespace, "producers"),
        consumers=_integer(namespace, "consumers"),
        body_bytes=_integer(namespace, "body_bytes"),
        in_flight=_integer(namespace, "in_flight"),
        connections=namespace.connections or None,
        pool_size=_integer(namespace, "pool_size"),
        transaction_size=_integer(namespace, "transaction_size"),
        failover=namespace.failover or None,
        drain_s=DRAIN_S if drain_s is None else drain_s,
        seed=random.SystemRandom().randrange(1 << 31) if seed is None else seed,
        runs=Path(namespace.runs),
        broker_memory_mb=BROKER_MEMORY_MB if broker_memory_mb is None else broker_memory_mb,
        base_port=_integer(namespace, "base_port"),
        bind_host=namespace.bind_host or LOOPBACK,
        keep_data=bool(namespace.keep_data),
        lag_limit_ms=_number(namespace, "lag_limit"),
        spark_master=namespace.spark_master or None,
        brokers_file=Path(namespace.brokers_file) if namespace.brokers_file else None,
        link=namespace.link or None,
    )
    _check(options)
    try:
        chosen = choose(runtime, options.image, containers_for(built(options.topology, options.link), look))
        trust = Trust.read(Path(namespace.ca_file)) if namespace.ca_file else Trust()
        options = replace(options, runtime=chosen.runtime, runtime_reason=chosen.reason, trust=trust)
        options.wanted.check()
    except TrustInvalid as error:
        raise OptionError(f"--ca-file {error}") from error
    except (RuntimeImpossible, WishesConflict) as error:
        raise OptionError(str(error)) from error
    return options


def _runtime_implied(namespace: Namespace) -> str:
    """By the options that only one runtime takes; '' where there is none."""
    if namespace.protocol == "memory":
        return "memory"
    return "external" if namespace.brokers_file else ""


def _number(namespace: Namespace, name: str) -> float | None:
    number = _parsed(namespace, name, float, "a number")
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
    try:
        return parse(value)
    except ValueError as error:
        raise OptionError(f"--{name.replace('_', '-')} {value}: must be {rule}") from error


_AT_LEAST: tuple[tuple[str, str, float, bool], ...] = (
    # option, field, bound, whether the bound itself is allowed
    ("--run-time", "load_s", 0, False),
    ("--messages", "messages", 1, True),
    ("--warm-up", "warm_up_s", 0, True),
    ("--rate", "rate", 0, False),
    ("--producers", "producers", 1, True),
    ("--consumers", "consumers", 1, True),
    ("--body-bytes", "body_bytes", 32, True),
    ("--in-flight", "in_flight", 1, True),
    ("--pool-size", "pool_size", 1, True),
    ("--transaction-size", "transaction_size", 1, True),
    ("--drain-timeout", "drain_s", 0, False),
    ("--broker-memory", "broker_memory_mb", 64, True),
    ("--lag-limit", "lag_limit_ms", 0, False),
)


def _check(options: Options) -> None:
    if options.runtime not in ("", *RUNTIMES):
        raise OptionError(f"--runtime {options.runtime}: not known; write one of {', '.join(RUNTIMES)}")
    if options.connections not in (None, *HABITS):
        raise OptionError(f"--connections {options.connections}: not known; write one of {', '.join(HABITS)}")
    _check_protocol(options.protocol)
    if (options.protocol == "memory") != (options.runtime == "memory"):
        raise OptionError(
            f"--protocol {options.protocol} --runtime {options.runtime}: "
            "memory goes with memory only; leave one of them out"
        )
    for option, name, bound, inclusive in _AT_LEAST:
        value = getattr(options, name)
        if value is not None and (value < bound or (value == bound and not inclusive)):
            rule = f"must be {'at least' if inclusive else 'more than'} {bound:g}"
            raise OptionError(f"{option} {value:g}: {rule}; leave it out for the scenario's own value")
    if options.base_port is not None and not 1024 <= options.base_port <= 65000:
        raise OptionError(f"--base-port {options.base_port}: must lie between 1024 and 65000")
    if options.bind_host != LOOPBACK and options.runtime == "memory":
        raise OptionError(f"--bind-host {options.bind_host}: brokers in memory listen nowhere; leave it out")
    if why := no_address_to_bind(options.bind_host, addresses_here()):
        raise OptionError(f"--bind-host {options.bind_host}: {why}")


def _check_protocol(text: str) -> None:
    try:
        spoken = Spoken.parse(text)
    except ValueError as error:
        raise OptionError(f"--protocol {text}: {error}") from error
    for protocol in spoken.distinct:
        if problem := missing(protocol):
            raise OptionError(f"--protocol {text}: {problem}")
