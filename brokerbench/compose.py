"""Which folder does Docker Compose bring a topology up from? Its file, a start script, and each broker's own files.

Written for what Debian's docker-compose 1.29 reads, which newer ones read too. No password is in it: they come from
``passwords.env``, which whoever runs it writes, and a start script hands them on in a file that exists in memory only.
"""

from pathlib import PurePosixPath
from typing import Any

import yaml

from brokerbench.rendering import files_of, ports_from
from topologies.brokers import AnyBroker, Broker
from topologies.model import Topology
from topologies.render import site as names
from topologies.render.classic import LOG4J2_PROPERTIES
from topologies.render.classic_tls import needs_tls
from topologies.render.log4j import LOG_CONFIG_PROPERTY
from topologies.runtimes.jvm import KEPT_TO_ITSELF, OPENED
from topologies.validity import TopologyInvalid

IMAGE = "${ACTIVEMQ_IMAGE:-apache/activemq-classic:5.18.3}"
MEMORY_MB = 512
INSIDE = PurePosixPath("/brokerbench")
CONF, DATA, STORE, PRIVATE = (INSIDE / name for name in ("conf", "data", "store", "private"))
SECRETS = PRIVATE / "brokers.properties"
START, PASSWORDS = "start.sh", "passwords.env"
EVERYWHERE, LOOPBACK = "0.0.0.0", "127.0.0.1"

HEAD = f"""\
# {{name}}: made by `brokerbench render`; change the topology and render it again rather than this file.
#
#   cp {PASSWORDS}.example {PASSWORDS} && chmod 600 {PASSWORDS}    # then write passwords of your own into it
#   docker-compose up -d    # or: docker compose up -d
#
# Ports are bound to loopback. ACTIVEMQ_IMAGE names another image, with Java and ActiveMQ Classic 5.18 in it.
"""
EXAMPLE = """\
# No backslash and no "${" in a value: they go through a properties file.
BROKERBENCH_CLIENT_USERNAME=client
BROKERBENCH_CLIENT_PASSWORD=
BROKERBENCH_BRIDGE_USERNAME=bridge
BROKERBENCH_BRIDGE_PASSWORD=
"""


def compose_files(topology: Topology, base_port: int) -> dict[str, str]:
    """Every file by its path below the folder. Raises `TopologyInvalid` for what Compose cannot bring up by itself."""
    _require_fitting(topology)
    ports = ports_from(topology, base_port)
    hosts = {broker.name: host_name(broker.name) for broker in topology.brokers}
    site = names.Site(ports, bind_host=EVERYWHERE, hosts=hosts)
    services = {hosts[broker.name]: _service(broker, hosts, ports) for broker in topology.brokers}
    volumes: dict[str, dict[str, str]] = {
        f"{hosts[broker.name]}-data": {} for broker in topology.brokers if not broker.standby_of
    }
    body = yaml.safe_dump({"services": services, "volumes": volumes}, sort_keys=False, width=120)
    own = {"docker-compose.yml": HEAD.format(name=topology.name) + body, START: start_script()}
    own |= {f"{PASSWORDS}.example": EXAMPLE, ".gitignore": f"{PASSWORDS}\n"}
    files = files_of(topology, site)
    return own | {f"{hosts[broker]}/{name}": text for broker in files for name, text in files[broker].items()}


def host_name(broker: str) -> str:
    """A broker's name as Compose, the network and a URI all take it."""
    return "".join(letter if letter.isalnum() else "-" for letter in broker.lower()).strip("-") or "broker"


