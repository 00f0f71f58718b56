"""Chooses where the brokers run: in containers, as processes, or as brokers that run already.

As asked for; else in containers if possible.

`choose` is pure but for asking `look`, and asks only where containers come into question.
"""

import platform
from collections.abc import Callable
from dataclasses import dataclass, replace

from topologies.model.cluster_connections import no_shared_proxies
from topologies.model.proxied_links import proxied
from topologies.model.topology import Topology
from topologies.products import DEFAULT, PRODUCTS

RUNTIMES = ("containers", "processes", "external", "memory")
ASKED = "asked for by --runtime"
NOT_OURS = {
    "external": "brokers that run already are as they are; leave it out",
    "memory": "no broker is started; leave it out",
}
"""By runtime: why nothing can be said of how its brokers are started and configured."""
OTHERS = {
    "containers": "brokers in containers are those of their image; use --image instead, or --runtime processes",
    **NOT_OURS,
}
"""By runtime: why it takes no version of the brokers, and no build."""


class RuntimeImpossible(ValueError):
    """Containers were asked for and cannot be had: what is missing, and the next step."""


@dataclass(frozen=True)
class Seen:
    """What there is for containers. A problem is a sentence for the user; '' if there is none."""

    engine: str = ""  # "Docker engine 20.10.24"
    engine_problem: str = ""
    image: str = ""
    image_problem: str = ""
    another_kernel: str = ""  # on which containers run, where it is not this machine's

    @property
    def problem(self) -> str:
        return self.engine_problem or self.image_problem


Look = Callable[[str, str | None], Seen]
"""(flavour of the brokers, the image that was asked for) -> what there is."""


@dataclass(frozen=True)
class Choice:
    """``reason`` is printed, and is in the report."""

    runtime: str
    reason: str


def choose(asked: str, image: str | None, look: Callable[[str | None], Seen], release: str = "") -> Choice:
    """``asked``: a runtime, or '' for the best there is; ``image``: what was asked for. Raises RuntimeImpossible.

    ``release``: the option, with its value, that says what processes are started from; '' if none does.
    """
    if release:
        return _processes(asked, image, release)
    if asked == "memory":
        return Choice("memory", "no broker at all: for testing the harness")
    if image and asked in ("processes", "external"):
        raise RuntimeImpossible(f"--image {image} --runtime {asked}: only containers have an image; leave one out")
    if asked == "external":
        return Choice("external", "brokers that run already, as --brokers-file tells")
    if asked == "processes":
        return Choice("processes", f"local JVMs, {ASKED}")
    seen = look(image)
    if not seen.problem:
        because = ASKED if asked else "asked for by --image" if image else "the engine answers and the image can be had"
        return Choice("containers", f"{seen.engine}, image {seen.image}: {because}")
    if asked or image:
        option = "--runtime containers" if asked else f"--image {image}"
        raise RuntimeImpossible(f"{option}: {seen.problem}")
    return Choice("processes", f"local JVMs, for containers are not to be had: {seen.problem}")


def _processes(asked: str, image: str | None, release: str) -> Choice:
    if image:
        raise RuntimeImpossible(f"{release} --image {image}: only containers have an image; leave one out")
    if asked not in ("", "processes"):
        raise RuntimeImpossible(f"{release} --runtime {asked}: {OTHERS[asked]}")
    return Choice("processes", f"local JVMs, asked for by {release.partition(' ')[0]}")


def containers_for(topology: Topology | None, look: Look) -> Callable[[str | None], Seen]:
    """How to look for what a topology needs; None is one that will be refused anyway."""
    if topology is None:
        return lambda image: look(DEFAULT.name, image)
    if told := no_containers(topology):
        return lambda _image: Seen(engine_problem=told)
    through = proxied(topology.links)
    if not through:
        return lambda image: look(topology.flavour, image)
    return lambda image: _with_links(look(topology.flavour, image), through[0].name)


def no_containers(topology: Topology) -> str:
    """Why a topology cannot run in containers on any engine, with the next step; '' if it can. Pure."""
    for broker in topology.brokers:
        if why := topology.product.no_container(topology, broker):
            return why
    return no_shared_proxies(proxied(topology.links), topology.brokers)


def _with_links(seen: Seen, first: str) -> Seen:
    """This machine's kernel provides the data on the proxies' sockets, so containers have to share it."""
    if seen.engine_problem or not seen.another_kernel:
        return seen
    return replace(seen, engine_problem=links_need_this_kernel(first, seen.engine, seen.another_kernel))


def links_need_this_kernel(first: str, engine: str, kernel: str) -> str:
    """``first``: a link that goes through a proxy. ``kernel``: what containers run on instead of this machine's."""
    return (
        f"link {first!r} goes through Toxiproxy, for which containers have to share this machine's kernel, and those of"
        f" {engine} run on another one ({kernel}), as in a virtual machine; use --runtime processes, or leave the links"
        " as they are"
    )


def look_here(flavour: str, image: str | None) -> Seen:
    """This machine's means for containers of such brokers."""
    from topologies.runtimes.containers import engine as docker_engine  # takes a second, which other runs need not wait
    from topologies.runtimes.containers import image as container_image

    try:
        engine = docker_engine.find()
    except docker_engine.EngineTrouble as error:
        return Seen(engine_problem=str(error))
    name, why = container_image.look(engine, PRODUCTS[flavour], image)
    return Seen(
        f"Docker engine {engine.version}",
        "",
        name,
        container_image.cannot_be_had(PRODUCTS[flavour], name, why) if why else "",
        engine.another_kernel(platform.release()),
    )
