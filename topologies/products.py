"""The table of broker products. To add a product, add its folder, and a line here.

The folder ``topologies/NAME`` has the product as ``NAME`` in capitals in its ``product.py``, and its topologies as
``ENTRIES`` in its ``catalogue.py``.
"""

from collections.abc import Callable
from importlib import import_module

from topologies.model.topology import BrokerProduct, Topology

NAMES = (
    "classic",
    "artemis",
)
"""The products. The first is the product of a YAML file without a flavour."""
PRODUCTS: dict[str, BrokerProduct] = {
    name: getattr(import_module(f"topologies.{name}.product"), name.upper()) for name in NAMES
}
"""Products by name, which is the ``flavour`` of a topology."""
ENTRIES: dict[str, Callable[..., Topology]] = {
    entry: function
    for name in NAMES
    for entry, function in import_module(f"topologies.{name}.catalogue").ENTRIES.items()
}
"""The functions of the catalogue, by the names of their topologies, in reading order."""
DEFAULT = PRODUCTS[NAMES[0]]
"""The product of a YAML file without a flavour."""
