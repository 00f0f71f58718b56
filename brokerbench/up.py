"""How does one get a network of brokers to play with? Up, proven, told how to reach it, and gone at Ctrl-C.

It is brought up and proven by what a run is brought up and proven by, without Locust: no load, no recording, no report.
"""

import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from shutil import rmtree
from types import FrameType
from typing import Any

from brokerbench import reaching
from brokerbench.failover_options import built_for_clients, why_refused
from drivers import canary
from drivers.jvm import vm
from drivers.protocols import Spoken, connectors_of
from records.rundir import RunDirectory, new_run_id
from records.summary import EXIT_STATUS
from scenarios.java_parts import find_java_parts
from topologies.groups import CONSUMERS, PRODUCERS
from topologies.impaired import impaired
from topologies.management.links import prove_links
from topologies.management.linktraffic import tell_round_trips
from topologies.model import Path as Route
from topologies.model import Topology, TopologyInvalid
from topologies.runtimes.addresses import addresses_here, no_address_to_bind
from topologies.runtimes.choice import choose, containers_for, look_here
from topologies.runtimes.contract import Runtime
from topologies.runtimes.links.proxies import no_proxies
from topologies.runtimes.making import Wanted, external_of, runtime_of, trust_in
from topologies.runtimes.own import proxies_of
from topologies.trust import Trust

PROOF_TIMEOUT_S = 30.0
LOOK_EVERY_S = 0.5
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

Say = Callable[[str], None]


@dataclass(frozen=True)
class Request:
    """``name``: as it was asked for, such as ``mesh(brokers=4)``; ``failover``: options instead of the topology's."""

    name: str
    topology: Topology
    wanted: Wanted
    spoken: Spoken
    failover: str | None
    runs: Path


def request(
    name: str,
    *,
    link: Sequence[str] = (),
    runtime: str | None,
    protocol: str,
    failover: str | None,
    brokers_file: Path | None,
    ca_file: Path | None,
    bind_host: str,
    image: str | None,
    runs: Path,
    **wishes: Any,
) -> tuple[Request, str]:
    """What the command line asks for, and why it runs where it does. Raises ValueError, naming option and value."""
    topology = _impaired(built_for_clients(name), link)
    if why := why_refused(failover or ""):
        raise ValueError(f"--failover {failover}: {why}")
    try:
        spoken = Spoken.parse(protocol)
    except ValueError as error:
        raise ValueError(f"--protocol {protocol}: {error}") from error
    if "memory" in spoken.distinct:
        raise ValueError(f"--protocol {protocol}: real brokers do not speak it; leave it out")
    if why := no_address_to_bind(bind_host, addresses_here()):
        raise ValueError(f"--bind-host {bind_host}: {why}")
    choice = choose(runtime or ("external" if brokers_file else ""), image, containers_for(topology, look_here))
    wanted = Wanted(
        choice.runtime,
        image=image,
        bind_host=bind_host,
        brokers_file=brokers_file,
        trust=Trust.read(ca_file) if ca_file else Trust(),
        **wishes,
    )
    return Request(name, topology, wanted, spoken, failover, runs), choice.reason


def _impaired(topology: Topology, link: Sequence[str]) -> Topology:
    try:
        return impaired(topology, ";".join(link))
    except TopologyInvalid as error:
        raise TopologyInvalid(*(f"--link {problem}" for problem in error.problems)) from error


def up(request: Request, progress: Say, show: Say) -> int:
    """Returns the exit status once all is down again: by a signal, or at once for brokers that are not ours.

    ``progress`` gets lines while it comes up and goes down, ``show`` what there is. What is raised is for the user to
    read; the folder with the brokers' logs stays then.
    """
    _check(request)
    had_runs, keep = request.runs.exists(), request.wanted.keep_data
    directory = RunDirectory.create(request.runs, new_run_id("up", request.name))
    try:
        runtime = runtime_of(request.wanted, request.topology, directory)
        with _signals_interrupt():
            try:
                is_up = _until_interrupted(request, runtime, directory, progress, show)
            finally:
                runtime.close()
    except BaseException:
        keep = True
        raise
    finally:
        _leave(directory, keep, progress)
        if not had_runs:
            with suppress(OSError):  # somebody else has put something in it meanwhile: a run on these brokers
                request.runs.rmdir()
    return 0 if is_up else EXIT_STATUS["interrupted"]


