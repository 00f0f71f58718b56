"""Renders a topology in the form that was asked for: brokers' files, Compose, Amazon MQ's templates or a diagram."""

from brokerbench.rendering import broker_files
from topologies.model.topology import Topology
from topologies.model.validity import TopologyInvalid
from topologies.products import PRODUCTS
from topologies.runtimes.release import release_of

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
