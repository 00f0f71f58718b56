"""The certificates that clients trust. Certificates and host names are always verified.

Clients trust this machine's authorities, or with ``--ca-file`` only the authorities in that file. Workers on other
hosts do not have the file, so they receive its text instead of its path.
"""

import ssl
from dataclasses import dataclass
from pathlib import Path

from records.errors import UserError

EXPIRED, HOST_NAME, ADDRESS = 10, 62, 64  # OpenSSL's X509_V_ERR_…


@dataclass(frozen=True)
class Trust:
    """Trusted authorities. ``pem``: their certificates; '' for the authorities that this machine trusts."""

    pem: str = ""
    file: str = ""  # where they were read from, on this machine only

    @classmethod
    def read(cls, path: Path) -> "Trust":
        """Read a PEM file. Raises UserError."""
        rule = "give a file of certificates in PEM, each between BEGIN CERTIFICATE and END CERTIFICATE"
        try:
            trust = cls(path.read_text(encoding="ascii"), str(path))
            if not trust.pem.strip():
                raise UserError(f"{path}: the file is empty; {rule}")
            trust.context()
        except ssl.SSLError:
            raise UserError(f"{path}: the file has no readable certificate; {rule}") from None
        except OSError as error:
            raise UserError(f"{path}: {error.strerror}; {rule}") from None
        except UnicodeDecodeError:
            raise UserError(f"{path}: the file is not PEM; {rule}") from None
        return trust

    def context(self) -> ssl.SSLContext:
        """Return an SSL context for clients. Raises SSLError if ``pem`` has no certificate."""
        return ssl.create_default_context(cadata=self.pem or None)


def explain_untrusted(error: BaseException) -> str:
    """Return the cause of a failed handshake, and the next step; '' if the cause is not a certificate."""
    certificate_error = _certificate_error(error)
    if certificate_error is None:
        return ""
    step = "if you run your own certificate authority, pass its certificate with --ca-file"
    if certificate_error.verify_code in (HOST_NAME, ADDRESS):
        step = "connect to a name that its certificate has, or issue a certificate for this name"
    elif certificate_error.verify_code == EXPIRED:
        step = "renew it"
    return f"its certificate is not to be trusted ({certificate_error.verify_message.rstrip('.')}); {step}"


def _certificate_error(error: BaseException | None) -> ssl.SSLCertVerificationError | None:
    """Unwrap the error, which libraries wrap in their own errors."""
    while error is not None and not isinstance(error, ssl.SSLCertVerificationError):
        error = error.__cause__ or error.__context__
    return error
