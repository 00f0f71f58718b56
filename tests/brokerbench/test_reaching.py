"""Checks that the output has everything needed to connect to a running network, and shows no password."""

import shlex
import sys
from pathlib import Path

import pytest

from brokerbench.reaching import LoadOptions, ReachFiles, brokers_file, describe, failover_uris, load_command
from topologies.catalogue.lookup import build
from topologies.model.endpoints import Credentials
from topologies.model.topology import Topology
from topologies.runtimes.external import file as external_file
from topologies.runtimes.external.credentials import ExternalCredentials
from topologies.runtimes.external.file import BrokersFile, ExternalBroker
from topologies.runtimes.external.runtime import ExternalRuntime

WHO = ExternalCredentials(Credentials("anna", "s3cret"), Credentials("admin", "s3cret-too"))
SOURCE = ExternalBroker("source", 2, {"openwire": "tcp://h:1", "stomp": "stomp://h:2"}, "https://h:3/api/jolokia/")
SINK = ExternalBroker("sink", 5, {"stomp": "stomp://i:2", "openwire": "tcp://i:1"}, "https://i:3/api/jolokia/")


LOCUST = Path(sys.executable).with_name("locust")


def network(sink: ExternalBroker = SINK) -> tuple[Topology, ExternalRuntime]:
    topology = build("source-and-sink")
    return topology, ExternalRuntime(topology, BrokersFile(Path("b.yaml"), {"source": SOURCE, "sink": sink}), WHO)


def test_each_broker_is_told_with_its_uris_and_each_group_with_its_failover_uris(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    topology, runtime = network(ExternalBroker("sink", 5, {"stomp": "stomp://i:2"}))
    monkeypatch.setenv("PATH", str(LOCUST.parent))
    files = ReachFiles(Path("p/brokers.yaml"), Path("p/credentials.env"))
    assert (
        describe(LoadOptions("source-and-sink"), topology, runtime, Path("runs/x"), files)
        == """\
source-and-sink is up (external), and every path is proven

source
  openwire    tcp://h:1
  stomp       stomp://h:2
  management  https://h:3/api/jolokia/

sink
  stomp       stomp://i:2
  management  none known

clients: producers
  failover:(tcp://h:1)?randomize=true
  failover:(stomp://h:2)?randomize=true

clients: consumers
  failover:(stomp://i:2)?randomize=true

user        anna
passwords   p/credentials.env (only you can read it; deleted when the brokers stop)
a load      locust -f scenarios/steady.py --headless --topology source-and-sink --brokers-file p/brokers.yaml
logs        runs/x/brokers/

Ctrl-C stops the brokers."""
    )


def test_a_path_that_no_canary_could_prove_is_not_said_to_be_proven() -> None:
    topology, runtime = network()
    text = describe(LoadOptions("source-and-sink"), topology, runtime, Path("runs/x"), None, 1)
    assert text.startswith("source-and-sink is up (external), and every path except 1 is proven\n")


def test_brokers_with_an_authority_of_their_own_are_told_with_it() -> None:
    topology, runtime = network()
    files = ReachFiles(Path("p/brokers.yaml"), Path("p/credentials.env"), Path("p/authority.pem"))
    text = describe(LoadOptions("source-and-sink"), topology, runtime, Path("runs/x"), files)
    assert "authority   p/authority.pem (certificate authority to trust for TLS)" in text
    assert "--brokers-file p/brokers.yaml --ca-file p/authority.pem\n" in text


def test_a_name_with_quotes_is_quoted_for_a_shell() -> None:
    topology, runtime = network()
    text = describe(
        LoadOptions("mesh(discovery='static')"), topology, runtime, Path("r"), ReachFiles(Path("b"), Path("c"))
    )
    (line,) = (line for line in text.splitlines() if line.startswith("a load"))
    assert shlex.split(line)[6:8] == ["--topology", "mesh(discovery='static')"]


def test_a_load_speaks_what_the_canaries_spoke_and_has_their_failover_options() -> None:
    files = ReachFiles(Path("b.yaml"), Path("c.env"))
    options = LoadOptions("router-peer", "amqp:openwire", "randomize=false&timeout=3000")
    line = shlex.split(load_command(options, files))
    assert line[-4:] == ["--protocol", "amqp:openwire", "--failover", "randomize=false&timeout=3000"]


def test_a_load_is_begun_by_the_program_that_is_there_wherever_one_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    program, _, scenario, *_ = shlex.split(load_command(LoadOptions("mesh"), ReachFiles(Path("b"), Path("c"))))
    assert Path(program).resolve() == LOCUST.resolve()
    assert Path(scenario).read_text(encoding="utf-8").startswith('"""')


def test_load_command_uses_this_installations_locust(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The name is enough if PATH leads to this installation's locust. Otherwise the command has its path."""

    def program() -> str:
        return shlex.split(load_command(LoadOptions("mesh"), ReachFiles(Path("b"), Path("c"))))[0]

    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "locust").symlink_to(LOCUST)
    assert program() == "locust"
    (tmp_path / "locust").unlink()
    (tmp_path / "locust").write_text("#!/bin/sh\n", encoding="utf-8")
    (tmp_path / "locust").chmod(0o755)
    assert Path(program()).resolve() == LOCUST.resolve()


def test_what_is_written_for_a_run_has_only_uris_that_it_takes() -> None:
    topology, runtime = network(ExternalBroker("sink", 5, {"openwire": "http://i:1", "stomp": "stomp://i:2"}))
    assert "http://i:1" not in brokers_file(runtime, topology)
    assert "stomp://i:2" in brokers_file(runtime, topology)


def test_a_broker_that_cannot_be_asked_has_no_address_for_it_in_that_file(tmp_path: Path) -> None:
    topology, runtime = network(ExternalBroker("sink", 5, {"stomp": "stomp://i:2"}))
    (tmp_path / "brokers.yaml").write_text(brokers_file(runtime, topology), encoding="utf-8")
    assert external_file.read(tmp_path / "brokers.yaml").brokers["sink"].management == ""


def test_brokers_that_are_not_ours_stay_and_no_password_is_shown() -> None:
    topology, runtime = network()
    text = describe(LoadOptions("source-and-sink"), topology, runtime, Path("runs/x"), None)
    assert text.endswith("brokerbench did not start these brokers, so it leaves them running. Log in as user 'anna'.")
    assert "s3cret" not in text


def test_failover_options_of_ones_own_replace_the_topologys() -> None:
    topology, runtime = network()
    assert failover_uris(runtime, topology, "randomize=false")["producers"] == [
        "failover:(tcp://h:1)?randomize=false",
        "failover:(stomp://h:2)?randomize=false",
    ]


def test_the_file_of_brokers_is_one_that_a_run_takes(tmp_path: Path) -> None:
    topology, runtime = network()
    (tmp_path / "brokers.yaml").write_text(brokers_file(runtime, topology), encoding="utf-8")
    file = external_file.read(tmp_path / "brokers.yaml")
    file.check(topology, ["stomp", "openwire"])
    assert file.credentials_file == tmp_path / "credentials.env"
    for broker in (SOURCE, SINK):
        assert dict(file.brokers[broker.name].uris) == dict(broker.uris)
        assert file.brokers[broker.name].management == broker.management
