"""The launch contract of a broker product: a broker's command, with its files, and how it shows that it is up.

A runtime gives a product's launch the `BrokerPlace` of each broker, and runs the `BrokerCommand` that it returns.
`topologies.jvm.launch` is the launch of products that run in a Java virtual machine.
"""

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, Protocol

from records.errors import UserError
from topologies.model.broker import AnyBroker
from topologies.model.endpoints import ManagementEndpoint

LOOPBACK = "127.0.0.1"
KEY_STORE, TRUST_STORE = "keys.p12", "trusted.p12"
Progress = Callable[[str], None]
"""Called with one short line for each event that users should see."""


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


def properties(values: Mapping[str, str]) -> str:
    """Return the text of a properties file. Values must not have line breaks or backslashes."""
    return "".join(f"{key}={value}\n" for key, value in values.items())


@dataclass(frozen=True)
class BrokerPlace:
    """Everything that a broker's command may depend on. Paths are those that the broker itself sees.

    ``secrets``: the file or folder that `ProductLaunch.secrets` names. ``management``: where its management interface
    listens; None for a broker without one. ``management_file``: a path for a file with that interface's password.
    ``memory_mb``: the value of ``--broker-memory``. ``store``: for a standby on a shared store, the active's data
    folder. ``stores``: for brokers that speak TLS. ``hosts_file``: host names to use in place of this machine's.
    ``record``: whether ``--jfr`` asks for a recording.
    """

    broker: AnyBroker
    folders: BrokerFolders
    secrets: Path
    management: ManagementEndpoint | None
    management_file: Path
    memory_mb: int
    store: Path | None = None
    stores: Stores | None = None
    hosts_file: Path | None = None
    record: bool = False


@dataclass(frozen=True)
class BrokerCommand:
    """How to run one broker. The arguments and the environment must not have a password.

    ``private_files``: texts of files that only the broker's user can read, by path; they may have passwords.
    ``folders``: further folders, which must exist before the start.
    """

    arguments: list[str]
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    private_files: Mapping[Path, str] = field(default_factory=dict, repr=False)
    folders: tuple[Path, ...] = ()


class Programs(Protocol):
    """What the brokers of one run are started from. It was found, and verified, before the first start."""

    @property
    def versions(self) -> Mapping[str, str]:
        """The versions to record in run.json, by name."""

    @property
    def mounts(self) -> Mapping[Path, Path]:
        """The files of this machine that a container needs, each with its path inside."""

    def command(self, place: BrokerPlace) -> BrokerCommand: ...


class Release(Protocol):
    """What a user chose to start brokers from: a version of the product, or a build."""

    @property
    def version(self) -> str: ...


@dataclass(frozen=True)
class Version:
    """A release without further data."""

    version: str


@dataclass(frozen=True)
class ProductImage:
    """The image for brokers in containers: upstream's, or ``built`` by us if upstream's cannot be pulled.

    ``home``: the distribution's folder in both images, unless ``home_variable`` in their environment names another.
    ``recipe``: the folder with the Dockerfile, below docker-compose/images. ``archive``: downloads the distribution,
    and returns the file and its SHA-512.
    """

    upstream: str
    built: str
    recipe: str
    home: PurePosixPath
    home_variable: str
    archive: Callable[[], tuple[Path, str]]


@dataclass(frozen=True)
class ProductLaunch:
    """How to launch a product's brokers. Override what differs; `find` is required.

    ``product``: the product's name. ``versions``: the choices of ``--broker-version``, the default first. ``name``: the
    product's name in a run's recorded versions; '' is ``broker NAME`` (`records.run.BROKER_VERSIONS`). ``secrets``:
    path of a broker's secrets below the private folder, with ``{broker}`` for its name. ``first_serves``: if two
    brokers share a store, the first to start serves, regardless of names. ``image``: None if no container can run them.
    ``noise``: a pattern of lines that errors leave out when they show a log. ``bind_failed``: a pattern of the text
    that a broker logs about a port that it cannot bind; one of the groups is the port.
    """

    product: str
    versions: tuple[str, ...]
    name: str = ""
    secrets: str = "brokers.properties"
    first_serves: bool = True
    image: ProductImage | None = None
    noise: re.Pattern[str] = re.compile(r"^\s*$")
    bind_failed: re.Pattern[str] | None = None

    def __post_init__(self) -> None:
        if not self.name:
            object.__setattr__(self, "name", f"broker {self.product}")

    def release(
        self, topology: str, version: str | None, path: Path | None, others: Sequence["ProductLaunch"]
    ) -> Release:
        """Return the release for a topology, by its name. Raises UserError.

        ``version``: None for the default. ``path``: the user's build. ``others``: the launches of other products.
        """
        if path:
            raise UserError(f"--distribution {path}: {self.product} brokers are not started from one; leave it out")
        return Version(self.chosen(version))

    def chosen(self, version: str | None, otherwise: str = "") -> str:
        """Return the version, or the default for None. Raises UserError. ``otherwise``: another next step."""
        if version and version not in self.versions:
            raise UserError(
                f"--broker-version {version}: {self.product} brokers have no such version here; write one of "
                f"{', '.join(self.versions)}{otherwise}"
            )
        return version or self.versions[0]

    def recognizes(self, build: Path) -> bool:
        """Return whether an unpacked build is of this product."""
        return False

    def heap_mb(self, broker: AnyBroker, memory_mb: int) -> int | None:
        """Return the heap of a broker's Java virtual machine; None if it has none. ``memory_mb``: --broker-memory."""
        return None

    def check(self, brokers: Sequence[AnyBroker]) -> None:
        """Check that this machine can start brokers with their settings, before a run. Raises UserError."""

    def check_recording(self, brokers: Sequence[AnyBroker]) -> None:
        """Check that this machine can record the brokers for ``--jfr``. Raises UserError."""
        raise UserError(f"--jfr: {self.product} brokers do not run in a Java virtual machine; leave it out")

    def find(
        self, topology: str, brokers: Iterable[AnyBroker], release: Release, bind_host: str, progress: Progress
    ) -> Programs:
        """Find everything that processes on this machine are started from. Raises UserError.

        ``topology``: its name. ``bind_host``: the address at which clients reach the brokers.
        """
        raise NotImplementedError

    def find_in_image(self, home: Path, tools: Path, progress: Progress) -> Programs:
        """Find everything that brokers in containers are started from, in addition to their image. Raises UserError.

        ``home``: the distribution's folder in the image. ``tools``: the folder inside for mounted files.
        """
        raise NotImplementedError

    def versions_in_image(self, agent: Any) -> dict[str, str]:
        """Return versions of parts of the image, through a broker's agent. Raises ManagementFailed."""
        return {}

    def says_it_listens(self, lines: Iterable[str]) -> bool:
        """Return whether the log of a broker without an agent shows that it listens."""
        return False

    def failed_start(self, lines: Iterable[str]) -> str:
        """Return why a running broker has to be ended, from the log of its start; '' if there is no such reason."""
        return ""

    def management_port_taken(self, lines: Iterable[str]) -> bool:
        """Return whether the log shows that the port of its management interface could not be bound."""
        return False


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
