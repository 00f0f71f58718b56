"""Holds what is chosen and prepared for one run's brokers before the first starts, and how each is then handled."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from topologies.model.endpoints import Credentials, ManagementEndpoint
from topologies.model.launch import LOOPBACK, BrokerFolders
from topologies.render.files import Render, render
from topologies.runtimes.handle import Handle
from topologies.runtimes.private import PrivateFolder
from topologies.runtimes.proxies.link_proxies import LinkProxies
from topologies.runtimes.startup import MANAGEMENT

Ports = Mapping[tuple[str, str], int]


AHandle = TypeVar("AHandle", bound=Handle)


@dataclass(frozen=True)
class Wishes:
    """The choices of a runtime's user. ``renderer`` makes the files of one broker."""

    memory_mb: int = 512
    base_port: int | None = None
    keep_data: bool = False
    renderer: Render = render
    bind_host: str = LOOPBACK

    @property
    def addresses(self) -> tuple[str, ...]:
        """Every address at which ports are needed."""
        return tuple(dict.fromkeys((LOOPBACK, self.bind_host)))

    def address_of(self, protocol: str) -> str:
        """Management stays on loopback, even if clients use another address."""
        return LOOPBACK if protocol == MANAGEMENT else self.bind_host


@dataclass(frozen=True)
class Prepared(Generic[AHandle]):
    """Everything that one run's brokers are started with, by broker name; nothing runs yet."""

    private: PrivateFolder
    ports: Ports  # by (broker, protocol); the agent's under MANAGEMENT
    client: Credentials
    management: Mapping[str, ManagementEndpoint]
    folders: Mapping[str, BrokerFolders]
    handles: Mapping[str, AHandle]
    rendered: Mapping[str, str] = field(repr=False)  # by "broker/file"
    versions: Mapping[str, str]
    links: LinkProxies | None = field(default=None, kw_only=True)  # what they go through, where they do

    def ports_of(self, broker: str) -> dict[str, int]:
        """The ports by protocol; the agent's port is under MANAGEMENT."""
        return {protocol: port for (name, protocol), port in self.ports.items() if name == broker}
