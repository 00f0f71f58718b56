"""Checks which workers a distributed run rejects, at the master and at the worker, without a real channel."""

import importlib.util
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from drivers.protocols import Spoken
from drivers.users import ConsumerUser, ProducerUser
from drivers.users.declared_settings import kind_of, settings_of
from drivers.users.session import Network
from harness.distributed import DistributedLoadGenerators, WorkerDuty, messages
from harness.distributed.messages import build_id
from harness.distributed.same_settings import own_settings
from harness.options.user_classes import settings
from harness.run.load_generators import Equipment
from records.errors import UserError
from records.store.rundir import RunDirectory
from tests.support.locust_run import make_run
from topologies.model.endpoints import Credentials

WORKER = "worker-of-a-test"


class Channel:
    """Both a master's runner with one worker, and that worker's runner, which replies with ``answer`` at once."""

    def __init__(
        self,
        answer: Callable[[str, Any], tuple[str, Any] | None] = lambda *_: None,
        user_classes: Sequence[type] = (),
    ) -> None:
        self.user_classes = user_classes
        ready = [SimpleNamespace(id=WORKER)]
        workers = {WORKER: SimpleNamespace(state="ready")}
        self.clients = SimpleNamespace(ready=ready, get=workers.get)
        self.custom_messages: dict[str, Any] = {}
        self.sent: list[tuple[str, Any]] = []
        self._answer = answer

    def register_message(self, name: str, listener: Callable[..., None]) -> None:
        self.custom_messages[name] = listener

    def send_message(self, name: str, data: Any = None, _worker: str | None = None) -> None:
        self.sent.append((name, data))
        if answered := self._answer(name, data):
            self.custom_messages[answered[0]](None, SimpleNamespace(node_id=WORKER, data=answered[1]))


def equipment(folder: Path, protocol: str = "stomp", address: str = "127.0.0.1:1") -> Equipment:
    network = Network(Spoken.parse(protocol), Credentials("user", "secret"), {}, {address: "broker-1"})
    return Equipment(RunDirectory.create(folder, "run"), network, 7, 8)


def refusal_of(answer: dict[str, str], folder: Path) -> tuple[str, Channel]:
    """Return the master's error if a worker replies ``answer`` during setup."""
    answers = {"bb_clock": ("bb_clock", {"at_ns": 0}), "bb_equip": ("bb_equipped", answer)}
    channel = Channel(lambda name, _: answers.get(name))
    with pytest.raises(UserError) as refused:
        DistributedLoadGenerators(channel).equip(equipment(folder))  # type: ignore[arg-type]
    return str(refused.value), channel


def test_a_workers_refusal_names_it_and_cancels_the_others(tmp_path: Path) -> None:
    refusal, channel = refusal_of({"refusal": "it cannot", "build_id": build_id()}, tmp_path)
    assert refusal == f"worker {WORKER}: it cannot"
    assert channel.sent[-1] == ("bb_call_off", None)


def test_a_worker_that_does_not_know_of_build_ids_is_an_older_one(tmp_path: Path) -> None:
    refusal, _ = refusal_of({"refusal": ""}, tmp_path)
    assert refusal.startswith(f"worker {WORKER}: it runs brokerbench an older one, the master runs ")


def test_a_run_that_cannot_have_workers_never_begins(tmp_path: Path) -> None:
    outcome = make_run("scenarios/steady.py", "--runtime", "memory", "--processes", "2", runs=tmp_path / "runs")
    assert outcome.status == 2, outcome.output
    assert outcome.output.splitlines()[-1] == (
        "Failed:  brokers in memory are in one process: leave --processes, --master and --worker out"
    )
    assert not outcome.runs.exists()


def test_brokers_in_memory_are_not_for_several_processes(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="brokers in memory are in one process: leave --processes"):
        DistributedLoadGenerators(Channel()).equip(equipment(tmp_path, "memory"))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("sent_build_id", "refusal"),
    [
        ("0.0.1 (events 1, source 00000000)", "it runs brokerbench "),
        (build_id(), "broker broker-1 at 127.0.0.1:1 cannot"),
    ],
)
def test_a_worker_that_cannot_take_part_says_why_and_takes_nothing_on(
    tmp_path: Path, sent_build_id: str, refusal: str
) -> None:
    environment, channel = SimpleNamespace(process_exit_code=None), Channel()
    duty = WorkerDuty(environment, channel)  # type: ignore[arg-type]
    duty._equip(messages.equip(equipment(tmp_path), 1, {}, {}, sent_build_id))
    ((name, answer),) = channel.sent
    assert (name, answer["build_id"]) == ("bb_equipped", build_id())
    assert answer["refusal"].startswith(refusal)
    assert environment.process_exit_code == 2
    assert duty._session is None
    assert not list((tmp_path / "run").rglob("*.arrows"))


