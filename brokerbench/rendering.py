"""Renders a topology in the requested form: broker files, Compose, Amazon MQ templates or a diagram."""

import json
from pathlib import Path
from typing import Any

import yaml

from topologies.model.broker import AnyBroker
from topologies.model.launch import ProductCompose, ProductImage
from topologies.model.site import Site
from topologies.model.topology import Topology
from topologies.model.validity import TopologyInvalid
from topologies.products import PRODUCTS
from topologies.render.start_script import CONF, INSIDE, PASSWORDS, PRIVATE, START, STORE, with_secrets_script
from topologies.runtimes.release import release_of

USUAL_PORTS = {"openwire": 61616, "core": 61617, "all": 61616, "stomp": 61613, "amqp": 5672, "mqtt": 1883}
"""Default ports of the brokers' distributions by protocol. Core's differs from OpenWire's."""

TAKEN_BY = {"--broker-version": ("broker",), "--unset-defaults": ("broker", "compose")}
"""The forms that each option changes."""


def rendered(
    topology: Topology, to: str, base_port: int, *, broker_version: str = "", unset_defaults: bool = False
) -> dict[str, str]:
    """Return every file by its path. ``to``: broker | compose | amazon-mq | diagram. Raises ValueError."""
    for option, stated in (("--broker-version", broker_version), ("--unset-defaults", unset_defaults)):
        if stated and to not in TAKEN_BY[option]:
            raise ValueError(f"{option} --to {to}: changes only {' and '.join(TAKEN_BY[option])}; leave it out")
    if broker_version:
        release_of(topology, broker_version, None)  # rejects an unknown version
    if to == "diagram":
        from brokerbench.diagram import diagram  # imports the report's drawing, which only this form needs

        return {f"{topology.name}.svg": diagram(topology)}
    if to == "compose":
        return compose_files(topology, base_port, unset_defaults=unset_defaults)
    if to == "amazon-mq":
        return _amazon_mq(topology)
    return broker_files(topology, base_port, version=broker_version, unset_defaults=unset_defaults)


def _amazon_mq(topology: Topology) -> dict[str, str]:
    """Render for Amazon MQ. Raises `TopologyInvalid` for settings that Amazon MQ does not offer."""
    templates = topology.product.amazon_mq
    if templates is None:
        offered = " and ".join(name for name, product in PRODUCTS.items() if product.amazon_mq)
        raise TopologyInvalid(
            f"topology {topology.name!r}: --to amazon-mq renders {offered} topologies, and this one's"
            f" flavour is {topology.flavour}; --to broker writes its configuration files"
        )
    return templates(topology)


def notes(files: dict[str, str]) -> list[str]:
    """Return the differences between Amazon MQ's brokers and measured brokers, from the templates' metadata."""
    metadata = [json.loads(text)["Metadata"] for name, text in files.items() if name.endswith(".template.json")]
    return list(dict.fromkeys(sentence for of_file in metadata for listed in of_file.values() for sentence in listed))


def write_files(files: dict[str, str], out: Path) -> list[Path]:
    """Write each file below ``out`` and return the paths. Files with the same name are replaced, others stay."""
    written = []
    for name, text in files.items():
        path = out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        written.append(path)
    return written


# -- brokers' files ----------------------------------------------------------------------------------------------------


def broker_files(
    topology: Topology, base_port: int, *, version: str = "", unset_defaults: bool = False
) -> dict[str, str]:
    """Return every file by ``broker/file``, for brokers on one host. ``version``, ``unset_defaults``: see `Site`."""
    site = Site(ports_from(topology, base_port), version=version, unset_defaults=unset_defaults)
    return {
        f"{broker}/{name}": text for broker, files in files_of(topology, site).items() for name, text in files.items()
    }


