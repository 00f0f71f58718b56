"""The secret of a distributed run, and the keys that both sides of Locust's channel derive from it.

The master and its workers hold the same secret. From it each side derives one key pair for the master and one for the
workers, so that neither the secret nor a key has to be sent. A run that forks its workers draws a new secret. Workers
that are started separately need the secret of the master's run, from the environment or a private file.
"""

import hmac
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import zmq
from zmq.utils import z85

from records.errors import UserError
from topologies.runtimes.private import exposure

SECRET, SECRET_FILE = "BROKERBENCH_WORKER_SECRET", "BROKERBENCH_WORKER_SECRET_FILE"
LEAST_LETTERS = 32
"""An eavesdropper can try guesses on a recorded handshake, so the secret must be random, not a word."""


@dataclass(frozen=True)
class KeyPair:
    """A pair of CURVE keys, in Z85."""

    public: bytes = field(repr=False)
    private: bytes = field(repr=False)


@dataclass(frozen=True)
class Keys:
    """The key pairs of a run's master and of its workers."""

    master: KeyPair
    worker: KeyPair

    @classmethod
    def of(cls, secret: bytes) -> "Keys":
        return cls(_pair(secret, b"master"), _pair(secret, b"worker"))


def _pair(secret: bytes, side: bytes) -> KeyPair:
    private = z85.encode(hmac.digest(secret, b"brokerbench channel: " + side, "sha256"))
    return KeyPair(zmq.curve_public(private), private)


def find_secret(environment: Mapping[str, str]) -> bytes:
    """Return the secret from the environment, or from the file that the environment names.

    Raises:
        UserError: The secret is missing, is given twice, or other users can read or guess it. Errors never contain it.
    """
    text, file = environment.get(SECRET, ""), environment.get(SECRET_FILE, "")
    if text and file:
        raise UserError(f"{SECRET} and {SECRET_FILE} are both set; unset one of them")
    if not text and not file:
        raise UserError(
            f"--master and --worker: a master and its workers need a common secret, but neither {SECRET_FILE} nor "
            f"{SECRET} is set; set one of them, to the same secret on each host: docs/running.md"
        )
    place = SECRET_FILE + f"={file}" if file else SECRET
    secret = (_read(Path(file), place) if file else text).strip()
    if len(secret) < LEAST_LETTERS:
        raise UserError(
            f"{place}: the secret has {len(secret)} characters; use at least {LEAST_LETTERS} random characters, for "
            "example from: head -c 32 /dev/urandom | base64"
        )
    return secret.encode()


def _read(file: Path, place: str) -> str:
    try:
        with file.open(encoding="utf-8") as opened:
            if problem := exposure(os.fstat(opened.fileno()), file):
                raise UserError(f"{place}: {problem}")
            return opened.read()
    except OSError as error:
        raise UserError(f"{place}: the file cannot be read ({error.strerror}); name a file with the secret") from None
    except UnicodeDecodeError:
        raise UserError(f"{place}: the file is not text in UTF-8; write the secret in letters and digits") from None
