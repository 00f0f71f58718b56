"""The messages between master and worker, as plain values for Locust's channel, and the build id of both sides."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from functools import cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from itertools import repeat
from pathlib import Path
from typing import Any

from drivers.protocols import Spoken
from drivers.users.other_schedules import DescribedSchedule
from drivers.users.session import Go, Network, RateChange, Session, Tally, Window
from harness.run.load_generators import Equipment
from records.loads.rate_steps import format_steps, parse_steps
from records.tables.schemas import SCHEMA_VERSION
from topologies.model.endpoints import Credentials
from topologies.model.trust import Trust


def equip(
    equipment: Equipment, index: int, settings: Mapping[str, Any], own: Mapping[str, Any], build_id: str
) -> dict[str, Any]:
    """Return the ``equip`` message for worker number ``index``.

    ``settings``: attributes of user classes that options change. ``own``: other attributes of user classes.
    ``build_id``: the master's build.
    """
    network = equipment.network
    return {
        "build_id": build_id,
        "run": {"path": str(equipment.directory.path.resolve()), "id": equipment.directory.path.name},
        "index": index,
        "run_number": equipment.run_number,
        "seed": equipment.seed,
        "client_version": equipment.client_version,
        "realtime": equipment.realtime,
        "jfr": equipment.jfr,
        "settings": dict(settings),
        "own_settings": dict(own),
        "network": {
            "spoken": str(network.spoken),
            "credentials": asdict(network.credentials),
            "failover_uris": {protocol: dict(uris) for protocol, uris in network.failover_uris.items()},
            "broker_names": dict(network.broker_names),
            "trusted_pem": network.trust.pem,
            "not_alone": sorted(network.not_alone),
        },
    }


def network_in(data: Mapping[str, Any]) -> Network:
    """Return the network of an ``equip`` message."""
    network = data["network"]
    return Network(
        spoken=Spoken.parse(network["spoken"]),
        credentials=Credentials(**network["credentials"]),
        failover_uris=network["failover_uris"],
        broker_names=network["broker_names"],
        trust=Trust(network["trusted_pem"]),
        not_alone=frozenset(network["not_alone"]),
    )


def go(go: Go) -> dict[str, Any]:
    return {**asdict(go), "producers": dict(go.producers), "first_index": dict(go.first_index)}


def go_in(data: Mapping[str, Any]) -> Go:
    return Go(**{**data, "window": Window(**data["window"]), "first_index": Counter(data["first_index"])})


def settle(window: Window) -> dict[str, Any]:
    return {"window": asdict(window)}


def settle_in(data: Mapping[str, Any]) -> Window:
    return Window(**data["window"])


def change_rate(change: RateChange) -> dict[str, Any]:
    return {"from_ns": change.from_ns, "steps": format_steps(change.steps), "live_s": change.live_s}


def change_rate_in(data: Mapping[str, Any]) -> RateChange:
    return RateChange(data["from_ns"], parse_steps(data["steps"]), data["live_s"])


def schedules(of_producers: Mapping[int, DescribedSchedule]) -> dict[str, Any]:
    """Return the message with the schedules of a worker's producers, by producer."""
    return {"schedules": [[producer, *schedule] for producer, schedule in of_producers.items()]}


def schedules_in(data: Mapping[str, Any], ahead_ns: int = 0) -> dict[int, DescribedSchedule]:
    """Return the schedules of another worker. ``ahead_ns``: how far the reader's clock is ahead of that worker's."""
    described = {producer: DescribedSchedule(*parts) for producer, *parts in data["schedules"]}
    return {
        producer: schedule._replace(start_ns=schedule.start_ns + ahead_ns) for producer, schedule in described.items()
    }


def progress_of(session: Session) -> dict[str, Any]:
    """Return a worker's counts so far, and its errors."""
    tally = {
        **vars(session.tally),
        "ready": dict(session.tally.ready),
        "failed": dict(session.tally.failed),
        "unsent": dict(session.tally.unsent),
        "losses": {"connected": session.tally.losses.connected, "rows": session.tally.losses.rows()},
        "live": [list(row) for row in session.tally.live.rows()],
        "figures": {
            "failed": session.tally.figures.failed,
            "rows": [list(row) for row in session.tally.figures.rows()],
        },
        "lag": [list(item) for item in session.tally.lag.items()],  # MessagePack's keys are text
    }
    connected = [[group, broker, count] for (group, broker), count in session.connected().items()]
    of_recorder = (session.recorder.failure, session.recorder.late_rows)
    problems = [*session.problems, *filter(None, of_recorder)]
    return {"tally": tally, "connected": connected, "problems": problems}


def tally_in(reports: Iterable[Mapping[str, Any]], ahead_ns: Iterable[int] = repeat(0)) -> Tally:
    """Add up the latest counts of all workers. ``ahead_ns``: each worker clock's lead over the master's."""
    total = Tally()
    for report, of_worker_ns in zip(reports, ahead_ns, strict=False):
        tally = report["tally"]
        for name in ("sent", "settled", "received", "missed", "withheld", "finished_producers"):
            setattr(total, name, getattr(total, name) + tally[name])
        for name in ("ready", "failed", "unsent"):
            getattr(total, name).update(tally[name])
        total.failed_producers += tally["failed_producers"]
        total.live.add(tuple(row) for row in tally["live"])
        total.figures.add(tally["figures"]["failed"], (tuple(row) for row in tally["figures"]["rows"]))
        losses = tally["losses"]
        total.losses.add(losses["connected"], (tuple(row) for row in losses["rows"]), of_worker_ns)
        total.lag.update(dict(tally["lag"]))
        total.notes += [note for note in tally["notes"] if note not in total.notes]
        total.first_errors = {**tally["first_errors"], **total.first_errors}
    return total


def connected_in(reports: Iterable[Mapping[str, Any]]) -> Counter[tuple[str, str]]:
    """Count the connected clients of each (group, broker) in all workers."""
    total: Counter[tuple[str, str]] = Counter()
    for report in reports:
        total.update({(group, broker): count for group, broker, count in report["connected"]})
    return total


ROOT = Path(__file__).resolve().parents[2]
RUN_BY_WORKERS = ("records", "topologies", "drivers", "harness")


@cache
def build_id() -> str:
    """Return an id such as ``0.1.0 (events 1, source 3f2a9c01)``."""
    try:
        released = version("brokerbench")
    except PackageNotFoundError:
        released = "unreleased"
    return f"{released} (events {SCHEMA_VERSION}, source {_source(ROOT)})"


def another_build(theirs: str, ours: str) -> str:
    """Return the sentence for a worker with build ``theirs`` and a master with ``ours``; '' if they are equal."""
    if theirs == ours:
        return ""
    return f"it runs brokerbench {theirs}, the master runs {ours}; check out the same commit on both hosts"


def _source(root: Path) -> str:
    """Return a checksum of the Python files that a worker runs, in eight digits."""
    checksum = sha256()
    for path in sorted(path for folder in RUN_BY_WORKERS for path in (root / folder).rglob("*.py")):
        checksum.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes() + b"\0")
    return checksum.hexdigest()[:8]
