"""Lists the broker products that topologies are made of: a third one is one folder more, and one line here."""

from topologies.artemis.product import ARTEMIS
from topologies.classic.product import CLASSIC
from topologies.model.topology import BrokerProduct

PRODUCTS: dict[str, BrokerProduct] = {
    "classic": CLASSIC,
    "artemis": ARTEMIS,
}
"""By name, which is the ``flavour`` of a topology."""
DEFAULT = CLASSIC
"""What a YAML file means that names no flavour."""
