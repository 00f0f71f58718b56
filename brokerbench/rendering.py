"""Renders a topology in the form that was asked for: brokers' files, Compose, Amazon MQ's templates or a diagram."""

from pathlib import Path

from topologies.model.site import Site
from topologies.model.topology import Topology
from topologies.model.validity import TopologyInvalid
from topologies.products import PRODUCTS
from topologies.runtimes.release import release_of

USUAL_PORTS = {"openwire": 61616, "core": 61617, "all": 61616, "stomp": 61613, "amqp": 5672, "mqtt": 1883}
"""By protocol, as the brokers' own distributions have them; core stands aside of openwire."""

TAKEN_BY = {"--broker-version": ("broker",), "--unset-defaults": ("broker", "compose")}
"""Which forms an option changes."""


def rendered(
    topology: Topology, to: str, base_port: int, *, broker_version: str = "", unset_defaults: bool = False
) -> dict[str, str]:
    """Every file by its path. ``to``: broker | compose | amazon-mq | diagram. Raises ValueError."""
    for option, stated in (("--broker-version", broker_version), ("--unset-defaults", unset_defaults)):
        if stated and to not in TAKEN_BY[option]:
            raise ValueError(f"{option} --to {to}: changes only {' and '.join(TAKEN_BY[option])}; leave it out")
    if broker_version:
        release_of(topology, broker_version, None)  # refuses a version that is not known
    if to == "diagram":
        from brokerbench.diagram import diagram  # the report's drawing, which the other forms do not need

        return {f"{topology.name}.svg": diagram(topology)}
    if to == "compose":
        from brokerbench.compose import compose_files

        return compose_files(topology, base_port, unset_defaults=unset_defaults)
    if to == "amazon-mq":
        return _amazon_mq(topology)
    return broker_files(topology, base_port, version=broker_version, unset_defaults=unset_defaults)


def _amazon_mq(topology: Topology) -> dict[str, str]:
    """Raises `TopologyInvalid` for settings that Amazon MQ does not offer."""
    templates = topology.product.amazon_mq
    if templates is None:
        offered = " and ".join(name for name, product in PRODUCTS.items() if product.amazon_mq)
        raise TopologyInvalid(
            f"topology {topology.name!r}: --to amazon-mq renders {offered} topologies, and this is an"
            f" {topology.flavour} one; --to broker writes its configuration files"
        )
    return templates(topology)


def broker_files(
    topology: Topology, base_port: int, *, version: str = "", unset_defaults: bool = False
) -> dict[str, str]:
    """Every file by ``broker/file``, for brokers that share one host. ``version``, ``unset_defaults``: of `Site`."""
    site = Site(ports_from(topology, base_port), version=version, unset_defaults=unset_defaults)
    return {
        f"{broker}/{name}": text for broker, files in files_of(topology, site).items() for name, text in files.items()
    }


def ports_from(topology: Topology, base_port: int) -> dict[tuple[str, str], int]:
    """Ports by (broker, protocol), consecutive from ``base_port``, broker by broker."""
    wanted = [(broker.name, protocol) for broker in topology.brokers for protocol in broker.protocols]
    if base_port + len(wanted) - 1 > 65535:
        raise ValueError(
            f"base port {base_port}: {len(wanted)} ports are needed, which passes 65535: choose a lower one"
        )
    return {key: base_port + n for n, key in enumerate(wanted)}


def files_of(topology: Topology, site: Site) -> dict[str, dict[str, str]]:
    """Broker to its files, each name with its text."""
    return {broker.name: dict(topology.product.render(topology, broker, site)) for broker in topology.brokers}


def site_by_names(topology: Topology) -> Site:
    """Every broker on a host of its own name, at the usual ports: a broker's values do not depend on its place."""
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