def user_class(name: str, kind: type = ProducerUser, **settings: object) -> type:
    return type(name, (kind,), {"group": "clients", "destination": "queue://orders", **settings})


def answer_of_a_worker(folder: Path, masters: Sequence[type], workers: Sequence[type]) -> str:
    """Return why a worker rejects a master with other user classes; '' if it takes part. Needs no broker."""
    equipped = equipment(folder)
    network = replace(equipped.network, broker_names={})
    asked: list[Any] = []
    answers = {"bb_clock": ("bb_clock", {"at_ns": 0}), "bb_equip": ("bb_equipped", {"refusal": "not today"})}
    master = Channel(lambda name, data: asked.append(data) or answers.get(name), masters)
    with pytest.raises(UserError):
        DistributedLoadGenerators(master).equip(replace(equipped, network=network))  # type: ignore[arg-type]
    channel = Channel(user_classes=workers)
    duty = WorkerDuty(SimpleNamespace(process_exit_code=None), channel)  # type: ignore[arg-type]
    duty._take_on = lambda _: None  # type: ignore[method-assign]
    duty._equip(next(data for data in asked if data and "build_id" in data))
    return str(channel.sent[-1][1]["refusal"])


NEXT_STEP = "; give both the same locustfile and the same environment"


@pytest.mark.parametrize(
    ("own", "refusal"),
    [
        ([user_class("Orders", durable=False)], "Orders.durable is False here, and True in the master"),
        ([user_class("Orders", destination="queue://x")], "Orders.destination is 'queue://x' here, and 'queue://or"),
        ([user_class("Orders", resend_in_doubt=False, may_fail=True)], "Orders.may_fail is True here, and False in"),
        ([user_class("Orders", ConsumerUser)], "Orders.role is 'consumer' here, and 'producer' in the master; "),
        ([], "the master has a user class Orders, but this worker does not"),
        ([user_class("Orders"), user_class("More")], "this worker has a user class More, but the master does not"),
    ],
)
def test_a_worker_with_other_user_classes_is_refused(tmp_path: Path, own: Sequence[type], refusal: str) -> None:
    """A run records the master's settings, so a worker with other settings would be recorded with the master's."""
    answer = answer_of_a_worker(tmp_path, [user_class("Orders")], own)
    assert answer.startswith(refusal)
    assert answer.endswith(NEXT_STEP)


def test_a_worker_with_other_methods_is_refused(tmp_path: Path) -> None:
    """The settings are equal, and a method of the worker's own locustfile acknowledges before it works."""
    master, worker = (class_of_file(tmp_path / name, body) for name, body in (("a", "pass"), ("b", "return 1")))
    answer = answer_of_a_worker(tmp_path, [master], [worker])
    assert re.fullmatch(
        "the SHA-256 of the file of Orders is [0-9a-f]{12} here, and [0-9a-f]{12} in the master" + NEXT_STEP, answer
    )


def test_the_same_locustfile_in_another_folder_is_no_reason_to_refuse(tmp_path: Path) -> None:
    master, worker = (class_of_file(tmp_path / name, "pass") for name in "ab")
    assert answer_of_a_worker(tmp_path, [master], [worker]) == ""


def class_of_file(folder: Path, body: str) -> type:
    """Return the class in a locustfile whose method has this body."""
    folder.mkdir()
    path = folder / "orders.py"
    path.write_text(
        "from brokerbench import ProducerUser\n\n\nclass Orders(ProducerUser):\n"
        f'    group, destination = "clients", "queue://orders"\n\n    def on_start(self):\n        {body}\n'
    )
    spec = importlib.util.spec_from_file_location(f"orders_in_{folder.name}", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module.Orders  # type: ignore[no-any-return]


def test_settings_that_options_change_come_from_the_master(tmp_path: Path) -> None:
    own = [user_class("Orders", fixed_count=3, body_bytes=64, sends_per_second=1.0)]
    assert answer_of_a_worker(tmp_path, [user_class("Orders")], own) == ""


def test_every_setting_of_a_class_is_sent_or_compared() -> None:
    for user in (user_class("Orders"), user_class("Archive", ConsumerUser)):
        told = {*settings([user])[user.__name__], *own_settings([user])[user.__name__]}
        assert told >= {*settings_of(kind_of(user)), "role"}
