"""Starts unchanged brokers from their archives, except for their ports, as tests share a machine."""

import os
import shlex
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from records.environment import for_java
from tests.support.waiting import until
from topologies.jvm import java
from topologies.jvm.distribution import ensure
from topologies.pinned import pinned

USER, PASSWORD = "admin", "s3cret-of-admin"
"""The login for `artemis create`. A stock Classic broker has the user admin with the password admin."""
START_TIMEOUT_S = 90
STOCK_PORTS = {"openwire": 61616, "amqp": 5672, "stomp": 61613, "mqtt": 1883, "ws": 61614, "console": 8161}


RESTART = """#!/bin/sh
kill -9 "$(cat {pid_file})"
sleep 5
{start}
"""
"""The script of docs/own-broker.md. Its lines after the second start a broker."""


@dataclass(frozen=True)
class StockBroker:
    """A running broker. ``brokers_file`` and ``restart``: as in docs/own-broker.md, with the real ports."""

    brokers_file: Path
    restart: Path
    pid_file: Path

    def runs(self) -> bool:
        return psutil.pid_exists(_pid(self.pid_file))


@contextmanager
def stock_classic(folder: Path) -> Iterator[StockBroker]:
    home = ensure(pinned("activemq-classic"))
    ports = _free_ports(STOCK_PORTS)
    shutil.copytree(home / "conf", folder / "conf")
    for name in ("activemq.xml", "jetty.xml"):
        text = (folder / "conf" / name).read_text(encoding="utf-8")
        for protocol, port in STOCK_PORTS.items():
            text = text.replace(f":{port}", f":{ports[protocol]}").replace(f'"{port}"', f'"{ports[protocol]}"')
        (folder / "conf" / name).write_text(text, encoding="utf-8")
    settings = {
        "ACTIVEMQ_BASE": str(folder),
        "ACTIVEMQ_CONF": str(folder / "conf"),
        "ACTIVEMQ_DATA": str(folder / "data"),
        "ACTIVEMQ_OPTS_MEMORY": "-Xms64M -Xmx256M",
    }
    management = f"http://127.0.0.1:{ports['console']}/api/jolokia/"
    uris = {
        "stomp": f"stomp://127.0.0.1:{ports['stomp']}",
        "amqp": f"amqp://127.0.0.1:{ports['amqp']}",
        "openwire": f"tcp://127.0.0.1:{ports['openwire']}",
    }
    file = _write_files(folder, uris, management, "localhost", ("admin", "admin"))
    start = f"env {_exported(settings)} {home}/bin/activemq start"
    broker = StockBroker(file, folder / "restart.sh", folder / "data" / "activemq.pid")
    with _running(start, broker, ports["console"]):
        yield broker


@contextmanager
def stock_artemis(folder: Path) -> Iterator[StockBroker]:
    home, instance = ensure(pinned("activemq-artemis")), folder / "instance"
    ports = _free_ports(("all", "console"))
    create = [str(home / "bin" / "artemis"), "create", "--silent", "--user", USER, "--password", PASSWORD]
    create += ["--require-login", "--host", "127.0.0.1", "--default-port", str(ports["all"])]
    create += ["--http-port", str(ports["console"]), "--no-amqp-acceptor", "--no-stomp-acceptor"]
    create += ["--no-hornetq-acceptor", "--no-mqtt-acceptor", str(instance)]
    subprocess.run(create, env=_environment(), check=True, capture_output=True, timeout=START_TIMEOUT_S)
    at = f"127.0.0.1:{ports['all']}"
    uris = {"stomp": f"stomp://{at}", "amqp": f"amqp://{at}", "openwire": f"tcp://{at}", "core": f"tcp://{at}"}
    management = f"http://127.0.0.1:{ports['console']}/console/jolokia/"
    file = _write_files(folder, uris, management, "127.0.0.1", (USER, PASSWORD))
    broker = StockBroker(file, folder / "restart.sh", folder / "artemis.pid")
    start = f"nohup env {_exported({})} {instance}/bin/artemis run >> {folder}/broker.log 2>&1 &"
    with _running(f"{start}\necho $! > {broker.pid_file}", broker, ports["console"]):
        yield broker


def _write_files(folder: Path, uris: Mapping[str, str], management: str, name: str, login: tuple[str, str]) -> Path:
    credentials = folder / "credentials.env"
    credentials.touch(mode=0o600)
    credentials.write_text("BROKERBENCH_USERNAME={}\nBROKERBENCH_PASSWORD={}\n".format(*login), encoding="utf-8")
    lines = [*(f"    {protocol}: {uri}" for protocol, uri in uris.items()), f"    management: {management}"]
    text = "\n".join(["brokers:", "  broker-1:", *lines, f"    name: {name}", "credentials_file: credentials.env", ""])
    (folder / "brokers.yaml").write_text(text, encoding="utf-8")
    return folder / "brokers.yaml"


@contextmanager
def _running(start: str, broker: StockBroker, console_port: int) -> Iterator[None]:
    """Wait until the console listens, which both products start last. ``start``: lines of a shell."""
    broker.restart.write_text(RESTART.format(pid_file=broker.pid_file, start=start), encoding="utf-8")
    broker.restart.chmod(0o755)
    try:
        subprocess.run(["sh", "-c", start], env=_environment(), stdin=subprocess.DEVNULL, check=True)
        until(broker.pid_file.exists, START_TIMEOUT_S)
        until(lambda: not broker.runs() or _listens(console_port), START_TIMEOUT_S)
        assert broker.runs(), [path.read_text(errors="replace") for path in broker.restart.parent.rglob("*.log")]
        yield
    finally:
        with suppress(ProcessLookupError, FileNotFoundError):
            os.kill(_pid(broker.pid_file), signal.SIGKILL)


def _pid(file: Path) -> int:
    return int(file.read_text(encoding="ascii"))


def _environment() -> dict[str, str]:
    return for_java(os.environ) | {"JAVA_HOME": _java_home()}


def _exported(settings: Mapping[str, str]) -> str:
    return " ".join(f"{name}={shlex.quote(value)}" for name, value in ({"JAVA_HOME": _java_home()} | settings).items())


def _java_home() -> str:
    return str(java.find_java().home)


def _listens(port: int) -> bool:
    with socket.socket() as trial:
        return trial.connect_ex(("127.0.0.1", port)) == 0


def _free_ports(names: Iterable[str]) -> dict[str, int]:
    sockets = {name: socket.socket() for name in names}
    for each in sockets.values():
        each.bind(("127.0.0.1", 0))
    ports = {name: each.getsockname()[1] for name, each in sockets.items()}
    for each in sockets.values():
        each.close()
    return ports
