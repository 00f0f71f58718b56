"""Checks the rendered folder for Docker Compose: complete, safe, readable by Compose 1.29, and as in the repository."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from brokerbench.cli import main
from brokerbench.rendering import EXAMPLE, compose_files, host_name, write_files
from tests.support.golden import REGENERATE
from topologies.catalogue.lookup import build
from topologies.classic.broker import Broker
from topologies.classic.product import CLASSIC
from topologies.model.client_groups import ClientGroup
from topologies.model.topology import Topology
from topologies.model.validity import TopologyInvalid

REPOSITORY = Path(__file__).parents[2] / "docker-compose"
CLASSIC_ENTRIES = ("source-and-sink", "active-standby", "mesh", "hub-and-spoke", "concentrator")
ARTEMIS = ("live-backup", "cluster", "mirror")
KEPT = (*CLASSIC_ENTRIES, *ARTEMIS)
BASE_PORT = 61616


def compose(entry: str) -> dict[str, Any]:
    read: dict[str, Any] = yaml.safe_load(compose_files(build(entry), BASE_PORT)["docker-compose.yml"])
    return read


@pytest.mark.parametrize("entry", KEPT)
def test_the_repositorys_folder_is_what_is_rendered(entry: str) -> None:
    """BROKERBENCH_REGENERATE=1 makes it anew."""
    topology = build(entry)
    folder, files = REPOSITORY / topology.name, compose_files(topology, BASE_PORT)
    if REGENERATE:
        write_files(files, folder)
    there = {str(path.relative_to(folder)): path.read_text("utf-8") for path in folder.rglob("*") if path.is_file()}
    there.pop("passwords.env", None)  # of somebody who has brought it up
    assert there == files


def test_the_command_writes_a_folder_like_the_repositorys(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["render", "mesh", "--to", "compose", "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    written = {str(path.relative_to(tmp_path)): path for path in tmp_path.rglob("*") if path.is_file()}
    assert sorted(result.output.splitlines()) == sorted(map(str, written.values()))
    assert {name: path.read_text("utf-8") for name, path in written.items()} == compose_files(build("mesh"), BASE_PORT)
    assert "passwords.env" not in written


def test_the_repository_has_no_folder_that_nothing_renders() -> None:
    assert {path.name for path in REPOSITORY.iterdir()} == {"images", *(build(entry).name for entry in KEPT)}


@pytest.mark.parametrize("entry", [*KEPT, "mesh-of-pairs", "two-regions", "dual-mirror"])
def test_every_port_is_bound_to_loopback_and_given_once(entry: str) -> None:
    ports = [port for service in compose(entry)["services"].values() for port in service["ports"]]
    assert len(ports) == sum(len(broker.protocols) for broker in build(entry).brokers)
    assert len(set(ports)) == len(ports)
    assert all(port.startswith("127.0.0.1:") for port in ports)


def test_only_what_compose_1_29_knows_is_at_the_top() -> None:
    assert set(compose("mesh")) == {"services", "volumes"}


def test_passwords_come_from_a_file_that_is_not_there_yet_and_is_ignored() -> None:
    files = compose_files(build("mesh"), BASE_PORT)
    assert files[".gitignore"] == "passwords.env\n"
    assert files["passwords.env.example"] == EXAMPLE
    assert "_PASSWORD=\n" in EXAMPLE
    assert "passwords.env" not in files
    services = compose("mesh")["services"]
    assert [service["env_file"] for service in services.values()] == [["passwords.env"]] * 3
    assert not any("PASSWORD" in name for service in services.values() for name in service["environment"])


@pytest.mark.parametrize("entry", ["mesh", "cluster"])
def test_the_start_script_keeps_passwords_out_of_arguments_and_environment(entry: str) -> None:
    script = compose_files(build(entry), BASE_PORT)["start.sh"]
    before, after = script.split("\nexec java", 1)
    assert "PASSWORD" not in after
    assert "umask 077" in before
    assert "unset BROKERBENCH_CLIENT_USERNAME BROKERBENCH_CLIENT_PASSWORD" in before


def test_brokers_call_each_other_by_their_services() -> None:
    files = compose_files(build("source-and-sink"), BASE_PORT)
    assert "static:(tcp://sink:61619?" in files["source/activemq.xml"]
    assert "tcp://0.0.0.0:61616?" in files["source/activemq.xml"]


def test_a_standby_mounts_its_actives_data_and_waits_healthy() -> None:
    services = compose("active-standby")["services"]
    assert "broker-1-data:/brokerbench/data" in services["broker-1"]["volumes"]
    assert "broker-1-data:/brokerbench/store" in services["broker-1-standby"]["volumes"]
    assert services["broker-1-standby"]["depends_on"] == {"broker-1": {"condition": "service_healthy"}}
    assert services["broker-1-standby"]["healthcheck"]["test"] == ["CMD-SHELL", "kill -0 1"]
    assert set(compose("active-standby")["volumes"]) == {"broker-1-data"}


@pytest.mark.parametrize(("ha", "shares"), [("shared-store", True), ("replication", False)])
def test_a_backup_has_a_volume_of_its_own_beside_the_store_that_it_shares(ha: str, shares: bool) -> None:
    read = compose(f"live-backup(ha={ha!r})")
    mounts = read["services"]["broker-1-backup"]["volumes"]
    assert ("broker-1-data:/brokerbench/store" in mounts) is shares
    assert "broker-1-backup-data:/var/lib/artemis-instance" in mounts
    assert set(read["volumes"]) == {"broker-1-data", "broker-1-backup-data"}
    assert read["services"]["broker-1-backup"]["depends_on"] == {"broker-1": {"condition": "service_started"}}


def test_the_script_of_an_artemis_broker_fills_its_secrets_whatever_is_in_a_password(tmp_path: Path) -> None:
    script = compose_files(build("mirror"), BASE_PORT)["broker-1/secrets.sh"]
    password = "$HOME `id` $(id) \"'&|;<END"
    credentials = {"BROKERBENCH_CLIENT_USERNAME": "c", "BROKERBENCH_BRIDGE_USERNAME": "b"}
    credentials |= {"BROKERBENCH_CLIENT_PASSWORD": password, "BROKERBENCH_BRIDGE_PASSWORD": password}
    here = script.replace("/brokerbench/private", str(tmp_path))
    subprocess.run(["/bin/sh", "-eu", "-c", here], env={**os.environ, **credentials}, check=True)
    written = {path.name: path.read_text("utf-8") for path in tmp_path.iterdir()}
    assert written == {
        "broker.properties": (
            'AMQPConnections."broker-1-to-broker-2".user=b\n'
            f'AMQPConnections."broker-1-to-broker-2".password={password}\n'
        ),
        "artemis-users.properties": f"c={password}\nb={password}\n",
        "artemis-roles.properties": "clients=c\nbridges=b\n",
    }


def test_no_template_of_secrets_is_left_in_a_folder() -> None:
    for entry in ARTEMIS:
        assert not [name for name in compose_files(build(entry), BASE_PORT) if "/secrets/" in name]


@pytest.mark.parametrize(
    ("broker", "host"), [("broker-1", "broker-1"), ("My_Broker.x", "my-broker-x"), ("_", "broker")]
)
def test_a_brokers_host_name_is_one(broker: str, host: str) -> None:
    assert host_name(broker) == host


def test_what_compose_cannot_bring_up_is_refused() -> None:
    with pytest.raises(TopologyInvalid, match="broker 'source' needs certificates for TLS"):
        compose_files(build("source-and-sink(transport='ssl')"), BASE_PORT)
    with pytest.raises(TopologyInvalid, match="router 'router' has no image that Compose could start"):
        compose_files(build("router-peer"), BASE_PORT)
    twins = (Broker("a.b"), Broker("a_b"))
    with pytest.raises(TopologyInvalid, match="its host name 'a-b' is also another broker's"):
        compose_files(Topology("t", twins, (), (ClientGroup("g", twins),), CLASSIC), BASE_PORT)
