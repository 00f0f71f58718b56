"""Makes a run on brokers that already run, Amazon MQ's or the user's: they are reached, and never touched.

Nothing can be done to such a broker: it is neither started nor stopped, and what only its host knows (its process, its
log, its configuration) is not to be had. Without a management address it tells nothing of itself either.
"""

import socket
from collections.abc import Collection
from contextlib import closing
from pathlib import Path
from typing import NoReturn
from urllib.parse import urlsplit

from topologies.management.contract import queries_of
from topologies.management.jolokia import Jolokia, ManagementFailed
from topologies.model.endpoints import Credentials, Endpoint, ManagementEndpoint
from topologies.model.topology import Topology
from topologies.runtimes.capabilities import Capability, why_not
from topologies.runtimes.contract import Progress, RuntimeFailed
from topologies.runtimes.external.credentials import ExternalCredentials
from topologies.runtimes.external.file import BrokersFile

CONNECT_TIMEOUT_S = 5.0


class ExternalRuntime:
    """See topologies.runtimes.contract. ``ca_file``: the trusted certificates for https; '' for this machine's own."""

    name = "external"
    trusted_pem = ""  # the user chooses the trusted certificates

    def __init__(
        self, topology: Topology, file: BrokersFile, credentials: ExternalCredentials, *, ca_file: str = ""
    ) -> None:
        """Raises UserError when the file is not about this topology."""
        file.check(topology)
        self._topology, self._file, self._credentials, self._ca_file = topology, file, credentials, ca_file
        self._versions: dict[str, str] = {}

    def __repr__(self) -> str:
        return f"<ExternalRuntime of {self._topology.name} by {self._file.path}>"

    def up(self, progress: Progress, absent: Collection[str] = ()) -> None:
        """Every broker answers where it is said to be; a standby may keep silent. Raises RuntimeFailed."""
        for name in absent:
            self._refuse("kept away", name)
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
                progress(f"broker {broker.name} does not answer, as a standby does not")
                continue
            progress(f"broker {broker.name} answers; it is not ours, and stays as it is")

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
        """Always true: nothing here knows; the clients' connections tell when one goes."""
        self._topology.broker(broker)  # KeyError, naming those there are
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
        """Raises ManagementFailed when it has none."""
        self._topology.broker(broker)
        url, login = self._file.brokers[broker].management, self._credentials.management
        if not url:
            raise ManagementFailed(f"broker {broker!r} has no management address in {self._file.path}")
        own_name = self._file.brokers[broker].calls_itself
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
        """The versions of the brokers that reported one."""
        versions = sorted(set(self._versions.values()))
        return {self._topology.product.launch.name: ", ".join(versions)} if versions else {}

    def rendered(self) -> dict[str, str]:
        return {}

    def close(self) -> None:
        """Nothing here was started."""

    def _refuse(self, operation: str, broker: str) -> NoReturn:
        self._topology.broker(broker)
        why = why_not(self.name, Capability.OPERATES_BROKERS)
        raise RuntimeFailed(f"broker {broker!r} cannot be {operation}: it is not ours, and {why}")

    def _reach(self, broker: str, protocol: str, uri: str) -> None:
        """That something listens there. The canaries check its identity, TLS and the login."""
        parts = urlsplit(uri)
        try:
            socket.create_connection((parts.hostname, parts.port), CONNECT_TIMEOUT_S).close()
        except OSError as error:
            why = error.strerror or str(error)
            problem = f"broker {broker!r} cannot be reached for {protocol} at {parts.hostname}:{parts.port}: {why}"
            raise RuntimeFailed(f"{problem}; start it, or correct its URI in {self._file.path}") from None

    def _identify(self, broker: str) -> None:
        """That the broker behind the management address has the name by which its MBeans will be asked for."""
        try:
            with closing(Jolokia(self.management(broker), CONNECT_TIMEOUT_S)) as agent:
                queries = queries_of(self._topology, broker)
                names = queries.names(agent)
                if agent.calls_itself in names:
                    self._versions[broker] = queries.version(agent)
                    return
        except ManagementFailed as error:
            step = f"correct the management address of {broker!r} in {self._file.path}, or leave it out"
            raise RuntimeFailed(f"{error}; {step}") from None
        listed = ", ".join(names) or "none at all"
        step = "call the brokers in the topology as they call themselves, or leave the address out"
        if len(names) == 1 and not self._topology.links:
            step = f"if that is the broker, write name: {names[0]} below {broker}"
        raise RuntimeFailed(
            f"broker {broker!r}: its management address in {self._file.path} tells of a broker named {listed}; {step}"
        )
