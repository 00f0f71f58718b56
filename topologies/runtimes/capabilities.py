"""Declares the operations that each runtime's brokers support, and explains why others are missing.

Checks ask for a capability, never for the name of a runtime, so a new runtime needs only one entry here.
"""

from collections.abc import Mapping
from enum import Enum

from topologies.model.proxied_links import proxied, why_no_shared_proxies
from topologies.model.topology import Topology

_RUNNING_ALREADY = "external brokers keep their configuration; leave it out"
_NO_BROKER = "no broker is started; leave it out"
_INSTEAD = "use --runtime processes or containers for that"


class Capability(Enum):
    """An operation or property that a runtime's brokers may support."""

    OWNS_BROKERS = "has exclusive brokers on this machine, which are empty at the start and removed after the run"
    OPERATES_BROKERS = "starts, stops, kills and freezes brokers"
    CONFIGURES_BROKERS = "starts brokers with the run's configuration, each in a separate process"
    CHOOSES_RELEASE = "starts brokers of a version or a build that the user chooses"
    REACHES_RUNNING_BROKERS = "connects to running brokers, and trusts the certificates that the user names"
    LISTENS = "has brokers that listen at an address"
    MANAGES_BROKERS = "can query brokers through management"
    LINKS_BROKERS = "has links between brokers, which come up and go down"
    PROXIES_LINKS = "can put proxies into links"
    RECORDS_JVMS = "can record Java Flight Recorder in each broker"
    RECONFIGURES = "starts brokers again with a changed configuration"
    OWNS_DISKS = "gives each broker a separate disk, whose power can be cut"
    LIMITS_CPUS = "limits each broker to a share of the cores"


LACKS: Mapping[str, Mapping[Capability, str]] = {
    "containers": {
        Capability.CHOOSES_RELEASE: (
            "brokers in containers come from their image; use --image instead, or --runtime processes"
        ),
        Capability.RECORDS_JVMS: "recordings of brokers in containers are not supported; use --runtime processes",
        Capability.RECONFIGURES: "brokers in containers keep their configuration; use --runtime processes",
        Capability.OWNS_DISKS: "brokers in containers have no separate disks; use --runtime processes",
        Capability.REACHES_RUNNING_BROKERS: "only --runtime external connects to running brokers; leave one out",
    },
    "processes": {
        Capability.REACHES_RUNNING_BROKERS: "only --runtime external connects to running brokers; leave one out",
    },
    "external": {
        Capability.OWNS_BROKERS: "external brokers may have other clients and messages",
        Capability.OPERATES_BROKERS: (
            "--runtime external only connects to brokers; use --runtime processes or containers for that"
        ),
        Capability.CONFIGURES_BROKERS: _RUNNING_ALREADY,
        Capability.CHOOSES_RELEASE: _RUNNING_ALREADY,
        Capability.PROXIES_LINKS: "external brokers",
        Capability.RECORDS_JVMS: _RUNNING_ALREADY,
        Capability.RECONFIGURES: _RUNNING_ALREADY,
        Capability.OWNS_DISKS: "external brokers keep their disks; use --runtime processes",
        Capability.LIMITS_CPUS: f"external brokers keep their share of the cores; {_INSTEAD}",
    },
    "memory": {
        Capability.CONFIGURES_BROKERS: _NO_BROKER,
        Capability.CHOOSES_RELEASE: _NO_BROKER,
        Capability.REACHES_RUNNING_BROKERS: "only --runtime external connects to running brokers; leave one out",
        Capability.LISTENS: "brokers in memory do not listen at an address; leave it out",
        Capability.MANAGES_BROKERS: f"brokers in memory have no management; {_INSTEAD}",
        Capability.LINKS_BROKERS: f"brokers in memory have no links that could come up; {_INSTEAD}",
        Capability.PROXIES_LINKS: "brokers in memory",
        Capability.RECORDS_JVMS: "brokers in memory have no Java virtual machine; use --runtime processes",
        Capability.RECONFIGURES: "brokers in memory have no configuration; leave overlay out",
        Capability.OWNS_DISKS: "brokers in memory have no disks; use --runtime processes",
        Capability.LIMITS_CPUS: f"brokers in memory have no process of their own; {_INSTEAD}",
    },
}
"""By runtime: the capabilities that it lacks, each with the reason and the next step for an error message.

For `PROXIES_LINKS`: only the noun for these brokers.
"""
RUNTIMES = tuple(LACKS)


def can(runtime: str, capability: Capability) -> bool:
    """Return whether a runtime has the capability; False for a runtime that is unknown or not chosen yet."""
    return runtime in LACKS and capability not in LACKS[runtime]


def why_not(runtime: str, capability: Capability) -> str:
    """Return why a runtime lacks a capability, with the next step; empty if it has it, or is not chosen yet."""
    return LACKS.get(runtime, {}).get(capability, "")


def why_no_containers(topology: Topology) -> str:
    """Return why a topology cannot run in containers of any engine, with the next step; '' if it can. Pure."""
    if topology.product.launch.image is None:
        return f"{topology.flavour} brokers have no container image; use --runtime processes"
    for broker in topology.brokers:
        if why := topology.product.why_no_container(topology, broker):
            return why
    return why_no_shared_proxies(proxied(topology.links), topology.brokers)
