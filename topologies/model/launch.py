"""Values that a product needs to start a broker: folders, files, environment, agent, image and scripts."""

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

from records.environment import for_java
from topologies.model.endpoints import ManagementEndpoint
from topologies.model.jvm import Jvm

LOOPBACK = "127.0.0.1"
KEY_STORE, TRUST_STORE = "keys.p12", "trusted.p12"
KEPT_TO_ITSELF = (
    "-Djava.awt.headless=true",
    "-Djava.net.preferIPv4Stack=true",  # 127.0.0.1 really is IPv4
    "-XX:+DisableAttachMechanism",
    "-XX:-UsePerfData",  # no counter file in the shared temporary folder: a killed JVM would leave it behind
)


@dataclass(frozen=True)
class Stores:
    """Two PKCS12 files with one password: the broker's certificate and key, and the trusted authority."""

    keys: Path
    trusted: Path

    @classmethod
    def below(cls, folder: Path) -> "Stores":
        return cls(folder / KEY_STORE, folder / TRUST_STORE)


@dataclass(frozen=True)
class BrokerFolders:
    """A broker's folders in the run folder: ``conf`` and ``log`` are kept, ``data`` may be removed after the run."""

    root: Path

    @property
    def conf(self) -> Path:
        return self.root / "conf"

    @property
    def data(self) -> Path:
        return self.root / "data"

    @property
    def temporary(self) -> Path:
        return self.data / "tmp"

    @property
    def log(self) -> Path:
        return self.root / "log"

    @property
    def log_file(self) -> Path:
        return self.log / "broker.log"

    def make(self) -> None:
        for folder in (self.conf, self.temporary, self.log):
            folder.mkdir(parents=True, exist_ok=True)


@dataclass(frozen=True)
class Launch:
    """The launch settings that all brokers of a run share."""

    java: Path  # the executable
    distribution: Path  # the unpacked folder
    agent: Path  # Jolokia's jar
    secrets_file: Path
    memory_mb: int  # heap of brokers whose own JVM settings have no heap_mb
    stores: Stores | None = None  # for brokers that speak TLS
    hosts_file: Path | None = None  # host names for an Artemis broker, in place of this machine's
    jvm: Jvm = field(default_factory=Jvm)  # of one broker

    @property
    def heap_and_options(self) -> list[str]:
        """The heap has its full size from the start: a heap that grows during the run would be measured too."""
        return replace(self.jvm, heap_mb=self.jvm.heap_mb or self.memory_mb).arguments


def jvm(launch: Launch, folders: BrokerFolders, agent_file: Path) -> list[str]:
    """Return Java and the options for every broker's JVM. ``agent_file``: see `agent_properties`."""
    return [
        str(launch.java),
        *launch.heap_and_options,
        *KEPT_TO_ITSELF,
        f"-XX:ErrorFile={folders.log}/jvm-error-%p.log",
        f"-Djava.io.tmpdir={folders.temporary}",
        f"-javaagent:{launch.agent}=config={agent_file}",
    ]


def properties(values: Mapping[str, str]) -> str:
    """Return the text of a Java properties file. Values must not have line breaks or backslashes."""
    return "".join(f"{key}={value}\n" for key, value in values.items())


def environment(inherited: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the environment of a broker: ours, without the variables of Java and of the brokers' own scripts."""
    return {
        name: value for name, value in for_java(inherited).items() if not name.startswith(("ACTIVEMQ_", "ARTEMIS_"))
    }


def agent_properties(endpoint: ManagementEndpoint) -> str:
    """Return the configuration of the Jolokia agent at ``endpoint``.

    It has the password, so write it to a private file.
    """
    url = urlsplit(endpoint.url)
    return properties(
        {
            "host": str(url.hostname),
            "port": str(url.port),
            "user": endpoint.username,
            "password": endpoint.password,
            "discoveryEnabled": "false",  # otherwise it answers multicasts on the local network
        }
    )


Command = Callable[[Launch, BrokerFolders, Path, Path | None], list[str]]
"""(launch, the broker's folders, the agent's file, the store of a pair or None) -> argument list."""


@dataclass(frozen=True)
class ProductImage:
    """The image for brokers in containers: upstream's, or ``built`` by us if upstream's cannot be pulled.

    ``home``: the distribution's folder in both images, unless ``home_variable`` in their environment names another.
    ``recipe``: the folder with the Dockerfile, below docker-compose/images.
    """

    upstream: str
    built: str
    recipe: str
    home: PurePosixPath
    home_variable: str


@dataclass(frozen=True)
class ProductLaunch:
    """How to launch a product's brokers.

    ``name``: the product's name in a run's recorded versions. ``distribution``: its name in the list of pinned
    distributions; ``jar``: a file in it whose manifest has the version; ``needs``: patterns of the other files that a
    launch requires.

    ``secrets``: path of a broker's secrets below the private folder, with ``{broker}`` for its name. ``first_serves``:
    if two brokers share a store, the first to start serves, regardless of names. ``says_it_listens``: whether the log
    of a broker without an agent shows that it listens.
    """

    name: str
    distribution: str
    jar: str
    needs: tuple[str, ...]
    command: Command
    secrets: str
    first_serves: bool
    image: ProductImage
    says_it_listens: Callable[[Iterable[str]], bool] = lambda lines: False


@dataclass(frozen=True)
class ProductCompose:
    """How to start a broker from a folder that `brokerbench render --to compose` wrote.

    ``variable``: the environment variable that names another image. ``called``: what that image must contain.
    ``data``: where a broker's volume is mounted. ``standby_writes``: whether a standby on a shared store needs a volume
    too. ``start_script``: the text of the script that starts any broker of the product.
    """

    variable: str
    called: str
    data: PurePosixPath
    standby_writes: bool
    start_script: Callable[[], str]


class Executables:
    """The programs of brokers that do not run in a JVM; by default there are none."""

    def find(self, topology: str, brokers: Iterable[object], bind_host: str) -> Mapping[str, Path]:
        """Return the program for each broker, by name. ``topology``: the topology's name. Raises UserError."""
        return {}

    def versions(self, executables: Mapping[str, Path]) -> dict[str, str]:
        """Return the versions of the programs, by product. Raises UserError."""
        return {}

    def command(self, executable: Path, folders: BrokerFolders) -> list[str]:
        raise NotImplementedError