def ports_from(topology: Topology, base_port: int) -> dict[tuple[str, str], int]:
    """Return ports by (broker, protocol), numbered consecutively from ``base_port``, broker by broker."""
    wanted = [(broker.name, protocol) for broker in topology.brokers for protocol in broker.protocols]
    if base_port + len(wanted) - 1 > 65535:
        raise ValueError(
            f"base port {base_port}: {len(wanted)} ports are needed, which exceeds 65535: choose a lower base port"
        )
    return {key: base_port + n for n, key in enumerate(wanted)}


def files_of(topology: Topology, site: Site) -> dict[str, dict[str, str]]:
    """Return the files of each broker: their texts by name."""
    return {broker.name: dict(topology.product.render(topology, broker, site)) for broker in topology.brokers}


def site_by_names(topology: Topology) -> Site:
    """Return a site in which the host is named after the broker and ports are default ports, for every broker."""
    listening = [(broker.name, protocol) for broker in topology.brokers for protocol in broker.protocols]
    return Site(
        ports={key: USUAL_PORTS[key[1]] for key in listening},
        bind_host="0.0.0.0",
        hosts={broker.name: broker.name for broker in topology.brokers},
    )


# -- a folder for Docker Compose ---------------------------------------------------------------------------------------
# The Compose file, a start script, and each broker's files. The Compose file works with Debian's docker-compose 1.29
# and with newer versions. It contains no password: the user writes the passwords to ``passwords.env``, and a start
# script copies them to a file that exists in memory only.

MEMORY_MB = 512
EVERYWHERE, LOOPBACK = "0.0.0.0", "127.0.0.1"

HEAD = f"""\
# {{name}}: made by `brokerbench render`. Do not edit this file; change the topology and render it again.
#
#   cp {PASSWORDS}.example {PASSWORDS} && chmod 600 {PASSWORDS}    # then add your passwords   docker-compose up -d    #
# or: docker compose up -d
#
# Ports are bound to loopback. {{variable}} selects another image, which must contain Java and {{called}}.
"""
EXAMPLE = """\
# Use only letters, digits, "-", "_" and "." in values: Compose versions and properties files treat other characters
# differently.
BROKERBENCH_CLIENT_USERNAME=client
BROKERBENCH_CLIENT_PASSWORD=
BROKERBENCH_BRIDGE_USERNAME=bridge
BROKERBENCH_BRIDGE_PASSWORD=
"""


def compose_files(topology: Topology, base_port: int, *, unset_defaults: bool = False) -> dict[str, str]:
    """Return every file by its relative path. Raises `TopologyInvalid` for topologies that Compose cannot start."""
    product, image = _compose_of(topology)
    _require_fitting(topology)
    ports = ports_from(topology, base_port)
    hosts = {broker.name: host_name(broker.name) for broker in topology.brokers}
    site = Site(ports, bind_host=EVERYWHERE, hosts=hosts, unset_defaults=unset_defaults)
    services = {
        hosts[broker.name]: _service(topology, broker, hosts, ports, product, image) for broker in topology.brokers
    }
    volumes: dict[str, dict[str, str]] = {
        f"{hosts[broker.name]}-data": {} for broker in topology.brokers if _keeps(product, broker)
    }
    body = yaml.safe_dump({"services": services, "volumes": volumes}, sort_keys=False, width=120)
    head = HEAD.format(name=topology.name, variable=product.variable, called=product.called)
    own = {"docker-compose.yml": head + body, START: product.start_script()}
    own |= {f"{PASSWORDS}.example": EXAMPLE, ".gitignore": f"{PASSWORDS}\n"}
    files = {broker: with_secrets_script(rendered) for broker, rendered in files_of(topology, site).items()}
    return own | {f"{hosts[broker]}/{name}": text for broker in files for name, text in files[broker].items()}


def host_name(broker: str) -> str:
    """Return a broker's name in a form that Compose, the network and URIs all accept."""
    return "".join(letter if letter.isalnum() else "-" for letter in broker.lower()).strip("-") or "broker"


def _compose_of(topology: Topology) -> tuple[ProductCompose, ProductImage]:
    product = topology.product
    if product.compose is None or product.launch.image is None:
        raise TopologyInvalid(
            f"topology {topology.name!r}: {product.name} brokers have no image that Compose could start; --to broker"
            " writes their configuration files"
        )
    return product.compose, product.launch.image


