"""Checks that brokers with an untrusted certificate are rejected, and the error has the next step."""

import ssl
from datetime import UTC, datetime
from pathlib import Path

import pytest
import trustme

from records.errors import UserError
from topologies.model.trust import Trust, explain_untrusted

OURS, NAME = trustme.CA(), "broker.example.com"


def shaken(trust: Trust, certificate: trustme.LeafCert, host: str = NAME) -> str:
    """Make a TLS handshake in memory, and return the client's error if it rejects the server."""
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate.configure_cert(serving)
    up, down = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = trust.context().wrap_bio(down, up, server_hostname=host)
    server = serving.wrap_bio(up, down, server_side=True)
    try:
        for side in (client, server, client):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
    except ssl.SSLError as error:
        return explain_untrusted(error)
    return ""


@pytest.fixture
def ours(tmp_path: Path) -> Trust:
    OURS.cert_pem.write_to_path(tmp_path / "ca.pem")
    return Trust.read(tmp_path / "ca.pem")


def test_a_certificate_of_the_authority_that_was_named_is_trusted(ours: Trust) -> None:
    assert shaken(ours, OURS.issue_cert(NAME)) == ""


def test_another_authoritys_is_not(ours: Trust) -> None:
    refusal = shaken(ours, trustme.CA().issue_cert(NAME))
    assert refusal.startswith("its certificate is not to be trusted (")
    assert refusal.endswith("; if you run your own certificate authority, pass its certificate with --ca-file")


def test_without_a_file_our_own_authority_is_not_trusted() -> None:
    assert "--ca-file" in shaken(Trust(), OURS.issue_cert(NAME))


@pytest.mark.parametrize(("made_for", "host"), [("other.example.com", NAME), (NAME, "127.0.0.1")])
def test_a_certificate_for_another_host_is_not_trusted(ours: Trust, made_for: str, host: str) -> None:
    refusal = shaken(ours, OURS.issue_cert(made_for), host)
    assert "ismatch, certificate is not valid for" in refusal
    assert refusal.endswith("; connect to a name that its certificate has, or issue a certificate for this name")


def test_an_expired_certificate_is_to_be_renewed(ours: Trust) -> None:
    refusal = shaken(ours, OURS.issue_cert(NAME, not_after=datetime(2020, 1, 1, tzinfo=UTC)))
    assert refusal == "its certificate is not to be trusted (certificate has expired); renew it"


def test_a_matter_that_is_none_of_trust_is_left_to_others() -> None:
    assert explain_untrusted(ConnectionRefusedError()) == ""


def test_the_reason_is_found_behind_the_errors_of_libraries() -> None:
    error = ConnectionError()
    error.__cause__ = ssl.SSLCertVerificationError(1, "x")
    error.__cause__.verify_code, error.__cause__.verify_message = 18, "self-signed certificate"
    assert "self-signed certificate" in explain_untrusted(error)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"\n", "the file is empty"),
        (b"nothing", "the file has no readable certificate"),
        (b"\xff", "the file is not PEM"),
    ],
)
def test_a_file_that_holds_no_certificate_is_named(tmp_path: Path, content: bytes, why: str) -> None:
    path = tmp_path / "ca.pem"
    path.write_bytes(content)
    with pytest.raises(UserError, match=f"ca.pem: {why}.*; give a file of certificates in PEM"):
        Trust.read(path)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"none: No such file or directory; give a file"):
        Trust.read(tmp_path / "none")
