"""Holds the certificates that clients trust. Certificates and host names are always verified.

Clients trust this machine's authorities, or with ``--ca-file`` those in that file instead. Workers on other hosts do
not have the file, so they get its text instead of its path.
"""

import ssl
from dataclasses import dataclass
from pathlib import Path

from records.errors import UserError

EXPIRED, HOST_NAME, ADDRESS = 10, 62, 64  # OpenSSL's X509_V_ERR_…


@dataclass(frozen=True)
class Trust:
    """``pem``: the certificates of the authorities that are trusted; '' for those that this machine trusts."""

    pem: str = ""
    file: str = ""  # where they were read: on this machine only

    @classmethod
    def read(cls, path: Path) -> "Trust":
        """Raises UserError."""
        rule = "give a file of certificates in PEM, each between BEGIN CERTIFICATE and END CERTIFICATE"
        try:
            trust = cls(path.read_text(encoding="ascii"), str(path))
            if not trust.pem.strip():
                raise UserError(f"{path}: is empty; {rule}")
            trust.context()
        except ssl.SSLError:
            raise UserError(f"{path}: holds no certificate that can be read; {rule}") from None
        except OSError as error:
            raise UserError(f"{path}: {error.strerror}; {rule}") from None
        except UnicodeDecodeError:
            raise UserError(f"{path}: is not in PEM; {rule}") from None
        return trust

    def context(self) -> ssl.SSLContext:
        """For clients. Raises SSLError when ``pem`` holds no certificate."""
        return ssl.create_default_context(cadata=self.pem or None)


def untrusted(error: BaseException) -> str:
    """The cause of a failed handshake, and the next step; '' if the cause is not a certificate."""
    certificate_error = _certificate_error(error)
    if certificate_error is None:
        return ""
    step = "if its authority is your own, name that one's certificate by --ca-file"
    if certificate_error.verify_code in (HOST_NAME, ADDRESS):
        step = "reach it by a name that its certificate has, or have a certificate made for this one"
    elif certificate_error.verify_code == EXPIRED:
        step = "have it renewed"
    return f"its certificate is not to be trusted ({certificate_error.verify_message.rstrip('.')}); {step}"


def _certificate_error(error: BaseException | None) -> ssl.SSLCertVerificationError | None:
    """Libraries wrap it in errors of their own."""
    while error is not None and not isinstance(error, ssl.SSLCertVerificationError):
        error = error.__cause__ or error.__context__
    return error
