"""Runs on external brokers, such as Amazon MQ's or the user's: a run connects to them, but does not change them.

External brokers cannot be started or stopped, and data that only their host has (process, log, configuration) is not
available. Without a management address there are no management figures either.
"""

import socket
from collections.abc import Collection
from pathlib import Path
from typing import NoReturn
from urllib.parse import urlsplit

from topologies.management.contract import agent_at, queries_of
from topologies.model.endpoints import Credentials, Endpoint, ManagementEndpoint
from topologies.model.management import ManagementFailed
from topologies.model.topology import Topology
from topologies.runtimes.capabilities import Capability, why_not
from topologies.runtimes.contract import Progress, RuntimeFailed
from topologies.runtimes.external.credentials import ExternalCredentials
from topologies.runtimes.external.file import BrokersFile

CONNECT_TIMEOUT_S = 5.0


class ExternalRuntime:
    """See topologies.runtimes.contract. ``ca_file``: certificates to trust for https; '' for this machine's."""

    name = "external"
    trusted_pem = ""  # the user chooses the trusted certificates

    def __init__(
        self, topology: Topology, file: BrokersFile, credentials: ExternalCredentials, *, ca_file: str = ""
    ) -> None:
        """Raise UserError if the file does not match the topology."""
        file.check(topology)
        self._topology, self._file, self._credentials, self._ca_file = topology, file, credentials, ca_file
        self._versions: dict[str, str] = {}

    def __repr__(self) -> str:
        return f"<ExternalRuntime of {self._topology.name} by {self._file.path}>"

    def up(self, progress: Progress, absent: Collection[str] = ()) -> None:
        """Check that every broker answers at its address, except standbys. Raises RuntimeFailed."""
        for name in absent:
            self._refuse("left out", name)
        standby = {broker.name for broker in self._topology.brokers if broker.standby_of}
        for broker in self._file.brokers.values():
            try:
                for protocol, uri in broker.uris.items():
                    self._reach(broker.name, protocol, uri)
                if broker.management:
                    self._identify(broker.name)
            except RuntimeFailed:
                if broker.name not in standby:
                    raise
                progress(f"broker {broker.name} does not answer, which is normal for a standby")
                continue
            progress(f"broker {broker.name} answers; it is external and is not changed")

    def start(self, broker: str) -> None:
        self._refuse("started", broker)

    def stop(self, broker: str) -> None:
        self._refuse("stopped", broker)

    def kill(self, broker: str) -> None:
        self._refuse("killed", broker)

    def pause(self, broker: str) -> None:
        self._refuse("paused", broker)

    def resume(self, broker: str) -> None:
        self._refuse("resumed", broker)

    def alive(self, broker: str) -> bool:
        """Return True, as nothing here can check it: the clients' connections show when a broker goes away."""
        self._topology.broker(broker)  # raises KeyError, which lists the brokers
        return True

    def outage(self) -> str:
        return ""

    def endpoint(self, broker: str, protocol: str) -> Endpoint:
        self._topology.broker(broker)
        uris = self._file.brokers[broker].uris
        if protocol not in uris:
            raise KeyError(f"broker {broker!r} has no {protocol} URI in {self._file.path}; it has {', '.join(uris)}")
        return Endpoint(broker, protocol, uris[protocol])

    def management(self, broker: str) -> ManagementEndpoint:
        """Return the management address. Raises ManagementFailed if the broker has none."""
        listed = self._topology.broker(broker)
        url, login = self._file.brokers[broker].management, self._credentials.management
        if not url:
            raise ManagementFailed(f"broker {broker!r} has no management address in {self._file.path}")
        own_name = self._file.brokers[broker].calls_itself or listed.own_name
        return ManagementEndpoint(broker, url, login.username, login.password, self._ca_file, own_name)

    def credentials(self) -> Credentials:
        return self._credentials.client

    def pid(self, broker: str) -> int | None:
        return None

    def log_tail(self, broker: str) -> list[str]:
        return []

    def log_path(self, broker: str) -> Path | None:
        return None

    def versions(self) -> dict[str, str]:
        """Return the versions of the brokers that reported one."""
        versions = sorted(set(self._versions.values()))
        return {self._topology.product.launch.name: ", ".join(versions)} if versions else {}

    def rendered(self) -> dict[str, str]:
        return {}

    def close(self) -> None:
        """Do nothing: nothing here was started."""

    def _refuse(self, operation: str, broker: str) -> NoReturn:
        self._topology.broker(broker)
        why = why_not(self.name, Capability.OPERATES_BROKERS)
        raise RuntimeFailed(f"broker {broker!r} cannot be {operation}: it is external, and {why}")

    def _reach(self, broker: str, protocol: str, uri: str) -> None:
        """Check that a process listens there. Canaries check its identity, TLS and the login."""
        parts = urlsplit(uri)
        try:
            socket.create_connection((parts.hostname, parts.port), CONNECT_TIMEOUT_S).close()
        except OSError as error:
            why = error.strerror or str(error)
            problem = f"broker {broker!r} cannot be reached for {protocol} at {parts.hostname}:{parts.port}: {why}"
            raise RuntimeFailed(f"{problem}; start it, or correct its URI in {self._file.path}") from None

    def _identify(self, broker: str) -> None:
        """Check that the broker behind the management address has the name that is used for its MBeans."""
        try:
            with agent_at(self._topology, self.management(broker), CONNECT_TIMEOUT_S) as agent:
                queries = queries_of(self._topology, broker)
                names = queries.names(agent)
                if agent.calls_itself in names:
                    self._versions[broker] = queries.version(agent)
                    return
        except ManagementFailed as error:
            step = f"correct the management address of {broker!r} in {self._file.path}, or leave it out"
            raise RuntimeFailed(f"{error}; {step}") from None
        listed = ", ".join(names) or "none at all"
        step = "use the brokers' own names in the topology, or leave the address out"
        if len(names) == 1 and not self._topology.links:
            step = f"if that is the broker, write name: {names[0]} below {broker}"
        raise RuntimeFailed(
            f"broker {broker!r}: its management address in {self._file.path} reports a broker named {listed}; {step}"
        )
