"""Declares what is possible with the brokers of each runtime, and why something is not.

Refusals ask for a capability that a runtime has or lacks, never for its name: a runtime that is added gets one entry.
"""

from collections.abc import Mapping
from enum import Enum

from topologies.model.proxied_links import no_shared_proxies, proxied
from topologies.model.topology import Topology

_RUNNING_ALREADY = "brokers that run already are as they are; leave it out"
_NO_BROKER = "no broker is started; leave it out"
_INSTEAD = "use --runtime processes or containers for that"


class Capability(Enum):
    """What is possible with the brokers of a runtime, if it has the capability."""

    OWNS_BROKERS = "has them for itself, on this machine: empty when they start, and gone with the run"
    OPERATES_BROKERS = "starts, stops, kills and freezes them"
    CONFIGURES_BROKERS = "starts them as the run configures them, in a Java virtual machine of their own"
    CHOOSES_RELEASE = "starts them from a version or a build that the user names, by this machine's Java"
    REACHES_RUNNING_BROKERS = "reaches those that run already, and trusts the certificates that the user names"
    LISTENS = "has brokers that listen at an address"
    MANAGES_BROKERS = "asks them by management"
    LINKS_BROKERS = "has links between them, which come up and go down"
    PROXIES_LINKS = "gets between them and their links"
    OWNS_DISKS = "gives each a disk of its own, whose power can be cut"


LACKS: Mapping[str, Mapping[Capability, str]] = {
    "containers": {
        Capability.CHOOSES_RELEASE: (
            "brokers in containers are those of their image; use --image instead, or --runtime processes"
        ),
        Capability.OWNS_DISKS: "brokers in containers have no disks of their own; use --runtime processes",
        Capability.REACHES_RUNNING_BROKERS: "only --runtime external reaches brokers that run already; leave one out",
    },
    "processes": {
        Capability.REACHES_RUNNING_BROKERS: "only --runtime external reaches brokers that run already; leave one out",
    },
    "external": {
        Capability.OWNS_BROKERS: "brokers that run already have clients and messages of others",
        Capability.OPERATES_BROKERS: (
            "--runtime external only talks to brokers; start it by --runtime processes or containers for that"
        ),
        Capability.CONFIGURES_BROKERS: _RUNNING_ALREADY,
        Capability.CHOOSES_RELEASE: _RUNNING_ALREADY,
        Capability.PROXIES_LINKS: "brokers that run already",
        Capability.OWNS_DISKS: "brokers that run already have the disks that they have; use --runtime processes",
    },
    "memory": {
        Capability.CONFIGURES_BROKERS: _NO_BROKER,
        Capability.CHOOSES_RELEASE: _NO_BROKER,
        Capability.REACHES_RUNNING_BROKERS: "only --runtime external reaches brokers that run already; leave one out",
        Capability.LISTENS: "brokers in memory listen nowhere; leave it out",
        Capability.MANAGES_BROKERS: f"brokers in memory have no management; {_INSTEAD}",
        Capability.LINKS_BROKERS: f"brokers in memory have no links that could come up; {_INSTEAD}",
        Capability.PROXIES_LINKS: "brokers in memory",
        Capability.OWNS_DISKS: "brokers in memory have no disks; use --runtime processes",
    },
}
"""By runtime: the capabilities that it lacks, each with the reason and the next step, as a refusal says them.

Of `PROXIES_LINKS`: the brokers that nothing gets between.
"""
RUNTIMES = tuple(LACKS)


def can(runtime: str, capability: Capability) -> bool:
    """False too for a runtime that is not known, or not chosen yet."""
    return runtime in LACKS and capability not in LACKS[runtime]


def why_not(runtime: str, capability: Capability) -> str:
    """Why it lacks the capability, with the next step; '' if it has it, or is not chosen yet."""
    return LACKS.get(runtime, {}).get(capability, "")


def no_containers(topology: Topology) -> str:
    """Why a topology cannot run in containers on any engine, with the next step; '' if it can. Pure."""
    for broker in topology.brokers:
        if why := topology.product.no_container(topology, broker):
            return why
    return no_shared_proxies(proxied(topology.links), topology.brokers)
