"""Checks that a run that cannot log in to, trust or reach its brokers has one error and no load, by each protocol.

The brokers exist, and the run has a wrong password, certificate or address for them.
"""

from pathlib import Path

import pytest
import trustme

from tests.support.locust_run import free_port, make_run, nothing_left
from tests.support.relay import Relay
from topologies.model.endpoints import Credentials
from topologies.runtimes.contract import Runtime
from topologies.runtimes.external.credentials import ExternalCredentials

pytestmark = [pytest.mark.brokers, pytest.mark.nightly]

OURS = trustme.CA()
SECRET = "letmein"
OVER_TLS = {"stomp": "stomp+ssl", "amqp": "amqps", "openwire": "ssl", "core": "ssl"}
PLAIN = {"stomp": "stomp", "amqp": "amqp", "openwire": "tcp", "core": "tcp"}
CLASSIC, ARTEMIS = "single", "artemis-single"


def spoken(stomp: str, amqp: str, openwire: str) -> pytest.MarkDecorator:
    """Parametrize each protocol with one product. Tests choose others, so that each protocol fails on both."""
    cells = [("stomp", stomp), ("amqp", amqp), ("openwire", openwire), ("core", ARTEMIS)]
    return pytest.mark.parametrize("theirs", cells, ids=map(":".join, cells), indirect=True)


class BrokerOfOthers:
    """An existing broker, a protocol for it, and the brokers file."""

    def __init__(self, entry: str, protocol: str, runtime: Runtime, folder: Path) -> None:
        self.entry, self.protocol, self.folder = entry, protocol, folder
        self.credentials = runtime.credentials()
        address = runtime.endpoint("broker-1", protocol).uri.partition("://")[2].partition("?")[0]
        host, _, port = address.rpartition(":")
        self.upstream = (host, int(port))
        OURS.cert_pem.write_to_path(folder / "ours.pem")

    def refusal(self, port: int, *arguments: str, tls: bool = False, password: str = "") -> str:
        """Return the only error of a run whose brokers file names this port."""
        credentials = Credentials(self.credentials.username, password or self.credentials.password)
        (self.folder / "credentials.env").touch(mode=0o600)
        (self.folder / "credentials.env").write_text(
            ExternalCredentials(credentials, credentials).as_file(), encoding="utf-8"
        )
        uri = f"{(OVER_TLS if tls else PLAIN)[self.protocol]}://127.0.0.1:{port}"
        file = self.folder / "brokers.yaml"
        file.write_text(
            f"brokers:\n  broker-1: {{{self.protocol}: '{uri}'}}\ncredentials_file: credentials.env\n", encoding="utf-8"
        )
        where = ("--runtime", "external", "--brokers-file", str(file), "--topology", self.entry)
        all_arguments = ("--protocol", self.protocol, "-t", "5s", *arguments)
        outcome = make_run("scenarios/steady.py", *where, *all_arguments, runs=self.folder / "runs")
        assert outcome.status == 2, outcome.output
        assert "Traceback" not in outcome.output
        assert SECRET not in outcome.output
        assert not list((self.folder / "runs").glob("*/streams/sends/*")), "no message may have been sent"
        assert nothing_left(self.folder / "runs")
        (error,) = (line for line in outcome.output.splitlines() if "/ERROR/" in line)
        return error


@pytest.fixture
def theirs(request: pytest.FixtureRequest, tmp_path: Path) -> BrokerOfOthers:
    protocol, entry = request.param
    runtime: Runtime = request.getfixturevalue("single_broker" if entry == "single" else "single_artemis")
    return BrokerOfOthers(entry, protocol, runtime, tmp_path)


@spoken(stomp=ARTEMIS, amqp=CLASSIC, openwire=CLASSIC)
def test_a_wrong_password_is_told_by_broker_and_user(theirs: BrokerOfOthers) -> None:
    refusal = theirs.refusal(theirs.upstream[1], password=SECRET)
    assert (
        f"broker broker-1 at 127.0.0.1:{theirs.upstream[1]} refused user '{theirs.credentials.username}': " in refusal
    )
    assert refusal.endswith(" Check the user name and the password that this run was given.")


@spoken(stomp=CLASSIC, amqp=ARTEMIS, openwire=CLASSIC)
def test_a_certificate_of_somebody_else_is_told_with_what_to_name(theirs: BrokerOfOthers) -> None:
    with Relay(theirs.upstream, OURS.issue_cert("127.0.0.1")) as relay:
        refusal = theirs.refusal(relay.port, tls=True)
        assert f"broker broker-1 at 127.0.0.1:{relay.port}: its certificate is not to be trusted" in refusal
    assert refusal.endswith("pass its certificate with --ca-file")


@spoken(stomp=CLASSIC, amqp=CLASSIC, openwire=ARTEMIS)
def test_a_certificate_of_another_name_is_told_with_both_ways_out(theirs: BrokerOfOthers) -> None:
    with Relay(theirs.upstream, OURS.issue_cert("localhost")) as relay:
        refusal = theirs.refusal(relay.port, "--ca-file", str(theirs.folder / "ours.pem"), tls=True)
        assert f"broker broker-1 at 127.0.0.1:{relay.port}: its certificate is not to be trusted" in refusal
    assert "connect to a name that its certificate has, or issue a certificate for this name" in refusal


@spoken(stomp=ARTEMIS, amqp=ARTEMIS, openwire=CLASSIC)
def test_a_list_of_dead_brokers_is_told_with_the_file_to_correct(theirs: BrokerOfOthers) -> None:
    port = free_port()
    refusal = theirs.refusal(port, "--failover", "maxReconnectAttempts=2")
    assert (
        f"broker 'broker-1' cannot be reached for {theirs.protocol} at 127.0.0.1:{port}: Connection refused" in refusal
    )
    assert f"correct its URI in {theirs.folder / 'brokers.yaml'}" in refusal
