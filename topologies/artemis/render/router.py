"""Renders the configuration of a Qpid Dispatch router beside Artemis brokers. Text out of values."""

from topologies.artemis.router import Router
from topologies.model.site import Site

QDROUTERD_CONF = "qdrouterd.conf"


def render(router: Router, site: Site) -> dict[str, str]:
    """qdrouterd.conf. One listener serves clients and brokers: a broker's peer says itself what it is.

    The router asks no client for a password, so it is for loopback only.
    """
    waypoints = "".join(f"\naddress {{\n    prefix: {prefix}\n    waypoint: yes\n}}\n" for prefix in router.waypoints)
    return {
        QDROUTERD_CONF: f"""\
router {{
    mode: standalone
    id: {router.name}
}}

listener {{
    host: {site.bind_host}
    port: {site.port(router.name, "amqp")}
    role: normal
    authenticatePeer: no
    saslMechanisms: ANONYMOUS
}}
{waypoints}"""
    }
