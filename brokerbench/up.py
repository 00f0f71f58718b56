"""Starts a network of brokers, proves its paths, shows how to connect, and stops it at Ctrl-C.

`harness.bring_up` starts it in the same way as for a run, but without load, recording and report.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from shutil import rmtree
from typing import Any

from brokerbench import reaching
from brokerbench.failover_options import built_for_clients, why_refused
from brokerbench.interrupts import signals_interrupt
from drivers import canary
from drivers.jvm import vm
from drivers.protocols import Spoken, connectors_of
from harness.bring_up import bring_up
from harness.java_parts import find_java_parts
from records.store.rundir import RunDirectory, new_run_id
from records.verdicts import EXIT_STATUS
from topologies.catalogue.overlay import apply_overlay
from topologies.model.client_groups import CONSUMERS, PRODUCERS
from topologies.model.impaired_links import with_impairments
from topologies.model.paths import Path as Route
from topologies.model.topology import Topology
from topologies.model.trust import Trust
from topologies.model.validity import TopologyInvalid
from topologies.runtimes.capabilities import Capability, can
from topologies.runtimes.choice import BrokerSetup, choose, containers_for, external_of, look_here, runtime_of, trust_in
from topologies.runtimes.contract import Runtime
from topologies.runtimes.managed import proxies_of
from topologies.runtimes.ports import addresses_here, why_not_bindable
from topologies.runtimes.proxies.link_proxies import why_no_proxies

LOOK_EVERY_S = 0.5

PrintLine = Callable[[str], None]


@dataclass(frozen=True)
class Request:
    """``name``: the topology as requested, ``mesh(brokers=4)``. ``failover``: options that replace the topology's."""

    name: str
    topology: Topology
    wanted: BrokerSetup
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
    broker_version: str | None,
    distribution: Path | None,
    overlay: str | None,
    broker_memory: int,
    start_timeout: float,
    runs: Path,
    **wishes: Any,
) -> tuple[Request, str]:
    """Return the request from the command line, and the reason for the chosen runtime.

    Raises ValueError, naming option and value.
    """
    overlaid_topology, laid = apply_overlay(built_for_clients(name), overlay)
    topology = _impaired(overlaid_topology, link)
    if why := why_refused(failover or ""):
        raise ValueError(f"--failover {failover}: {why}")
    try:
        spoken = Spoken.parse(protocol)
    except ValueError as error:
        raise ValueError(f"--protocol {protocol}: {error}") from error
    if spoken.of_classes:
        raise ValueError(f"--protocol {protocol}: without a run, user classes do not exist; leave them out")
    if "memory" in spoken.distinct:
        raise ValueError(f"--protocol {protocol}: real brokers do not support it; leave it out")
    if why := why_not_bindable(bind_host, addresses_here()):
        raise ValueError(f"--bind-host {bind_host}: {why}")
    wanted = BrokerSetup(
        runtime or ("external" if brokers_file else ""),
        image=image,
        broker_version=broker_version,
        distribution=distribution,
        bind_host=bind_host,
        brokers_file=brokers_file,
        trust=Trust.read(ca_file) if ca_file else Trust(),
        overlay=laid.path if laid else None,
        broker_memory_mb=broker_memory,
        start_timeout_s=start_timeout,
        **wishes,
    )
    choice = choose(wanted.runtime, image, containers_for(topology, look_here), wanted.release)
    wanted = replace(wanted, runtime=choice.runtime)
    return Request(name, topology, wanted, spoken, failover, runs), choice.reason


def _impaired(topology: Topology, link: Sequence[str]) -> Topology:
    try:
        return with_impairments(topology, ";".join(link))
    except TopologyInvalid as error:
        raise TopologyInvalid(*(f"--link {problem}" for problem in error.problems)) from error


