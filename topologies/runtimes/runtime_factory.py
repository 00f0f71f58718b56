"""Makes the runtime that a user chose, and checks that the choices go together."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from records.rundir import RunDirectory
from topologies.model.broker import MIB, AnyBroker
from topologies.model.launch import LOOPBACK
from topologies.model.topology import Topology
from topologies.model.trust import Trust
from topologies.render.files import render, render_for_topics, without_defaults
from topologies.runtimes.choice import NOT_OURS
from topologies.runtimes.contract import Runtime
from topologies.runtimes.external import credentials as external_credentials
from topologies.runtimes.external import file as external_file
from topologies.runtimes.external.runtime import ExternalRuntime
from topologies.runtimes.java import require_taken
from topologies.runtimes.own import START_TIMEOUT_S
from topologies.runtimes.processes.runtime import ProcessRuntime
from topologies.runtimes.release import release_of


class WishesConflict(ValueError):
    """Two options that do not go together: names both and the next step."""


@dataclass(frozen=True)
class Wanted:
    """The choices for the brokers of one run; ``runtime``: containers | processes | external."""

    runtime: str
    image: str | None = None
    broker_memory_mb: int = 512
    base_port: int | None = None
    bind_host: str = LOOPBACK
    keep_data: bool = False
    brokers_file: Path | None = None
    trust: Trust = field(default_factory=Trust)
    broker_version: str | None = None
    distribution: Path | None = None
    overlay: Path | None = None  # that the topology has already
    unset_defaults: bool = False
    start_timeout_s: float = START_TIMEOUT_S

    @property
    def release(self) -> str:
        """The option that says what processes are started from, with its value; '' for the default version."""
        if self.distribution:
            return f"--distribution {self.distribution}"
        return f"--broker-version {self.broker_version}" if self.broker_version else ""

    def check(self, topology: Topology) -> None:
        """Raises WishesConflict, ReleaseImpossible or JvmRefuses."""
        if self.runtime == "processes":
            release_of(topology, self.broker_version, self.distribution)
            for options, broker in {broker.java.options: broker.name for broker in topology.brokers[::-1]}.items():
                require_taken(options, broker)
        self._check_memory(topology)
        self._check_overlay()
        if self.runtime != "external":
            if self.trust.file:
                told = "brokers of our own have an authority of their own, which clients believe; leave it out"
                raise WishesConflict(f"--ca-file {self.trust.file} --runtime {self.runtime}: {told}")
            if self.brokers_file is not None:
                told = "only --runtime external reaches brokers that run already; leave one out"
                raise WishesConflict(f"--brokers-file {self.brokers_file} --runtime {self.runtime}: {told}")
            return
        if self.brokers_file is None:
            raise WishesConflict("--runtime external: say by --brokers-file FILE where the brokers are")
        for option, is_given in (
            ("--base-port", self.base_port is not None),
            ("--bind-host", self.bind_host != LOOPBACK),
            ("--keep-data", self.keep_data),
            ("--start-timeout", self.start_timeout_s != START_TIMEOUT_S),
        ):
            if is_given:
                told = "brokers that run already are as they are; leave it out"
                raise WishesConflict(f"{option} with --runtime external: {told}")

    def heap_mb(self, broker: AnyBroker) -> int:
        """Of a broker that is started here, in a Java virtual machine."""
        return broker.java.heap_mb or self.broker_memory_mb

    def warnings(self, topology: Topology, memory_bytes: float) -> Iterator[str]:
        """What this machine may not bear. ``memory_bytes``: what it has."""
        if self.runtime in NOT_OURS:
            return
        heaps_mb = [self.heap_mb(broker) for broker in topology.brokers if broker.keeps_messages]
        if sum(heaps_mb) * MIB > memory_bytes:
            yield (
                f"the heaps of {len(heaps_mb)} brokers take {sum(heaps_mb):,} MiB, and this machine has "
                f"{memory_bytes / MIB:,.0f} MiB: brokers that swap are slow, and the system may kill them; write less "
                "for --broker-memory or heap_mb, or use fewer brokers"
            )

    def _check_memory(self, topology: Topology) -> None:
        """A broker sets a limit beyond its heap back to a share of it, and the run would not be what it says."""
        for broker in topology.brokers if self.runtime not in NOT_OURS else ():
            limit_bytes = getattr(broker, "memory_limit_bytes", 0)
            if limit_bytes > self.heap_mb(broker) * MIB:
                raise WishesConflict(
                    f"broker {broker.name!r}: memory_limit_bytes={limit_bytes}, but its heap is "
                    f"{self.heap_mb(broker):,} MiB; write at most {self.heap_mb(broker) * MIB}, or more for "
                    "--broker-memory or heap_mb"
                )

    def _check_overlay(self) -> None:
        given = {f"--overlay {self.overlay}": self.overlay, "--unset-defaults": self.unset_defaults}
        for option in (option for option, value in given.items() if value and self.runtime in NOT_OURS):
            raise WishesConflict(f"{option} --runtime {self.runtime}: {NOT_OURS[self.runtime]}")


def runtime_of(wanted: Wanted, topology: Topology, directory: RunDirectory, *, topics: bool = False) -> Runtime:
    """The runtime of real brokers; nothing is started yet. Raises ValueError for what cannot be made.

    ``topics``: whether clients will subscribe to topics.
    """
    if wanted.runtime == "external":
        return external_of(wanted, topology)
    renderer = render_for_topics if topics else render
    wishes: dict[str, Any] = {
        "broker_memory_mb": wanted.broker_memory_mb,
        "base_port": wanted.base_port,
        "bind_host": wanted.bind_host,
        "keep_data": wanted.keep_data,
        "start_timeout_s": wanted.start_timeout_s,
        "renderer": without_defaults(renderer) if wanted.unset_defaults else renderer,
    }
    if wanted.runtime == "containers":
        from topologies.runtimes.containers.runtime import (
            ContainerRuntime,  # half a second that other runs need not wait
        )

        return ContainerRuntime(topology, directory, image=wanted.image, **wishes)
    release = release_of(topology, wanted.broker_version, wanted.distribution)
    return ProcessRuntime(topology, directory, release=release, **wishes)


def trust_in(runtime: Runtime, chosen: Trust) -> Trust:
    """Whom clients believe to be a broker of it: brokers of our own have an authority of their own."""
    return Trust(runtime.trusted_pem) if runtime.trusted_pem else chosen


def external_of(wanted: Wanted, topology: Topology, protocols: Iterable[str] = ()) -> ExternalRuntime:
    """Brokers that run already; ``protocols``: what each must speak. Raises ValueError, naming file, line and field."""
    assert wanted.brokers_file is not None, "checked by Wanted.check"
    file = external_file.read(wanted.brokers_file)
    file.check(topology, protocols)
    credentials = external_credentials.find(file.credentials_file, os.environ)
    return ExternalRuntime(topology, file, credentials, ca_file=wanted.trust.file)
