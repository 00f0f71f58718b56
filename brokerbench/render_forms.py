"""Renders a topology in the form that was asked for: brokers' files, Compose, Amazon MQ's templates or a diagram."""

from brokerbench.rendering import broker_files
from topologies.model.topology import Topology
from topologies.model.validity import TopologyInvalid
from topologies.products import PRODUCTS


def rendered(topology: Topology, to: str, base_port: int) -> dict[str, str]:
    """Every file by its path. ``to``: broker | compose | amazon-mq | diagram."""
    if to == "diagram":
        from brokerbench.diagram import diagram  # the report's drawing, which the other forms do not need

        return {f"{topology.name}.svg": diagram(topology)}
    if to == "compose":
        from brokerbench.compose import compose_files

        return compose_files(topology, base_port)
    if to == "amazon-mq":
        return _amazon_mq(topology)
    return broker_files(topology, base_port)


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
