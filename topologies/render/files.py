"""Which files does a broker get, whatever kind it is? The renderer of its kind says."""

from topologies.artemis.brokers import ArtemisBroker
from topologies.artemis.router import Router
from topologies.brokers import AnyBroker, Broker
from topologies.model import Topology
from topologies.render import artemis, artemis_router, classic
from topologies.render.site import Site


def render(topology: Topology, broker: AnyBroker, site: Site) -> dict[str, str]:
    """File name to text. KeyError if the site lacks a port that is needed."""
    match broker:
        case Broker():
            return classic.render(topology, broker, site)
        case ArtemisBroker():
            return artemis.render(topology, broker, site)
        case Router():
            return artemis_router.render(broker, site)
    raise TypeError(f"broker {broker.name!r} is a {type(broker).__name__}, which nothing renders")
