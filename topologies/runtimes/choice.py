"""Chooses where the brokers run, checks that the user's choices are compatible, and creates the runtime.

Brokers run in containers or as processes, or they are external. The default is containers if possible.

`choose` is pure except for calls of `look`, which it makes only if containers are possible.
"""

import math
import os
import platform
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from records.errors import UserError
from records.store.rundir import RunDirectory
from topologies.model.broker import MIB
from topologies.model.launch import LOOPBACK
from topologies.model.proxied_links import proxied
from topologies.model.topology import Topology
from topologies.model.trust import Trust
from topologies.products import DEFAULT, PRODUCTS
from topologies.runtimes.capabilities import Capability, can, why_no_containers, why_not
from topologies.runtimes.contract import Runtime
from topologies.runtimes.external import credentials as external_credentials
from topologies.runtimes.external import file as external_file
from topologies.runtimes.external.runtime import ExternalRuntime
from topologies.runtimes.managed import DEFAULT_MEMORY_MB, START_TIMEOUT_S
from topologies.runtimes.prepared import render, render_for_topics, without_defaults
from topologies.runtimes.processes.cpu_groups import why_no_quota
from topologies.runtimes.processes.disks import why_no_disks
from topologies.runtimes.processes.runtime import ProcessRuntime
from topologies.runtimes.release import release_of

ASKED = "chosen by --runtime"


@dataclass(frozen=True)
class ContainerSupport:
    """What this machine offers for containers. A problem is a sentence for the user; '' if there is none."""

    engine: str = ""  # "Docker engine 20.10.24"
    engine_problem: str = ""
    image: str = ""
    image_problem: str = ""
    differing_kernel: str = ""  # the kernel of the containers, if it differs from this machine's

    @property
    def problem(self) -> str:
        return self.engine_problem or self.image_problem


Look = Callable[[str, str | None], ContainerSupport]
"""(flavour of the brokers, the image that the user chose) -> what this machine offers."""


@dataclass(frozen=True)
class Choice:
    """A runtime and the ``reason`` for it, which is printed and shown in the report."""

    runtime: str
    reason: str


def choose(wanted: str, image: str | None, look: Callable[[str | None], ContainerSupport], release: str = "") -> Choice:
    """Choose a runtime. Raises UserError.

    ``wanted``: a runtime, or '' for the best available; ``image``: the user's image.
    ``release``: the option, with its value, that selects what processes are started from; '' for the default.
    """
    if release:
        return _processes(wanted, image, release)
    if wanted == "memory":
        return Choice("memory", "no real brokers: only for tests of the harness")
    if image and wanted in ("processes", "external"):
        raise UserError(f"--image {image} --runtime {wanted}: only containers have an image; leave one out")
    if wanted == "external":
        return Choice("external", "running brokers from --brokers-file")
    if wanted == "processes":
        return Choice("processes", f"on this machine, {ASKED}")
    means = look(image)
    if not means.problem:
        because = ASKED if wanted else "chosen by --image" if image else "the engine answers and the image is available"
        return Choice("containers", f"{means.engine}, image {means.image}: {because}")
    if wanted or image:
        option = "--runtime containers" if wanted else f"--image {image}"
        raise UserError(f"{option}: {means.problem}")
    return Choice("processes", f"on this machine, because containers are not available: {means.problem}")


def _processes(wanted: str, image: str | None, release: str) -> Choice:
    if image:
        raise UserError(f"{release} --image {image}: only containers have an image; leave one out")
    if wanted and (why := why_not(wanted, Capability.CHOOSES_RELEASE)):
        raise UserError(f"{release} --runtime {wanted}: {why}")
    return Choice("processes", f"on this machine, chosen by {release.partition(' ')[0]}")


def containers_for(topology: Topology | None, look: Look) -> Callable[[str | None], ContainerSupport]:
    """Return the check of this machine for a topology; None is a topology that will be rejected anyway."""
    if topology is None:
        return lambda image: look(DEFAULT.name, image)
    if problem := why_no_containers(topology):
        return lambda _image: ContainerSupport(engine_problem=problem)
    through = proxied(topology.links)
    if not through:
        return lambda image: look(topology.flavour, image)
    return lambda image: _with_links(look(topology.flavour, image), through[0].name)


def _with_links(means: ContainerSupport, link: str) -> ContainerSupport:
    """Require this machine's kernel for containers, because it provides the data on the proxies' sockets."""
    if means.engine_problem or not means.differing_kernel:
        return means
    return replace(means, engine_problem=links_need_this_kernel(link, means.engine, means.differing_kernel))