def _leave(made: RunDirectory, keep: bool, progress: Say) -> None:
    """What was made goes, unless there is something in it that is to be kept."""
    if keep and any(path.is_file() for path in made.path.rglob("*")):
        progress(f"the brokers' logs, and their stores if these were to be kept, are in {made.path}")
    else:
        rmtree(made.path, ignore_errors=True)


def routes(topology: Topology) -> tuple[Route, ...]:
    """The paths to prove: from producers to consumers, or between any two groups where it has others."""
    names = [group.name for group in topology.groups]
    pairs = [(PRODUCERS, CONSUMERS)] if {PRODUCERS, CONSUMERS} <= {*names} else list(product(names, names))
    return tuple(path for begin, end in pairs for path in topology.paths_between(begin, end))


def _check(request: Request) -> None:
    """What can be told before anything starts. Raises ValueError."""
    request.wanted.check()
    _check_spoken(request)
    if why := no_proxies(request.topology, request.wanted.runtime):
        raise ValueError(why)
    if request.wanted.runtime == "external":
        external_of(request.wanted, request.topology, request.spoken.distinct)


def _check_spoken(request: Request) -> None:
    """The canaries' protocols, by the brokers that they go to and come from. Raises ValueError."""
    ends = [(path.begin, request.spoken.producers) for path in routes(request.topology)]
    ends += [(path.end, request.spoken.consumers) for path in routes(request.topology)]
    for broker, protocol in ends:
        try:
            request.topology.broker(broker).listener(protocol)
        except KeyError as error:
            raise ValueError(f"--protocol {protocol}: {error.args[0]}; choose one that it does") from None


def _until_interrupted(request: Request, runtime: Runtime, directory: RunDirectory, progress: Say, show: Say) -> bool:
    """Whether it came up before somebody ended it."""
    is_up = False
    try:
        runtime.up(progress)
        left = _prove(request, runtime, progress)
        with reaching.files_for(runtime, request.topology) as files:
            asked = reaching.Asked(request.name, str(request.spoken), request.failover)
            show(reaching.told(asked, request.topology, runtime, directory.path, files, left))
            is_up = True
            if runtime.name != "external":
                _watch(runtime, request.topology, progress)
    except KeyboardInterrupt:
        progress("everything is taken down")
    return is_up


def _prove(request: Request, runtime: Runtime, progress: Say) -> int:
    """Every link, then a canary over every path that lets one pass; returns how many let none.

    Raises LinksNotProven or PathsUnproven.
    """
    prove_links(runtime, request.topology, timeout_s=PROOF_TIMEOUT_S, progress=progress)
    if proxies := proxies_of(runtime):
        tell_round_trips(proxies, request.topology.links, progress)
    vm.use(find_java_parts)
    paths = routes(request.topology)
    connectors = connectors_of(request.spoken, trust_in(runtime, request.wanted.trust))
    producers, consumers = canary.sides(runtime, connectors, request.spoken)
    asked = canary.askable(request.topology, paths)
    canary.prove(asked, producers, consumers, runtime.credentials(), timeout_s=PROOF_TIMEOUT_S)
    progress(canary.told(paths, asked))
    return len(paths) - len(asked)


def _watch(runtime: Runtime, topology: Topology, progress: Say) -> None:
    """Until a signal comes. A broker that somebody ended, as one may want to see, is told once; the others go on."""
    gone: set[str] = set()
    proxies = proxies_of(runtime)
    while True:
        time.sleep(LOOK_EVERY_S)
        if proxies and (loss := proxies.loss()) and loss not in gone:
            gone.add(loss)
            progress(loss)
        for broker in topology.brokers:
            if broker.name not in gone and not runtime.alive(broker.name):
                gone.add(broker.name)
                progress(f"broker {broker.name} has ended; it is not started again")


@contextmanager
def _signals_interrupt() -> Iterator[None]:
    """The first signal raises KeyboardInterrupt; others are not heard, so that nothing interrupts the taking down."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        for each in SIGNALS:
            signal.signal(each, signal.SIG_IGN)
        raise KeyboardInterrupt

    before = {each: signal.signal(each, interrupt) for each in SIGNALS}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
