"""The table of broker products. To add a product, add its folder, and a line here."""

from topologies.artemis.product import ARTEMIS
from topologies.classic.product import CLASSIC
from topologies.model.topology import BrokerProduct

PRODUCTS: dict[str, BrokerProduct] = {
    "classic": CLASSIC,
    "artemis": ARTEMIS,
}
"""Products by name, which is the ``flavour`` of a topology."""
DEFAULT = CLASSIC
"""The product of a YAML file without a flavour."""