def start_script() -> str:
    """What each container runs: the secrets into their file, then the broker in this process' place."""
    home = "${ACTIVEMQ_HOME:-/opt/apache-activemq}"
    options = (
        "-Xms${BROKER_MEMORY_MB}m",
        "-Xmx${BROKER_MEMORY_MB}m",
        *KEPT_TO_ITSELF,
        *OPENED,
        f"-Dactivemq.classpath={CONF}",
        f"-Dactivemq.home={home}",
        f"-Dactivemq.base={home}",
        f"-Dactivemq.conf={CONF}",
        f"-D{names.DATA_PROPERTY}={DATA}",
        f"-D{names.STORE_PROPERTY}={STORE}",
        f"-D{LOG_CONFIG_PROPERTY}={CONF}/{LOG4J2_PROPERTIES}",
        f"-D{names.SECRETS_PROPERTY}={SECRETS}",
    )
    lines = "\n".join(f'    "{option}" \\' for option in options)
    wanted = "\n".join(
        f"    printf '{key}=%s\\n' \"${{{_variable(key)}:?not set in {PASSWORDS}}}\"" for key in names.SECRET_KEYS
    )
    unset = " ".join(map(_variable, names.SECRET_KEYS))
    return (
        "#!/bin/sh\n# The broker reads its passwords from a file in memory; it neither keeps them in its environment\n"
        f"# nor among its arguments.\nset -eu\numask 077\n{{\n{wanted}\n}} >{SECRETS}\nunset {unset}\n"
        f'exec java \\\n{lines}\n    -jar "{home}/bin/activemq.jar" start\n'
    )


def _service(broker: AnyBroker, hosts: dict[str, str], ports: dict[tuple[str, str], int]) -> dict[str, Any]:
    host = hosts[broker.name]
    mounts = [f"./{host}:{CONF}:ro", f"./{START}:{INSIDE / START}:ro"]
    if broker.standby_of:  # it has nothing of its own: what it would keep, it has from its active
        mounts.append(f"{hosts[broker.standby_of]}-data:{STORE}")
    else:
        mounts.append(f"{host}-data:{DATA}")
    # Who starts first has the store: of two that start together, either could be the active.
    waits = {"depends_on": {hosts[broker.standby_of]: {"condition": "service_healthy"}}} if broker.standby_of else {}
    listening = [port for (name, _), port in ports.items() if name == broker.name]
    return {
        "image": IMAGE,
        "hostname": host,
        "entrypoint": ["/bin/sh", str(INSIDE / START)],
        "env_file": [PASSWORDS],
        "environment": {"BROKER_MEMORY_MB": str(MEMORY_MB)},
        "ports": [f"{LOOPBACK}:{port}:{port}" for port in listening],
        "volumes": mounts,
        "tmpfs": [str(PRIVATE), *([str(DATA)] if broker.standby_of else [])],
        "stop_grace_period": "30s",
        **waits,
        "healthcheck": {"test": _health(broker, listening[0]), "interval": "5s", "timeout": "3s", "retries": 24},
    }


def _health(broker: AnyBroker, port: int) -> list[str]:
    """That it listens; of a standby, which listens only in its active's place, that it lives."""
    if broker.standby_of:
        return ["CMD-SHELL", "kill -0 1"]
    return ["CMD", "bash", "-c", f"exec 3<>/dev/tcp/{LOOPBACK}/{port}"]


def _require_fitting(topology: Topology) -> None:
    for broker in topology.brokers:
        if not isinstance(broker, Broker):
            raise TopologyInvalid(
                f"topology {topology.name!r}: --to compose renders classic topologies, and this is an"
                f" {topology.flavour} one; --to broker writes its configuration files"
            )
        if needs_tls(topology, broker):
            raise TopologyInvalid(
                f"broker {broker.name!r} needs certificates for TLS, which no rendered folder can hold; render it with"
                " another transport, or --to broker"
            )
    hosts = [host_name(broker.name) for broker in topology.brokers]
    for broker in topology.brokers:
        if hosts.count(host_name(broker.name)) > 1:
            raise TopologyInvalid(
                f"broker {broker.name!r}: as a host it is {host_name(broker.name)!r}, and so is another; rename one"
            )


def _variable(key: str) -> str:
    """``brokerbench.client.password`` as an environment has it."""
    return key.replace(".", "_").upper()
