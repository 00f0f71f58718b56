"""Renders the files of an Artemis broker other than broker.xml, including the files with its passwords.

Files below `SECRETS_FOLDER` are templates: a runtime fills their ``${…}`` (`filled`) and keeps the results in a private
folder with mode 700, never next to the others. Users who take rendered files elsewhere do the same. Artemis finds the
folder by the system property `SECRETS_PROPERTY`, and reads broker.properties with ``artemis run --properties FILE``.
"""

from topologies.artemis.broker import ArtemisBroker
from topologies.artemis.render.links import cluster_user, clusters_of, connections_of
from topologies.artemis.router import Router
from topologies.model.site import (
    BRIDGE_PASSWORD,
    BRIDGE_USERNAME,
    CLIENT_PASSWORD,
    CLIENT_USERNAME,
    SECRETS_FOLDER,
    SECRETS_PROPERTY,
)
from topologies.model.topology import Topology
from topologies.model.users import link_password_key, login_of, password_key
from topologies.render.log4j import log4j2_properties

BROKER_PROPERTIES = f"{SECRETS_FOLDER}/broker.properties"
USERS, ROLES = f"{SECRETS_FOLDER}/artemis-users.properties", f"{SECRETS_FOLDER}/artemis-roles.properties"
LOGIN_CONFIG, LOG4J2 = "login.config", "log4j2.properties"
DETECTORS = "META-INF/jolokia/detectors"
"""On the class path for Jolokia's agent. Its Artemis detector would wait minutes for a guard that is not set up."""
AUDIT = "org.apache.activemq.audit"  # logs each MBean access, and so each of our samples

_BOOTSTRAP = """\
<?xml version='1.0' encoding='UTF-8'?>
<broker xmlns="http://activemq.apache.org/schema">
  <jaas-security domain="activemq"/>
  <server configuration="${artemis.instance.etc.uri}/broker.xml"/>
</broker>
"""
_MANAGEMENT = """\
<?xml version='1.0' encoding='UTF-8'?>
<management-context xmlns="http://activemq.apache.org/schema"/>
"""
_LOGIN = f"""\
activemq {{
  org.apache.activemq.artemis.spi.core.security.jaas.PropertiesLoginModule required
    debug=false
    reload=false
    baseDir="${{{SECRETS_PROPERTY}}}"
    org.apache.activemq.jaas.properties.user="artemis-users.properties"
    org.apache.activemq.jaas.properties.role="artemis-roles.properties";
}};
"""


def extra_files(topology: Topology, broker: ArtemisBroker) -> dict[str, str]:
    """Map file names to texts: all files except broker.xml."""
    return {
        "bootstrap.xml": _BOOTSTRAP,
        "management.xml": _MANAGEMENT,
        LOGIN_CONFIG: _LOGIN,
        LOG4J2: log4j2_properties(off=(AUDIT,)),
        DETECTORS: "!org.jolokia.server.detector.misc.ArtemisDetector\n",
        BROKER_PROPERTIES: broker_properties(topology, broker),
        USERS: _line(_placeholder(CLIENT_USERNAME), CLIENT_PASSWORD)
        + _line(_placeholder(BRIDGE_USERNAME), BRIDGE_PASSWORD)
        + "".join(_line(user.login, password_key(user.name, other=user.other_password)) for user in broker.users),
        ROLES: _line("clients", CLIENT_USERNAME)
        + _line("bridges", BRIDGE_USERNAME)
        + "".join(f"{user.login}={user.login}\n" for user in broker.users),
    }


def broker_properties(topology: Topology, broker: ArtemisBroker) -> str:
    """The user and password for logging in at other brokers. Artemis lets these properties override broker.xml."""
    lines = []
    if clusters_of(topology, broker):
        lines += _login(cluster_user(topology, broker), broker, "clusterUser", "clusterPassword")
    for link in connections_of(topology, broker):
        if isinstance(link.to, Router):
            continue  # a router requires no login
        prefix = f'AMQPConnections."{link.name}"'  # quoted: a name may have dots
        lines += _login(link.user_name, broker, f"{prefix}.user", f"{prefix}.password")
    return "".join(lines)


def _login(user_name: str, broker: ArtemisBroker, user_key: str, password: str) -> list[str]:
    if not user_name:
        return [_line(user_key, BRIDGE_USERNAME), _line(password, BRIDGE_PASSWORD)]
    return [f"{user_key}={login_of(user_name)}\n", _line(password, link_password_key(broker.users, user_name))]


def _line(key: str, secret: str) -> str:
    return f"{key}={_placeholder(secret)}\n"


def _placeholder(name: str) -> str:
    return f"${{{name}}}"