def up(request: Request, progress: PrintLine, show: PrintLine) -> int:
    """Run the network until a signal, or only check it if brokers are external. Return the exit status.

    ``progress`` is called with lines while the network starts and stops, ``show`` with the description of the running
    network. Exceptions are messages for the user. After an exception the folder with the brokers' logs stays.
    """
    _check(request)
    had_runs, keep = request.runs.exists(), request.wanted.keep_data
    directory = RunDirectory.create(request.runs, new_run_id("up", request.name))
    try:
        runtime = runtime_of(request.wanted, request.topology, directory)
        with signals_interrupt():
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
            with suppress(OSError):  # the folder has other contents by now: a run on these brokers
                request.runs.rmdir()
    return 0 if is_up else EXIT_STATUS["interrupted"]


def _leave(directory: RunDirectory, keep: bool, progress: PrintLine) -> None:
    """Remove the folder, unless it has contents to keep."""
    if keep and any(path.is_file() for path in directory.path.rglob("*")):
        progress(f"the brokers' logs, and their stores with --keep-data, are in {directory.path}")
    else:
        rmtree(directory.path, ignore_errors=True)


def routes(topology: Topology) -> tuple[Route, ...]:
    """Return the paths to prove: from producers to consumers, or between any two groups with other names."""
    names = [group.name for group in topology.groups]
    pairs = [(PRODUCERS, CONSUMERS)] if {PRODUCERS, CONSUMERS} <= {*names} else list(product(names, names))
    return tuple(path for begin, end in pairs for path in topology.paths_between(begin, end))


def _check(request: Request) -> None:
    """Check the request before anything starts. Raises ValueError."""
    request.wanted.check(request.topology)
    _check_spoken(request)
    if why := why_no_proxies(request.topology, request.wanted.runtime):
        raise ValueError(why)
    if can(request.wanted.runtime, Capability.REACHES_RUNNING_BROKERS):
        external_of(request.wanted, request.topology, request.spoken.distinct)


def _check_spoken(request: Request) -> None:
    """Check that brokers support the canaries' protocols. Raises ValueError."""
    configured = can(request.wanted.runtime, Capability.CONFIGURES_BROKERS)
    ends = [(path.begin, request.spoken.producers) for path in routes(request.topology)]
    ends += [(path.end, request.spoken.consumers) for path in routes(request.topology)]
    for broker, protocol in ends:
        try:
            entered = request.topology.broker(broker)
            (entered.require_spoken if configured else entered.listener)(protocol)
        except KeyError as error:
            raise ValueError(f"--protocol {protocol}: {error.args[0]}; choose a supported protocol") from None


def _until_interrupted(
    request: Request, runtime: Runtime, directory: RunDirectory, progress: PrintLine, show: PrintLine
) -> bool:
    """Return whether the network was up before the user stopped it."""
    is_up = False
    try:
        unproven = _bring_up(request, runtime, progress)
        with reaching.files_for(runtime, request.topology) as files:
            load_options = reaching.LoadOptions(request.name, str(request.spoken), request.failover)
            show(reaching.describe(load_options, request.topology, runtime, directory.path, files, unproven))
            is_up = True
            if can(runtime.name, Capability.OWNS_BROKERS):
                _watch(runtime, request.topology, progress)
    except KeyboardInterrupt:
        progress("all brokers are stopped")
    return is_up


def _bring_up(request: Request, runtime: Runtime, progress: PrintLine) -> int:
    """Return the number of paths that no canary could prove. Raises RuntimeFailed, LinksNotProven or PathsUnproven."""
    vm.use(find_java_parts)
    connectors = connectors_of(request.spoken, trust_in(runtime, request.wanted.trust))
    ends = canary.sides(runtime, connectors, request.spoken.producers, request.spoken.consumers)
    return bring_up(runtime, request.topology, [(routes(request.topology), ends)], progress).unproven


def _watch(runtime: Runtime, topology: Topology, progress: PrintLine) -> None:
    """Watch the brokers until a signal.

    If a broker ends, perhaps because a user killed it to see the effect, this is reported once. The others keep
    running.
    """
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
                progress(f"broker {broker.name} has ended; it is not restarted")
