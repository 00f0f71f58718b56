"""The `BrokerProduct` of a made-up broker: no Java, no distribution, no links, its own management."""

import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn
from urllib.parse import urlsplit

from records.loads.routes import Route
from topologies.made_up.management import HttpAgent, MadeUpQueries, browse
from topologies.model.broker import AnyBroker
from topologies.model.deliveries import ClientDestination, Dialect
from topologies.model.deliveries import routes as routes_in
from topologies.model.launch import BrokerCommand, BrokerPlace, ProductLaunch, Programs, Progress, Release
from topologies.model.link import Link
from topologies.model.management import ManagementFailed
from topologies.model.site import Site
from topologies.model.topology import BrokerProduct, ProductManagement, Topology

CONFIGURATION = "broker.json"
BIND_FAILED = re.compile(r"error while attempting to bind on address \('[^']*', (\d+)\)")


@dataclass(frozen=True)
class MadeUpBroker(AnyBroker):
    @property
    def protocols(self) -> tuple[str, ...]:
        return ("stomp",)


def _problems(brokers: Sequence[AnyBroker], links: Sequence[Link]) -> Iterator[str]:
    for broker in brokers:
        if broker.standby_of:
            yield f"broker {broker.name!r} has standby_of, but made-up brokers have no standbys; leave it out"


def _routes(
    brokers: Sequence[AnyBroker], sent: Iterable[ClientDestination], consumed: Iterable[ClientDestination]
) -> tuple[Route, ...]:
    return routes_in(Dialect(brokers="made-up brokers", rest={"stomp": ">"}), sent, consumed)


def _render(topology: Topology, broker: AnyBroker, site: Site) -> dict[str, str]:
    listening = {"name": broker.name, "host": site.bind_host, "port": site.port(broker.name, "stomp")}
    return {CONFIGURATION: json.dumps(listening, indent=2) + "\n"}


@dataclass(frozen=True)
class Interpreter:
    """This Python, which runs the broker's program."""

    versions: Mapping[str, str]
    mounts: Mapping[Path, Path] = field(default_factory=dict)

    def command(self, place: BrokerPlace) -> BrokerCommand:
        assert place.management is not None
        url = urlsplit(place.management.url)
        login = f"{place.management.username}:{place.management.password}"
        management = json.dumps({"host": url.hostname, "port": url.port, "login": login})
        program = Path(__file__).with_name("program.py")
        files = (place.folders.conf / CONFIGURATION, place.secrets, place.management_file)
        return BrokerCommand(
            [sys.executable, str(program), *map(str, files)], private_files={place.management_file: management}
        )


@dataclass(frozen=True)
class MadeUpLaunch(ProductLaunch):
    def find(
        self, topology: str, brokers: Iterable[AnyBroker], release: Release, bind_host: str, progress: Progress
    ) -> Programs:
        return Interpreter({self.name: release.version})


def _no_links(*_: object) -> NoReturn:
    raise ManagementFailed("made-up brokers have no links")


MADE_UP = BrokerProduct(
    name="made_up",
    brokers={"broker": MadeUpBroker},
    links={},
    problems=_problems,
    reaches=lambda brokers, links, begin, end, destination: begin == end,
    carries_all=lambda brokers, links, destination: True,
    routes=_routes,
    render=_render,
    launch=MadeUpLaunch(
        product="made_up",
        versions=("1.1", "1.0"),
        bind_failed=re.compile(r"error while attempting to bind on.*?(\d+)\)"),
    ),
    management=ProductManagement(
        connect=HttpAgent,
        path="/",
        queries=lambda topology, name: MadeUpQueries(),
        link_end=_no_links,
        missing=_no_links,
        start_link=_no_links,
        stop_link=_no_links,
        browse=browse,
    ),
)
