"""Is what was asked of a run sensible?

`scenarios.harness.arguments` says what can be asked; `read` turns the parsed namespace into one frozen value or raises
`OptionError` with one sentence.
"""

import math
import random
from argparse import Namespace
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, TypeVar

from drivers.habits import HABITS
from drivers.protocols import Spoken, missing
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