def links_need_this_kernel(link: str, engine: str, kernel: str) -> str:
    """Return the problem. ``link``: a link through a proxy. ``kernel``: the kernel of the containers."""
    return (
        f"link {link!r} goes through Toxiproxy, which requires that containers share this machine's kernel, but the"
        f" containers of {engine} run on another kernel ({kernel}), as in a virtual machine; use --runtime processes,"
        " or set no impairments of links"
    )


def look_here(flavour: str, image: str | None) -> ContainerSupport:
    """Return what this machine offers for containers with brokers of this flavour."""
    from topologies.runtimes.containers import engine as docker_engine  # imported here because it takes a second
    from topologies.runtimes.containers import image as container_image

    try:
        engine = docker_engine.find()
    except docker_engine.EngineTrouble as error:
        return ContainerSupport(engine_problem=str(error))
    name, why = container_image.look(engine, PRODUCTS[flavour], image)
    return ContainerSupport(
        f"Docker engine {engine.version}",
        "",
        name,
        container_image.explain_missing_image(PRODUCTS[flavour], name, why) if why else "",
        engine.differing_kernel(platform.release()),
    )


@dataclass(frozen=True)
class BrokerSetup:
    """The user's choices for the brokers of a run; ``runtime``: containers | processes | external."""

    runtime: str
    image: str | None = None
    broker_memory_mb: int = DEFAULT_MEMORY_MB
    broker_cpus: float | None = None
    base_port: int | None = None
    bind_host: str = LOOPBACK
    keep_data: bool = False
    brokers_file: Path | None = None
    trust: Trust = field(default_factory=Trust)
    broker_version: str | None = None
    distribution: Path | None = None
    overlay: Path | None = None  # already applied to the topology
    unset_defaults: bool = False
    start_timeout_s: float = START_TIMEOUT_S
    disk_mb: int | None = None
    empty_queues: bool = False
    jfr: bool = False

    @property
    def release(self) -> str:
        """The option that selects what processes are started from, with its value; '' for the default version."""
        if self.distribution:
            return f"--distribution {self.distribution}"
        return f"--broker-version {self.broker_version}" if self.broker_version else ""

    def check(self, topology: Topology) -> None:
        """Check the choices for a topology. Raises UserError."""
        if can(self.runtime, Capability.CHOOSES_RELEASE):
            release_of(topology, self.broker_version, self.distribution)
            topology.product.launch.check(topology.brokers)
        self._check_memory(topology)
        self._check_cpus(topology)
        self._check_overlay()
        self._check_empty_queues()
        self._check_jfr(topology)
        if self.disk_mb and (why := why_no_disks(self.runtime)):
            raise UserError(f"--disks {self.disk_mb}: {why}")
        if unreached := why_not(self.runtime, Capability.REACHES_RUNNING_BROKERS):
            if self.trust.file:
                rule = "a run's own brokers have their own authority, which clients trust; leave it out"
                raise UserError(f"--ca-file {self.trust.file} --runtime {self.runtime}: {rule}")
            if self.brokers_file is not None:
                raise UserError(f"--brokers-file {self.brokers_file} --runtime {self.runtime}: {unreached}")
            return
        if self.brokers_file is None:
            raise UserError(f"--runtime {self.runtime}: add --brokers-file FILE, with the brokers' addresses")
        for option, is_given in (
            ("--broker-memory", self.broker_memory_mb != DEFAULT_MEMORY_MB),
            ("--base-port", self.base_port is not None),
            ("--bind-host", self.bind_host != LOOPBACK),
            ("--keep-data", self.keep_data),
            ("--start-timeout", self.start_timeout_s != START_TIMEOUT_S),
        ):
            if is_given:
                why = why_not(self.runtime, Capability.CONFIGURES_BROKERS)
                raise UserError(f"{option} with --runtime {self.runtime}: {why}")

    def heaps_mb(self, topology: Topology) -> dict[str, int]:
        """Return the heap of each broker that is started here in a Java virtual machine."""
        heap_mb = topology.product.launch.heap_mb
        heaps = {broker.name: heap_mb(broker, self.broker_memory_mb) for broker in topology.brokers}
        return {broker: heap for broker, heap in heaps.items() if heap is not None}

    def warnings(self, topology: Topology, memory_bytes: float) -> Iterator[str]:
        """Warn about settings that overload this machine. ``memory_bytes``: its memory."""
        if not can(self.runtime, Capability.CONFIGURES_BROKERS):
            return
        heaps_mb = self.heaps_mb(topology)
        total_mb = sum(heaps_mb.values())
        if total_mb * MIB > memory_bytes:
            yield (
                f"the heaps of {len(heaps_mb)} brokers take {total_mb:,} MiB, and this machine has "
                f"{memory_bytes / MIB:,.0f} MiB: brokers that swap are slow, and the system may kill them; use less "
                "for --broker-memory or heap_mb, or fewer brokers"
            )

    def _check_memory(self, topology: Topology) -> None:
        """Raise UserError for a memory limit beyond a broker's heap.

        The broker would replace it with a share of the heap, contrary to the run's settings.
        """
        for name, heap_mb in (
            self.heaps_mb(topology).items() if can(self.runtime, Capability.CONFIGURES_BROKERS) else ()
        ):
            limit_bytes = getattr(topology.broker(name), "memory_limit_bytes", 0)
            if limit_bytes > heap_mb * MIB:
                raise UserError(
                    f"broker {name!r}: memory_limit_bytes={limit_bytes}, but its heap is "
                    f"{heap_mb:,} MiB; write at most {heap_mb * MIB}, or more for "
                    "--broker-memory or heap_mb"
                )

    def _check_cpus(self, topology: Topology) -> None:
        """Raise UserError if not every broker can have its share at the same time: the shares would not be equal."""
        if self.broker_cpus is None:
            return
        option = f"--broker-cpus {self.broker_cpus:g}"
        if why := why_no_quota(self.runtime, self.broker_cpus):
            raise UserError(f"{option}: {why}")
        brokers, cores = len(topology.brokers), cores_here()
        if brokers * self.broker_cpus > cores:
            raise UserError(
                f"{option}: {brokers} brokers would use {brokers * self.broker_cpus:g} cores, but this machine has "
                f"{cores}, so they could not all have their share; use at most {_floor(cores / brokers):g}, or fewer "
                "brokers"
            )

    def _check_empty_queues(self) -> None:
        if self.empty_queues and not can(self.runtime, Capability.REACHES_RUNNING_BROKERS):
            rule = "its brokers are empty when they start; leave it out"
            raise UserError(f"--empty-queues --runtime {self.runtime}: {rule}")

    def _check_jfr(self, topology: Topology) -> None:
        if not self.jfr:
            return
        if why := why_not(self.runtime, Capability.RECORDS_JVMS):
            raise UserError(f"--jfr --runtime {self.runtime}: {why}")
        topology.product.launch.check_recording(topology.brokers)

    def _check_overlay(self) -> None:
        options = {f"--overlay {self.overlay}": self.overlay, "--unset-defaults": self.unset_defaults}
        if why := why_not(self.runtime, Capability.CONFIGURES_BROKERS):
            for option in (option for option, value in options.items() if value):
                raise UserError(f"{option} --runtime {self.runtime}: {why}")


