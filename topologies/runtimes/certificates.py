"""Makes the certificates that our own brokers present, by an authority that lives as long as the run.

Its key is never written anywhere. Brokers get the two stores that `topologies.classic.render.tls` names. Clients and
bridges verify certificates and host names.
"""

from collections.abc import Iterable

import trustme
from cryptography import x509
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, load_pem_private_key, pkcs12

from topologies.model.launch import KEY_STORE, TRUST_STORE, Stores
from topologies.runtimes.private import PrivateFolder


class Authority:
    """``pem``: its certificate, for those who are to believe it."""

    def __init__(self) -> None:
        self._ca = trustme.CA(organization_name="brokerbench, for one run")
        self.pem = self._ca.cert_pem.bytes().decode("ascii")

    def write_stores(self, private: PrivateFolder, hosts: Iterable[str], password: str) -> Stores:
        """One certificate for all brokers. ``hosts``: every name and address by which one of them is reached."""
        locked, leaf = BestAvailableEncryption(password.encode("ascii")), self._ca.issue_cert(*hosts)
        key = load_pem_private_key(leaf.private_key_pem.bytes(), None)
        shown, *above = [x509.load_pem_x509_certificate(pem.bytes()) for pem in leaf.cert_chain_pems]
        believed = pkcs12.PKCS12Certificate(x509.load_pem_x509_certificate(self._ca.cert_pem.bytes()), b"authority")
        private.write(KEY_STORE, pkcs12.serialize_key_and_certificates(b"broker", key, shown, above, locked))  # type: ignore[arg-type]
        private.write(TRUST_STORE, pkcs12.serialize_java_truststore([believed], locked))
        return Stores.below(private.path)
