"""Holds the data on a broker product's distribution, image and rendered containers, as values."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from topologies.model.launch import BrokerFolders, Launch

Command = Callable[[Launch, BrokerFolders, Path, Path | None], list[str]]
"""(launch, the broker's folders, the agent's file, the store of a pair or None) -> argument list."""


@dataclass(frozen=True)
class ProductImage:
    """The image of brokers in containers: upstream's, or ``built`` by us if upstream's cannot be pulled.

    ``home``: the distribution's folder in both, unless ``home_variable`` in their environment names another.
    ``recipe``: folder of the Dockerfile, below docker-compose/images.
    """

    upstream: str
    built: str
    recipe: str
    home: PurePosixPath
    home_variable: str


@dataclass(frozen=True)
class ProductLaunch:
    """``name``: under which a run records the version.

    ``distribution``: its name among the pinned ones; ``jar``: a file of it with the version in its manifest; ``needs``:
    patterns of the other files that a start takes.

    ``secrets``: where below the private folder a broker's secrets are, ``{broker}`` for its name. ``first_serves``: of
    two brokers on one store the first to start serves, regardless of their names. ``says_it_listens``: whether the log
    of a broker without an agent says that it listens.
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
    """How a broker is started from a folder that `brokerbench render --to compose` wrote.

    ``variable``: the environment variable that names another image. ``called``: what has to be in that image.
    ``data``: where a broker's volume is mounted. ``standby_writes``: whether a standby on its active's store needs a
    volume of its own. ``start_script``: the text of the script that starts any broker of it.
    """

    variable: str
    called: str
    data: PurePosixPath
    standby_writes: bool
    start_script: Callable[[], str]


class BrokerUnavailable(Exception):
    """A broker's program is not on this machine. The message names the topology, the broker and the next step."""


class Executables:
    """The programs for brokers of a topology that no JVM of the product runs; by default none."""

    def find(self, topology: str, brokers: Iterable[object], bind_host: str) -> Mapping[str, Path]:
        """By broker. ``topology``: its name. Raises BrokerUnavailable."""
        return {}

    def versions(self, found: Mapping[str, Path]) -> dict[str, str]:
        """Raises BrokerUnavailable."""
        return {}

    def command(self, executable: Path, folders: BrokerFolders) -> list[str]:
        raise NotImplementedError