def cores_here() -> int:
    """Return the number of cores that this process and its children may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _floor(cpus: float) -> float:
    """Round a share down to hundredths of a core."""
    return math.floor(cpus * 100) / 100


def runtime_of(wanted: BrokerSetup, topology: Topology, directory: RunDirectory, *, topics: bool = False) -> Runtime:
    """Create the runtime of real brokers; nothing is started yet. Raises ValueError if it cannot be created.

    ``topics``: whether clients will subscribe to topics.
    """
    if wanted.runtime == "external":
        return external_of(wanted, topology)
    renderer = render_for_topics if topics else render
    wishes: dict[str, Any] = {
        "broker_memory_mb": wanted.broker_memory_mb,
        "broker_cpus": wanted.broker_cpus,
        "base_port": wanted.base_port,
        "bind_host": wanted.bind_host,
        "keep_data": wanted.keep_data,
        "start_timeout_s": wanted.start_timeout_s,
        "renderer": without_defaults(renderer) if wanted.unset_defaults else renderer,
    }
    if wanted.runtime == "containers":
        from topologies.runtimes.containers.runtime import (
            ContainerRuntime,  # imported here because it takes half a second
        )

        return ContainerRuntime(topology, directory, image=wanted.image, **wishes)
    release = release_of(topology, wanted.broker_version, wanted.distribution)
    return ProcessRuntime(topology, directory, release=release, disk_mb=wanted.disk_mb, jfr=wanted.jfr, **wishes)


def trust_in(runtime: Runtime, chosen: Trust) -> Trust:
    """Return the certificates that clients trust: a run's own brokers have their own authority."""
    return Trust(runtime.trusted_pem) if runtime.trusted_pem else chosen


def external_of(wanted: BrokerSetup, topology: Topology, protocols: Iterable[str] = ()) -> ExternalRuntime:
    """Return a runtime for external brokers. ``protocols``: protocols that each broker must speak.

    Raises ValueError with file, line and field.
    """
    assert wanted.brokers_file is not None, "checked by BrokerSetup.check"
    file = external_file.read(wanted.brokers_file)
    file.check(topology, protocols)
    credentials = external_credentials.find(file.credentials_file, os.environ)
    return ExternalRuntime(topology, file, credentials, ca_file=wanted.trust.file)