def _service(
    topology: Topology,
    broker: AnyBroker,
    hosts: dict[str, str],
    ports: dict[tuple[str, str], int],
    product: ProductCompose,
    image: ProductImage,
) -> dict[str, Any]:
    host, data, launch = hosts[broker.name], product.data, topology.product.launch
    mounts = [f"./{host}:{CONF}:ro", f"./{START}:{INSIDE / START}:ro"]
    if _shares(broker):
        mounts.append(f"{hosts[broker.standby_of]}-data:{STORE}")
    if _keeps(product, broker):
        mounts.append(f"{host}-data:{data}")
    # With Classic, the first broker to start locks the store. Artemis configures the active broker, but the owner of
    # the volume has to start first.
    condition = "service_healthy" if launch.first_serves else "service_started"
    waits = {"depends_on": {hosts[broker.standby_of]: {"condition": condition}}} if broker.standby_of else {}
    listening = [port for (name, _), port in ports.items() if name == broker.name]
    return {
        "image": f"${{{product.variable}:-{image.upstream}}}",
        "hostname": host,
        "entrypoint": ["/bin/sh", str(INSIDE / START)],
        "env_file": [PASSWORDS],
        "environment": {"BROKER_MEMORY_MB": str(launch.heap_mb(broker, MEMORY_MB) or MEMORY_MB)},
        "ports": [f"{LOOPBACK}:{port}:{port}" for port in listening],
        "volumes": mounts,
        "tmpfs": [str(PRIVATE), *([] if _keeps(product, broker) else [str(data)])],
        "stop_grace_period": "30s",
        **waits,
        "healthcheck": {"test": _health(broker, listening[0]), "interval": "5s", "timeout": "3s", "retries": 24},
    }


def _shares(broker: AnyBroker) -> bool:
    """Whether the broker uses another broker's store. A broker with a replica has a separate store."""
    return bool(broker.standby_of) and not broker.copies_store


def _keeps(product: ProductCompose, broker: AnyBroker) -> bool:
    """Whether the broker has a separate volume.

    A Classic standby writes nothing. An Artemis standby writes a lock, as the image's user; only a volume that is
    mounted over the image's folder belongs to that user.
    """
    return product.standby_writes or not _shares(broker)


def _health(broker: AnyBroker, port: int) -> list[str]:
    """Return the health check. A broker must listen; a standby must only be alive, as it listens after a takeover."""
    if broker.standby_of:
        return ["CMD-SHELL", "kill -0 1"]
    return ["CMD", "bash", "-c", f"exec 3<>/dev/tcp/{LOOPBACK}/{port}"]


def _require_fitting(topology: Topology) -> None:
    for broker in topology.brokers:
        if not broker.keeps_messages:
            raise TopologyInvalid(
                f"router {broker.name!r} has no image that Compose could start; --to broker writes its configuration"
            )
        if broker.process and broker.process.options:
            raise TopologyInvalid(
                f"broker {broker.name!r} has JVM options, which a Compose folder cannot set; leave"
                f" {' '.join(broker.process.options)} out, or write it into {START}"
            )
        if broker.link_users:
            raise TopologyInvalid(
                f"broker {broker.name!r} has users for links, whose passwords the start script of a Compose folder"
                " cannot set; leave users and user_name out, or use --to broker"
            )
        if topology.product.needs_tls(topology, broker):
            raise TopologyInvalid(
                f"broker {broker.name!r} needs certificates for TLS, which rendered folders cannot contain; use"
                " another transport, or --to broker"
            )
    hosts = [host_name(broker.name) for broker in topology.brokers]
    for broker in topology.brokers:
        if hosts.count(host_name(broker.name)) > 1:
            raise TopologyInvalid(
                f"broker {broker.name!r}: its host name {host_name(broker.name)!r} is also another broker's; rename one"
            )
