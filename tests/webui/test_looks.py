"""Checks what a watcher reads from a run: last samples, connected clients, send lag, and an early end."""

import re
import time
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from brokerbench import Hold, Scenario, no_acked_send_lost
from drivers.memory.connector import MemoryConnector
from drivers.protocols import Spoken
from drivers.users.locust_users import ConsumerUser, ProducerUser
from drivers.users.session import Network, Session, Tally, Window
from harness.faults import FreezeBroker
from harness.memory_runtime import MemoryRuntime
from harness.options import plan
from harness.options.arguments import add_arguments
from harness.options.run_options import read
from harness.options.user_classes import settings
from harness.run.controller import RunController
from records.errors import UserError
from records.store.rundir import RunDirectory
from records.store.writer import Recorder
from tests.management.test_sampling import AgentMap, CollectingSink
from topologies.classic.broker import Broker
from topologies.classic.product import CLASSIC
from topologies.management.sampling import Row, Sampler
from topologies.model.endpoints import Credentials
from topologies.model.topology import Topology


class Producer(ProducerUser):
    group, fixed_count = "producers", 2


class Consumer(ConsumerUser):
    group, fixed_count = "consumers", 3


def scenario(*faults: FreezeBroker) -> Scenario:
    return Scenario((Producer, Consumer), "single", Hold(for_s=30), (no_acked_send_lost(),), faults)


def namespace(**changes: Any) -> Namespace:
    parser = ArgumentParser()
    add_arguments(parser, scenario())
    return Namespace(**{**vars(parser.parse_args(["--runtime", "memory"])), **changes})


# -- values from the form are text -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("field", "text", "refusal"),
    [
        ("rate", "many", "--rate many: must be a number"),
        ("rate", "nan", "--rate nan: must be a finite number"),
        ("warm_up", "inf", "--warm-up inf: must be a finite number"),
        ("producers", "2.5", "--producers 2.5: must be a whole number"),
        ("broker_memory", "lots", "--broker-memory lots: must be a whole number"),
        ("drain_timeout", "-1", "--drain-timeout -1: must be more than 0"),
        ("runtime", "cloud", "--runtime cloud: unknown runtime"),
        ("broker_version", "5.16.6", "--broker-version 5.16.6 --runtime memory: no broker is started; leave it out"),
        ("distribution", "/mine", "--distribution /mine --runtime memory: no broker is started; leave it out"),
    ],
)
def test_a_field_that_is_no_value_is_told_in_one_line(field: str, text: str, refusal: str) -> None:
    with pytest.raises(UserError) as raised:
        read(namespace(**{field: text}), scenario(), None)
    assert str(raised.value).startswith(refusal)
    assert "\n" not in str(raised.value)


def test_emptied_fields_have_their_defaults() -> None:
    empty = {"rate": "", "drain_timeout": "", "broker_memory": "", "seed": "", "messages": "None", "warm_up": ""}
    empty |= {"broker_version": "", "distribution": ""}
    options = read(namespace(**empty), scenario(), None)
    assert (options.rate, options.messages, options.warm_up_s) == (None, None, None)
    assert (options.drain_s, options.broker_memory_mb) == (60, 512)
    assert (options.broker_version, options.distribution) == (None, None)


def test_a_large_seed_stays_what_it_is() -> None:
    assert read(namespace(seed="9007199254740993"), scenario(), None).seed == 9007199254740993


def test_one_run_cannot_see_what_another_run_chose() -> None:
    users = (Producer, Consumer)
    defaults = settings(users)
    first = plan.make(scenario(), read(namespace(producers="5", rate="100", body_bytes="64"), scenario(), None))
    second = plan.make(scenario(), read(namespace(), scenario(), None))
    chosen = {"fixed_count": 5, "sends_per_second": 20, "body_bytes": 64}
    assert settings(first.users) == {**defaults, "Producer": defaults["Producer"] | chosen}
    assert settings(second.users) == settings(users) == defaults


# -- the visible state of a run ----------------------------------------------------------------------------------------


def test_the_sampler_keeps_the_last_two_readings_of_each_series() -> None:
    sampler = Sampler(AgentMap({}), Topology("t", (Broker("n1"),), (), (), CLASSIC), CollectingSink(), process="main")
    for at_ns, value in ((1, 10), (2, 20), (3, 35)):
        sampler._record([Row("n1", at_ns, "process", "", "cpu_ns", value)])
    [reading] = sampler.latest.values()
    assert (reading.now.value, reading.before and reading.before.value) == (35, 20)
    assert list(sampler.latest) == [("n1", "process", "", "cpu_ns")]


