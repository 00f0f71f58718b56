"""How does a test get brokers that speak TLS? By an authority of its own, in the stores that brokers are told of."""

from dataclasses import replace
from pathlib import Path

import trustme
from cryptography import x509
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, load_pem_private_key, pkcs12

from topologies.links import NetworkConnector
from topologies.model import Broker, Topology, TransportConnector
from topologies.render import site as names
from topologies.render.classic import render
from topologies.runtimes.prepared import Render

STORE_PASSWORD = "of-a-store-of-this-test"


def over_tls(topology: Topology) -> Topology:
    """The same network with every connector, and so every bridge, over TLS."""
    connectors = (TransportConnector("openwire", transport="ssl"), TransportConnector("stomp", transport="ssl"))
    brokers = {broker.name: replace(broker, connectors=connectors) for broker in topology.brokers}
    links = tuple(
        replace(link, opened_by=brokers[link.opened_by.name], to=brokers[link.to.name])
        for link in topology.links
        if isinstance(link, NetworkConnector)
    )
    groups = tuple(replace(g, enter_at=tuple(brokers[b.name] for b in g.enter_at)) for g in topology.groups)
    return replace(topology, brokers=tuple(brokers.values()), links=links, groups=groups)


def renderer_with(authority: trustme.CA, folder: Path, host: str = "127.0.0.1") -> Render:
    """Brokers show a certificate of ``authority`` for ``host``; what the runtime would tell them is filled in."""
    leaf = authority.issue_cert(host)
    told = {
        names.KEYSTORE_PROPERTY: str(_key_store(leaf, folder / "keys.p12")),
        names.TRUSTSTORE_PROPERTY: str(_trust_store(authority, folder / "trusted.p12")),
        names.KEYSTORE_PASSWORD: STORE_PASSWORD,
        names.TRUSTSTORE_PASSWORD: STORE_PASSWORD,
    }

    def rendered(topology: Topology, broker: Broker, site: names.Site) -> dict[str, str]:
        files = dict(render(topology, broker, site))
        for name, value in told.items():
            assert f"${{{name}}}" in files["activemq.xml"]
            files["activemq.xml"] = files["activemq.xml"].replace(f"${{{name}}}", value)
        return files

    return rendered


def _key_store(leaf: trustme.LeafCert, path: Path) -> Path:
    key = load_pem_private_key(leaf.private_key_pem.bytes(), None)
    certificate, *above = [x509.load_pem_x509_certificate(pem.bytes()) for pem in leaf.cert_chain_pems]
    store = pkcs12.serialize_key_and_certificates(b"broker", key, certificate, above, _locked())  # type: ignore[arg-type]
    path.write_bytes(store)
    return path


def _trust_store(authority: trustme.CA, path: Path) -> Path:
    trusted = pkcs12.PKCS12Certificate(x509.load_pem_x509_certificate(authority.cert_pem.bytes()), b"authority")
    path.write_bytes(pkcs12.serialize_java_truststore([trusted], _locked()))
    return path


def _locked() -> BestAvailableEncryption:
    return BestAvailableEncryption(STORE_PASSWORD.encode())
