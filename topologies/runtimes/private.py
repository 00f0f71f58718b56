"""Keeps a run's passwords and certificates in a separate folder that only its owner can read, until the run ends.

Passwords are new for every run. Brokers and agents get the path of a file, never a password. If the harness is killed,
the brokers' guards remove the folder. At the latest the next run removes it when it creates another one.

Certificates are signed by an authority that lives as long as the run. Its key is never written to disk. Brokers get the
two stores that `topologies.classic.render.broker_xml` names. Clients and bridges verify certificates and host names.
"""

import os
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import trustme
from cryptography import x509
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, load_pem_private_key, pkcs12

from records.temporary import make_folder, remove_folder
from topologies.model.launch import KEY_STORE, TRUST_STORE, Stores

PREFIX = "brokerbench-private-"
PASSWORD_BYTES = 24
OTHERS = 0o077
"""The mode bits of a file that let its group and all others use it."""


def new_password() -> str:
    """Return a password of letters, digits, '-' and '_', which need no escaping in properties files, XML or STOMP."""
    return secrets.token_urlsafe(PASSWORD_BYTES)


def exposure(state: os.stat_result, file: Path) -> str:
    """Return why other users can read or replace a file with this state, and the next step; '' if they cannot."""
    if not state.st_mode & OTHERS and state.st_uid == os.geteuid():
        return ""
    mode = f"{state.st_mode & 0o777:o}"
    problem = f"mode {mode} lets others read it" if state.st_mode & OTHERS else "it belongs to another user"
    return f"{problem}; own it, and chmod 600 {file}"


@dataclass(frozen=True)
class PrivateFolder:
    """A folder of mode 700 with files of mode 600."""

    path: Path

    @classmethod
    def create(cls, parent: Path | None = None) -> "PrivateFolder":
        """Create a folder in the system's folder for temporary files. Before that, remove folders of dead processes."""
        return cls(make_folder(PREFIX, parent))

    def write(self, name: str, content: str | bytes) -> Path:
        """Write a file that only its owner can open at any time. ``name`` may include a subfolder."""
        path = self.path / name
        path.parent.mkdir(mode=0o700, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content.encode("utf-8") if isinstance(content, str) else content)
        return path

    def remove(self) -> None:
        remove_folder(self.path)


class Authority:
    """A run's certificate authority. ``pem``: its certificate, for clients to trust."""

    def __init__(self) -> None:
        self._ca = trustme.CA(organization_name="brokerbench, for one run")
        self.pem = self._ca.cert_pem.bytes().decode("ascii")

    def write_stores(self, private: PrivateFolder, hosts: Iterable[str], password: str) -> Stores:
        """Write one certificate for all brokers. ``hosts``: all host names and addresses of brokers."""
        locked, leaf = BestAvailableEncryption(password.encode("ascii")), self._ca.issue_cert(*hosts)
        key = load_pem_private_key(leaf.private_key_pem.bytes(), None)
        shown, *above = [x509.load_pem_x509_certificate(pem.bytes()) for pem in leaf.cert_chain_pems]
        believed = pkcs12.PKCS12Certificate(x509.load_pem_x509_certificate(self._ca.cert_pem.bytes()), b"authority")
        private.write(KEY_STORE, pkcs12.serialize_key_and_certificates(b"broker", key, shown, above, locked))  # type: ignore[arg-type]
        private.write(TRUST_STORE, pkcs12.serialize_java_truststore([believed], locked))
        return Stores.below(private.path)
