"""Checks that every catalogue entry with every pair of parameters can be built and run, and has a name."""

import inspect
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from functools import lru_cache
from itertools import combinations, product

import pytest

from brokerbench import Hold, Scenario, no_acked_send_lost
from drivers.users.locust_users import ConsumerUser, ProducerUser
from harness import machine
from harness.options import run_options
from harness.options.arguments import add_arguments
from harness.options.plan import Plan, make
from harness.options.run_options import read
from topologies.catalogue.lookup import build
from topologies.classic.networks.one_or_two_brokers import source_and_sink
from topologies.model.generated_names import fitting_name
from topologies.model.validity import LONGEST_NAME, NAME, TopologyInvalid
from topologies.products import ENTRIES

LARGEST = (1 << 31) - 1
VALUES: dict[str, tuple[object, ...]] = {
    "address_filter": ("", "!orders"),
    "branches": (2, 3),
    "brokers": (3, 4),
    "brokers_each": (3, 2),
    "centres": (2, 3),
    "consumer_ttl": (1, 3, LARGEST),
    "depth": (2, 1),
    "discovery": ("static", "multicast"),
    "edges": (3, 5),
    "gateways": (2, 3),
    "ha": ("shared-store", "replication"),
    "links": (1, 3),
    "match": ("#", "steady"),
    "max_hops": (1, 2),
    "message_load_balancing": ("ON_DEMAND", "STRICT", "OFF", "OFF_WITH_REDISTRIBUTION"),
    "message_ttl": (1, 3, LARGEST),
    "pairs": (3, 2),
    "queue_connectors": (2, 20),
    "queues": ("steady", "steady,prices"),
    "rate_limit": (0, 10, LARGEST),
    "reconnect_attempts": (-1, 5, LARGEST),
    "redistribution_delay_ms": (-1, 0, LARGEST),
    "retry_interval_ms": (500, LARGEST),
    "spokes": (3, 5),
    "static_queue": ("", "steady"),
    "transport": ("tcp", "nio", "ssl", "nio+ssl"),
    "ttl": (5, 1, LARGEST),
    "ring ttl": (0, 2, 3),
    "ring consumer_ttl": (0, 2, 3),
}
"""Values of each parameter that is not a flag, and of parameters with another meaning in one entry.

A new parameter needs a row.
"""
NEEDS_A_LONGER_WAY = "a message that returns has already crossed a link: write message_ttl=2 or more"


class Producer(ProducerUser):
    group, destination, fixed_count = "producers", "queue://steady", 2


class Consumer(ConsumerUser):
    group, destination, fixed_count = "consumers", "queue://steady", 2


SCENARIO = Scenario((Producer, Consumer), "mesh", Hold(for_s=30), (no_acked_send_lost(),))


def values_of(entry: str, parameter: inspect.Parameter) -> tuple[object, ...]:
    if isinstance(parameter.default, bool):
        return False, True
    return VALUES.get(f"{entry} {parameter.name}") or VALUES[parameter.name]


def settings(entry: str, together: int) -> Iterator[dict[str, object]]:
    """Return all combinations of values for each ``together`` parameters of an entry, or for all if it has fewer."""
    parameters = inspect.signature(ENTRIES[entry]).parameters.values()
    for some in combinations(parameters, min(together, len(parameters))):
        for values in product(*(values_of(entry, parameter) for parameter in some)):
            yield {parameter.name: value for parameter, value in zip(some, values, strict=True)}


def written(entry: str, arguments: dict[str, object]) -> str:
    return f"{entry}({', '.join(f'{name}={value!r}' for name, value in arguments.items())})" if arguments else entry


@lru_cache
def defaults() -> Namespace:
    parser = ArgumentParser()
    add_arguments(parser, SCENARIO)
    return parser.parse_args(["--runtime", "processes"])


def dry_run(topology: str) -> Plan:
    protocol = "amqp" if topology.startswith("router-peer") else None
    chosen = Namespace(**{**vars(defaults()), "topology": topology, "protocol": protocol})
    return make(SCENARIO, read(chosen, SCENARIO, None))


@pytest.mark.parametrize("entry", ENTRIES)
def test_every_pair_of_parameters_can_be_run(entry: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pairs that a rule of the entry rejects are skipped."""
    monkeypatch.setattr(
        run_options, "missing", lambda _protocol: ""
    )  # no connection is made: AMQP's library may be missing
    monkeypatch.setattr(machine, "versions", lru_cache(machine.versions))
    monkeypatch.setattr(machine, "describe", lru_cache(machine.describe))
    made = 0
    for arguments in settings(entry, together=2):
        if arguments.get("replay") and arguments.get("message_ttl", 1) == 1:
            with pytest.raises(TopologyInvalid, match=NEEDS_A_LONGER_WAY):
                build(written(entry, arguments))
            continue
        name = dry_run(written(entry, arguments)).topology.name
        assert NAME.fullmatch(name)
        assert len(name) <= LONGEST_NAME
        made += 1
    assert made >= 1


def test_every_source_and_sink_has_its_own_name() -> None:
    """Tests all combinations of the parameters, not only pairs."""
    parameters = len(inspect.signature(source_and_sink).parameters)
    names = [source_and_sink(**arguments).name for arguments in settings("source-and-sink", parameters)]  # type: ignore[arg-type]
    assert len({*names}) == len(names) == 2**5 * 4 * 3
    assert max(map(len, names)) == LONGEST_NAME


def test_a_name_that_fits_stays_and_a_longer_one_is_abbreviated() -> None:
    manuals = build("source-and-sink(consumers_at_both=True, decrease_network_consumer_priority=False)")
    assert manuals.name == "source-and-sink-consumers-at-both-same-priority"
    longer = source_and_sink(
        consumers_at_both=True, decrease_network_consumer_priority=False, conduit_subscriptions=False
    )
    assert longer.name == "source-and-sink-at-both-each-sub-same-prio"


def test_a_name_that_nothing_abbreviates_is_cut_and_stays_unique() -> None:
    names = ["".join(letters) for letters in product("ab", repeat=3)]
    long_names = [f"{'chain-' * 12}{name}" for name in names]
    fitting = [fitting_name(name) for name in long_names]
    assert len({*fitting}) == len(names)
    assert all(len(name) <= LONGEST_NAME and NAME.fullmatch(name) for name in fitting)
    assert [fitting_name(name) for name in long_names] == fitting
    assert all(name.startswith("chain-chain-") for name in fitting)