@pytest.fixture
def recorder(tmp_path: Path) -> Iterator[Recorder]:
    writer = Recorder(RunDirectory.create(tmp_path, "run"), "main")
    yield writer
    writer.close()


def test_a_session_tells_how_many_clients_of_each_group_are_connected_where(recorder: Recorder) -> None:
    memory = MemoryRuntime(["b1"])
    address = memory.endpoint("b1", "memory").uri
    uris = {"memory": {"producers": f"failover:({address})"}}
    network = Network(Spoken.parse("memory"), Credentials("", ""), uris, {address.partition("://")[2]: "b1"})
    session = Session(
        network=network, connectors={"memory": MemoryConnector(memory.network)}, recorder=recorder, run_number=1,
        seed=1, process_index=0, clock=lambda: 0,
    )  # fmt: skip
    client, other_client = session.client("producer", "producers"), session.client("producer", "producers")
    assert session.connected() == Counter()
    client.open()
    other_client.open()
    assert session.connected() == Counter({("producers", "b1"): 2})
    client.close()
    assert session.connected() == Counter({("producers", "b1"): 1})
    other_client.close()
    memory.close()


# -- the stop button ---------------------------------------------------------------------------------------------------


class FakeLoadGenerators:
    """No load generators: a snapshot of a run needs no clients."""

    def tally(self) -> Tally:
        return Tally()

    def connected(self) -> dict[tuple[str, str], int]:
        return {}

    def stop_producing(self) -> None:
        pass


def controller(tmp_path: Path, load_began_ns: int | None, *faults: FreezeBroker) -> RunController:
    planned = scenario(*faults)
    options = read(namespace(runs=str(tmp_path / "runs")), planned, 30.0)
    run = RunController(plan.make(planned, options), lambda recorder, brokers: FakeLoadGenerators(), "main")  # type: ignore[arg-type, return-value]
    if load_began_ns is not None:
        run.load.window = Window(load_began_ns, load_began_ns, load_began_ns + 30_000_000_000)
    return run


def test_a_load_stopped_by_hand_is_the_runs_own_with_a_warning(tmp_path: Path) -> None:
    run = controller(tmp_path, time.perf_counter_ns() - 7_100_000_000)
    run.stop()
    run.stop()
    assert not run.interrupted
    warning = re.fullmatch(r"stopped manually in the web UI, (\d+) s into the load", run.info.warnings[-1])
    assert warning
    assert 7 <= int(warning[1]) < 30
    assert len(run.info.warnings) == 1
    run.brokers.close()


@pytest.mark.parametrize("ago_s", [None, -20, 7])
def test_a_run_stopped_before_its_load_or_its_last_fault_is_interrupted(tmp_path: Path, ago_s: int | None) -> None:
    faults = (FreezeBroker("broker-1", at_s=5, for_s=20),) if ago_s == 7 else ()
    run = controller(tmp_path, None if ago_s is None else time.perf_counter_ns() - ago_s * 1_000_000_000, *faults)
    run.stop()
    assert run.interrupted
    run.brokers.close()


@pytest.mark.parametrize("interrupted", [True, False])
def test_what_fails_while_an_interrupt_takes_brokers_down_is_no_fault_of_our_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, interrupted: bool
) -> None:
    run = controller(tmp_path, None)

    def up(*_: object, **__: object) -> None:
        if interrupted:
            run.interrupt()
        raise IndexError("a list of nothing")

    monkeypatch.setattr(run.brokers, "up", up)
    with pytest.raises(UserError if interrupted else IndexError) as raised:
        run.begin()
    assert str(raised.value) == ("interrupted before the load began" if interrupted else "a list of nothing")
    assert run.info.state == ("interrupted" if interrupted else "failed")


def test_a_snapshot_of_a_run_that_has_not_begun_is_no_error(tmp_path: Path) -> None:
    run = controller(tmp_path, None, FreezeBroker("broker-1", at_s=5, for_s=3))
    snapshot = run.snapshot()
    assert (snapshot.steps, snapshot.over, snapshot.brokers) == ((), False, {"broker-1": "not running"})
    assert [(fault.kind, fault.state) for fault in snapshot.faults] == [("freeze", "planned")]
    run.brokers.close()
