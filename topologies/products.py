"""Lists the broker products that topologies are made of: a third one is one folder more, and one line here."""

from topologies.artemis.product import ARTEMIS
from topologies.classic.product import CLASSIC
from topologies.model.topology import BrokerProduct
from topologies.model.validity import require_choice

PRODUCTS: dict[str, BrokerProduct] = {
    "classic": CLASSIC,
    "artemis": ARTEMIS,
}
"""By name, which is the ``flavour`` of a topology."""
DEFAULT = CLASSIC
"""What a YAML file means that names no flavour."""


def product_named(name: str, of: str) -> BrokerProduct:
    """Raises `TopologyInvalid`. ``of``: what has that flavour, for the error."""
    require_choice(of, tuple(PRODUCTS), flavour=name)
    return PRODUCTS[name]
