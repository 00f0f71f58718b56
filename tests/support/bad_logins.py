"""Renders brokers whose links log in with a wrong password."""

from topologies.model.broker import AnyBroker
from topologies.model.site import BRIDGE_PASSWORD, Site
from topologies.model.topology import Topology
from topologies.runtimes.prepared import render


def wrong_password_of_bridges(topology: Topology, broker: AnyBroker, site: Site) -> dict[str, str]:
    """Files of a Classic broker whose links log in with another password than the far end knows."""
    files = dict(render(topology, broker, site))
    # Only the connectors' logins: the password stands before them too, as one that the broker itself knows.
    head, separator, tail = files["activemq.xml"].partition("<networkConnector ")
    files["activemq.xml"] = head + separator + tail.replace(f'"${{{BRIDGE_PASSWORD}}}"', '"wrong"')
    return files
