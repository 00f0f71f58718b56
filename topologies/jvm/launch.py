"""The launch of products whose brokers run in a Java virtual machine, from a pinned distribution, with Jolokia's agent.

Java and the distribution are looked for, and verified, once per run.
"""

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from records.environment import for_java
from records.store.recordings import FOLDER
from topologies.jvm import recordings
from topologies.jvm.distribution import PinnedArtifact, ensure
from topologies.jvm.java import find_java, require_taken
from topologies.jvm.release import NAME_ONE, OwnBuild, manifest_version, own_build, refused
from topologies.jvm.settings import Jvm
from topologies.model.broker import AnyBroker
from topologies.model.endpoints import ManagementEndpoint
from topologies.model.launch import (
    BrokerCommand,
    BrokerPlace,
    ProductLaunch,
    Programs,
    Progress,
    Release,
    properties,
)

NOISE = re.compile(
    r"^\s*(at |\.\.\. \d+ (more|common frames)|$)|JVM args: |Extensions classpath:|^\s+\[/|^ACTIVEMQ_\w+: "
)
"""Stack frames, the list of JVM arguments, and other lines without information."""
AGENT_FAILED = re.compile(r"Could not start Jolokia agent: (.*)")
AGENT = "jolokia-agent.jar"
KEPT_TO_ITSELF = (
    "-Djava.awt.headless=true",
    "-Djava.net.preferIPv4Stack=true",  # 127.0.0.1 really is IPv4
    "-XX:+DisableAttachMechanism",
    "-XX:-UsePerfData",  # no counter file in the shared temporary folder: a killed JVM would leave it behind
)
JOLOKIA_AGENT = PinnedArtifact(
    name="jolokia-agent",
    group="org.jolokia",
    artifact="jolokia-agent-jvm",
    version="2.5.0",
    packaging="jar",
    classifier="javaagent",
    sha512="e7e7ca02407f80c745c37cc69b454a445ad05d81fcda8f7c18dc74eb9586eb58"
    "7897c0394ee240d228db935a41e008274296220ca8b3c5e993ae4a896249844b",
)


@dataclass(frozen=True)
class JavaParts:
    """The executable, the unpacked folder of the distribution, and Jolokia's jar, as the broker sees them."""

    java: Path
    distribution: Path
    agent: Path


JvmArguments = Callable[[JavaParts, BrokerPlace], list[str]]
"""Returns a broker's argument list, which begins with `jvm`."""


def jvm(parts: JavaParts, place: BrokerPlace) -> list[str]:
    """Return Java and the options for every broker's JVM."""
    return [
        str(parts.java),
        *heap_and_options(place),
        *KEPT_TO_ITSELF,
        f"-XX:ErrorFile={place.folders.log}/jvm-error-%p.log",
        f"-Djava.io.tmpdir={place.folders.temporary}",
        f"-javaagent:{parts.agent}=config={place.management_file}",
    ]


def heap_and_options(place: BrokerPlace) -> list[str]:
    """The heap has its full size from the start: a heap that grows during the run would be measured too."""
    own = settings_of(place.broker)
    options = (*own.options, *(recordings.OPTIONS if place.record else ()))
    return replace(own, heap_mb=own.heap_mb or place.memory_mb, options=options).arguments


def settings_of(broker: AnyBroker) -> Jvm:
    return broker.process if isinstance(broker.process, Jvm) else Jvm()


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


@dataclass(frozen=True)
class JavaPrograms:
    """Java, a distribution and the agent, which brokers are started from."""

    parts: JavaParts
    arguments: JvmArguments
    versions: Mapping[str, str]
    mounts: Mapping[Path, Path] = field(default_factory=dict)

    def command(self, place: BrokerPlace) -> BrokerCommand:
        assert place.management is not None, "only brokers with an agent run in a JVM"
        return BrokerCommand(
            self.arguments(self.parts, place),
            environment(),
            {place.management_file: agent_properties(place.management)},
            (place.folders.root / FOLDER,) if place.record else (),
        )


