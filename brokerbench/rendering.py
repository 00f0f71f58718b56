"""Which files do the brokers of a topology get, and where are they written? For reading and for taking elsewhere."""

from pathlib import Path

from topologies.model import Topology
from topologies.render.files import render
from topologies.render.site import Site

USUAL_PORTS = {"openwire": 61616, "core": 61617, "all": 61616, "stomp": 61613, "amqp": 5672, "mqtt": 1883}
"""By protocol, as the brokers' own distributions have them; core stands aside of openwire."""


def broker_files(topology: Topology, base_port: int) -> dict[str, str]:
    """Every file by ``broker/file``, for brokers that share one host."""
    site = Site(ports_from(topology, base_port))
    return {
        f"{broker}/{name}": text for broker, files in files_of(topology, site).items() for name, text in files.items()
    }


def ports_from(topology: Topology, base_port: int) -> dict[tuple[str, str], int]:
    """By (broker, protocol), given out one by one from ``base_port``, a broker after the other."""
    wanted = [(broker.name, protocol) for broker in topology.brokers for protocol in broker.protocols]
    if base_port + len(wanted) - 1 > 65535:
        raise ValueError(
            f"base port {base_port}: {len(wanted)} ports are needed, which passes 65535: choose a lower one"
        )
    return {key: base_port + n for n, key in enumerate(wanted)}


def files_of(topology: Topology, site: Site) -> dict[str, dict[str, str]]:
    """Broker to its files, each name with its text."""
    return {broker.name: dict(render(topology, broker, site)) for broker in topology.brokers}


def site_by_names(topology: Topology) -> Site:
    """Every broker on a host of its own name, at the usual ports: what a broker gets does not depend on its place."""
    listening = [(broker.name, protocol) for broker in topology.brokers for protocol in broker.protocols]
    return Site(
        ports={key: USUAL_PORTS[key[1]] for key in listening},
        bind_host="0.0.0.0",
        hosts={broker.name: broker.name for broker in topology.brokers},
    )


def write_files(files: dict[str, str], out: Path) -> list[Path]:
    """Write each file below ``out`` and say where. Files of the same name are replaced, others left alone."""
    written = []
    for name, text in files.items():
        path = out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        written.append(path)
    return written


def rendered(topology: Topology, to: str, base_port: int) -> dict[str, str]:
    """Every file by its path. ``to``: broker | compose | amazon-mq | diagram."""
    if to == "diagram":
        from brokerbench.diagram import diagram  # the report's drawing, which the other forms do not need

        return {f"{topology.name}.svg": diagram(topology)}
    if to == "compose":
        from brokerbench.compose import compose_files

        return compose_files(topology, base_port)
    if to == "amazon-mq":
        from brokerbench.amazon_mq import templates

        return templates(topology)
    return broker_files(topology, base_port)
