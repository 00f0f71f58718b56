"""Makes what every broker of our own needs before it starts: ports, passwords and rendered files."""

from collections.abc import Mapping
from pathlib import Path

from topologies.model.endpoints import Credentials, ManagementEndpoint
from topologies.model.launch import LOOPBACK, BrokerFolders
from topologies.model.site import Site
from topologies.model.topology import Topology
from topologies.render import site as names
from topologies.render.files import Render
from topologies.render.secrets import SECRETS_FOLDER, filled
from topologies.runtimes.prepared import Ports
from topologies.runtimes.private import PrivateFolder, new_password
from topologies.runtimes.startup import MANAGEMENT

CLIENT, AGENT = "brokerbench", "brokerbench-agent"
JOLOKIA_AGENT = "jolokia-agent"
SECRETS_FILE = "brokers.properties"


def wanted_ports(topology: Topology) -> list[tuple[str, str]]:
    listening = [(broker.name, protocol) for broker in topology.brokers for protocol in broker.protocols]
    return listening + [(broker.name, MANAGEMENT) for broker in topology.brokers if broker.has_agent]


def listening(ports: Ports) -> dict[tuple[str, str], int]:
    """The brokers' own ports, without their agents'."""
    return {key: port for key, port in ports.items() if key[1] != MANAGEMENT}


def management_of(broker: str, port: int, password: str) -> ManagementEndpoint:
    return ManagementEndpoint(broker, f"http://{LOOPBACK}:{port}/jolokia/", AGENT, password)


def secrets_of(client: Credentials) -> dict[str, str]:
    of_stores = new_password()
    return {
        names.CLIENT_USERNAME: client.username,
        names.CLIENT_PASSWORD: client.password,
        names.BRIDGE_USERNAME: names.BRIDGE_USER,
        names.BRIDGE_PASSWORD: new_password(),
        names.KEYSTORE_PASSWORD: of_stores,
        names.TRUSTSTORE_PASSWORD: of_stores,
    }


def write_files(
    topology: Topology,
    renderer: Render,
    site: Site,
    folders: Mapping[str, BrokerFolders],
    private: PrivateFolder,
    secrets: Mapping[str, str],
) -> dict[str, str]:
    """Write every broker's rendered files to its ``conf``. Returns the rendered text by ``broker/file``.

    Templates with secrets are filled and written to the private folder only, below the broker's name.
    """
    rendered = {}
    for broker in topology.brokers:
        folders[broker.name].make()
        for filename, text in renderer(topology, broker, site).items():
            rendered[f"{broker.name}/{filename}"] = text
            if filename.startswith(f"{SECRETS_FOLDER}/"):
                private.write(f"broker-{broker.name}/{Path(filename).name}", filled(text, secrets))
            else:
                path = folders[broker.name].conf / filename
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
    return rendered