@dataclass(frozen=True, kw_only=True)
class JvmLaunch(ProductLaunch):
    """The launch of a product whose brokers run in a JVM.

    ``distributions``: its pinned distributions, the default first. ``jar``: a file in them whose manifest has the
    version; ``needs``: patterns of the other files that a launch requires.
    """

    versions: tuple[str, ...] = field(init=False)
    distributions: tuple[PinnedArtifact, ...]
    jar: str
    needs: tuple[str, ...]
    arguments: JvmArguments
    noise: re.Pattern[str] = NOISE

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "versions", tuple(distribution.version for distribution in self.distributions))

    def release(
        self, topology: str, version: str | None, path: Path | None, others: Sequence[ProductLaunch]
    ) -> OwnBuild | PinnedArtifact:
        if path:
            return own_build(path, lambda home: self._version_of(home, path, topology, others))
        chosen = self.chosen(version, ", or name a distribution of another version with --distribution")
        return next(distribution for distribution in self.distributions if distribution.version == chosen)

    def _version_of(self, home: Path, path: Path, topology: str, others: Sequence[ProductLaunch]) -> str:
        """Return the version of the unpacked folder ``home`` of ``path``.

        Raises UserError if the build cannot be used.
        """
        for other in others:
            if other.recognizes(home):
                own_brokers = f"topology {topology!r} needs {self.product} brokers"
                raise refused(
                    path, f"has {other.product} brokers, but {own_brokers}; choose another topology or distribution"
                )
        for pattern in (self.jar, *self.needs):
            if not any(home.glob(pattern)):
                where = "" if path.is_dir() else f" in its folder {home.name}"
                raise refused(path, f"has no {pattern}{where}, which {self.product} brokers need to start; {NAME_ONE}")
        version = manifest_version(home / self.jar)
        if not version:
            raise refused(path, f"{self.jar} has no Implementation-Version in its manifest; build it with Maven")
        return version

    def recognizes(self, build: Path) -> bool:
        return (build / self.jar).is_file()

    def heap_mb(self, broker: AnyBroker, memory_mb: int) -> int | None:
        return settings_of(broker).heap_mb or memory_mb if broker.has_agent else None

    def check(self, brokers: Sequence[AnyBroker]) -> None:
        for options, broker in {settings_of(broker).options: broker.name for broker in brokers[::-1]}.items():
            require_taken(options, broker)

    def check_recording(self, brokers: Sequence[AnyBroker]) -> None:
        recordings.check({broker.name: settings_of(broker).options for broker in brokers})

    def find(
        self, topology: str, brokers: Iterable[AnyBroker], release: Release, bind_host: str, progress: Progress
    ) -> Programs:
        java = find_java()
        if isinstance(release, OwnBuild):
            home, build = release.home, release.recorded(self.name)
        else:
            assert isinstance(release, PinnedArtifact), "JVM launches have no other releases"
            home, build = ensure(release, progress=progress), {}
        agent = ensure(JOLOKIA_AGENT, progress=progress)
        versions = {self.name: release.version, **build, JOLOKIA_AGENT.name: JOLOKIA_AGENT.version}
        versions |= {"java": java.version, "java-source": java.source}
        return JavaPrograms(JavaParts(java.executable, home, agent), self.arguments, versions)

    def find_in_image(self, home: Path, tools: Path, progress: Progress) -> Programs:
        parts = JavaParts(Path("java"), home, tools / AGENT)
        mounts = {ensure(JOLOKIA_AGENT, progress=progress): parts.agent}
        return JavaPrograms(parts, self.arguments, {JOLOKIA_AGENT.name: JOLOKIA_AGENT.version}, mounts)

    def versions_in_image(self, agent: Any) -> dict[str, str]:
        version = str(agent.read("java.lang:type=Runtime", "VmVersion")["VmVersion"])
        return {"java": version, "java-source": "image"}

    def failed_start(self, lines: Iterable[str]) -> str:
        """Return the agent's message about its failure: the broker continues without it."""
        why = agent_failure(lines)
        return f"started without its Jolokia agent ({why})" if why else ""

    def management_port_taken(self, lines: Iterable[str]) -> bool:
        """Return whether the agent could not bind its port, which its message does not name."""
        return "BindException" in agent_failure(lines)


def agent_failure(lines: Iterable[str]) -> str:
    """Return the Jolokia agent's message about its failure; '' if it did not fail."""
    return next((match.group(1) for line in lines if (match := AGENT_FAILED.search(line))), "")
