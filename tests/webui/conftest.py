"""Provides web UIs without a run, with Flask's test client, to test their replies."""

import sys
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient
from locust import events
from locust.argument_parser import get_parser
from locust.env import Environment

from brokerbench import Hold, Scenario
from drivers.users.locust_users import ConsumerUser, ProducerUser
from harness.live.model import LiveModel
from harness.options.arguments import add_arguments
from harness.run.snapshot import Snapshot
from harness.web import Web, register
from records.errors import UserError


class Producer(ProducerUser):
    group = "producers"


class Consumer(ConsumerUser):
    group = "consumers"


SCENARIO = Scenario((Producer, Consumer), "mesh", Hold(for_s=30), checks=())


@dataclass
class WebBench:
    """A lifecycle without runs that records the requests."""

    busy: bool = False
    refusal: str = ""
    shown: Snapshot | None = None
    started: list[tuple[Namespace, int]] = field(default_factory=list)
    stops: int = 0

    def snapshot(self) -> Snapshot | None:
        return self.shown

    def check(self, namespace: Namespace) -> Mapping[str, int]:
        if namespace.rate == "abc":
            raise UserError("--rate abc: must be a number")
        return {"Producer": int(namespace.producers or 6), "Consumer": 2}

    def start(self, namespace: Namespace, users: int) -> None:
        self.started.append((namespace, users))

    def stop(self) -> None:
        self.stops += 1
        self.busy = False


@dataclass
class Ui:
    client: FlaskClient
    bench: WebBench
    environment: Any
    runs: Path
    web: Web


Making = Callable[..., Ui]


@pytest.fixture
def make_ui(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Making]:
    monkeypatch.setattr(sys, "argv", ["locust"])  # Locust parses it again for its form
    listeners = [lambda parser: add_arguments(parser, SCENARIO)]
    monkeypatch.setattr(events.init_command_line_parser, "_handlers", listeners)
    environments: list[Any] = []

    def make(base_path: str = "", *, login: bool = False, web_host: str = "127.0.0.1") -> Ui:
        environment = Environment(user_classes=[Consumer])
        environment.create_local_runner()
        environment.parsed_options = get_parser().parse_args(["--web-base-path", base_path])
        vars(environment.parsed_options).update(num_users=8, spawn_rate=100, run_time=30.0)
        web_ui = environment.create_web_ui(web_host, 0, base_path, web_login=login, delayed_start=True)
        bench = WebBench()
        web = register(environment, bench, LiveModel(bench.snapshot), tmp_path / "runs")
        environments.append(environment)
        return Ui(web_ui.app.test_client(), bench, environment, tmp_path / "runs", web)

    yield make
    for environment in environments:
        environment.runner.greenlet.kill(block=False)


@pytest.fixture
def ui(make_ui: Making) -> Ui:
    return make_ui()


def start(ui: Ui, **fields: str) -> Any:
    return ui.client.post("/swarm", data={"user_count": "8", "spawn_rate": "100", **fields}).get_json()
