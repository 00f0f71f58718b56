"""Looks for durable AMQP sends that a Classic mesh refuses although they arrive: outcomes beside receipts.

``python -m benchmarks.amqp_refusals [--messages N] [--per-run N] [--seconds S] [--quiet]`` makes runs of
`scenarios/steady.py` on a mesh of three brokers, as fast as it takes the messages, until there are MESSAGES in all. No
run begins after SECONDS. In turn nothing goes wrong, links between brokers are cut, brokers hang up on their clients,
and a broker is killed; with ``--quiet`` nothing goes wrong in any run. ``--properties N``: each message has as many
application properties. Prints a Markdown table: what the clients were told, and what arrived. The brokers' words for
refusals stand below it, and what a run could not find out. Exit status 1: a refused message arrived, or an acknowledged
one did not.

The runs stay in the folder of ``--into``, with the brokers' logs. Cutting links takes Toxiproxy.
"""

import json
import re
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.arguments import Parser, above_0, whole
from benchmarks.pairs import conditions
from benchmarks.real_runs import load_ns, make_run
from records.reader import read_events
from records.rundir import RunDirectory

LOAD = "scenarios/steady.py"
PRODUCERS, CONSUMERS, IN_FLIGHT, BODY_BYTES = 30, 2, 50, 64
AS_FAST_AS_IT_GOES = "1000000"  # messages a second that are due
BROKERS, FAULTS_UNTIL_S = 3, 300
LEAST_DRAIN_S, SLOWEST_DRAIN_PER_S = 120, 200
"""Until the drain ends messages may move, and what moves may be found nowhere."""
REFUSED = re.compile(r"broker \S+ refused a message to .*")
LINKS = ("broker-1-to-broker-2", "broker-1-to-broker-3", "broker-2-to-broker-3")


def every(seconds: int, faults: Sequence[str]) -> str:
    """These faults in turn, as ``--fault`` takes them; those that are due after the load are left out by the run."""
    turns = zip(range(seconds, FAULTS_UNTIL_S, seconds), cycle(faults), strict=False)
    return ";".join(fault.format(at=at_s) for at_s, fault in turns)


WAYS = {
    "nothing goes wrong": "",
    "a link is cut every 8 s, for 3 s": every(8, [f"cut({link}, at={{at}}, for=3)" for link in LINKS]),
    "a broker hangs up every 5 s": every(5, [f"disconnect(broker-{n}, at={{at}})" for n in range(1, BROKERS + 1)]),
    "a broker is killed every 30 s, for 5 s": every(
        30, [f"kill(broker-{n}, at={{at}}, for=5)" for n in range(1, BROKERS + 1)]
    ),
}


@dataclass(frozen=True)
class Counts:
    """Messages of one run. An attempt in doubt may be sent again, so that a message is acked by its last.

    Acked and not received are three: ``left`` were found on a queue; ``unaccounted`` were not found by a run that could
    not look everywhere; ``nowhere`` were not found by a run that did. ``repeated``: received once more without the
    redelivered flag, although no attempt was in doubt.
    """

    sent: int
    acked: int
    refused: int
    refused_yet_received: int
    in_doubt_once: int
    received: int
    left: int
    unaccounted: int
    nowhere: int
    repeated: int

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(*(getattr(self, each.name) + getattr(other, each.name) for each in fields(Counts)))


def counted(directory: RunDirectory) -> Counts:
    sends, receipts = read_events(directory, "sends"), read_events(directory, "receipts")
    found = _keys(read_events(directory, "leftovers"))
    outcome, keys = sends["outcome"].to_numpy(zero_copy_only=False), _keys(sends)
    acked, refused, doubted = (np.unique(keys[outcome == each]) for each in ("acked", "failed", "in_doubt"))
    received = np.unique(_keys(receipts))
    left = np.setdiff1d(acked, received)
    missing = len(np.setdiff1d(left, found))
    searched = not directory.read_run().unsearched
    return Counts(
        sent=len(np.unique(keys)),
        acked=len(acked),
        refused=len(np.setdiff1d(refused, acked)),
        refused_yet_received=len(np.intersect1d(np.setdiff1d(refused, acked), received)),
        in_doubt_once=len(doubted),
        received=len(received),
        left=len(left) - missing,
        unaccounted=0 if searched else missing,
        nowhere=missing if searched else 0,
        repeated=len(np.setdiff1d(_repeated(receipts), doubted)),
    )


def _repeated(receipts: pa.Table) -> Any:
    """Messages that came more than once without the redelivered flag."""
    unflagged = receipts.filter(pc.invert(receipts["redelivered"]))
    keys, times = np.unique(_keys(unflagged), return_counts=True)
    return keys[times > 1]


def _keys(rows: pa.Table) -> Any:
    """One number a message."""
    return (rows["producer"].to_numpy().astype(np.int64) << 40) | rows["seq"].to_numpy()


def options(messages: int, faults: str, properties: int) -> list[str]:
    """What the command line of a run says about its load."""
    where = ["--topology", f"mesh(brokers={BROKERS})", "--protocol", "amqp", f"--fault={faults}"]
    clients = [f"--producers={PRODUCERS}", f"--consumers={CONSUMERS}", f"--in-flight={IN_FLIGHT}"]
    load = [f"--messages={messages}", f"--rate={AS_FAST_AS_IT_GOES}", f"--body-bytes={BODY_BYTES}", "--warm-up=0"]
    carried = json.dumps({f"p{number}": number for number in range(properties)})
    drain_s = max(LEAST_DRAIN_S, messages / SLOWEST_DRAIN_PER_S)
    return [*where, *clients, *load, f"--properties={carried}", f"--drain-timeout={drain_s:g}"]


def one_run(messages: int, faults: str, properties: int, into: Path) -> tuple[Counts, float, list[str]]:
    """Counts, how long the load took (s), and the brokers' words for refusals and what the run does not know."""
    directory, told = make_run(LOAD, options(messages, faults, properties), into)
    began_ns, ended_ns = load_ns(directory)
    info = directory.read_run()
    words = [*REFUSED.findall(told), *(f"{directory.path.name}: {why}" for why in (*info.unsearched, *info.problems))]
    return counted(directory), (ended_ns - began_ns) / 1e9, words


def row(way: str, counts: Counts, load_s: float) -> str:
    cells = [way, *(f"{getattr(counts, each.name):,}" for each in fields(Counts)), f"{counts.sent / load_s:,.0f}/s"]
    return f"| {' | '.join(cells)} |"


def header() -> str:
    names = ["runs in which", *(each.name.replace("_", " ") for each in fields(Counts)), "rate"]
    return f"| {' | '.join(names)} |\n|{'---|' * len(names)}"


def sound(total: Counts) -> bool:
    return not (total.refused_yet_received or total.nowhere)


def planned(ways: Sequence[str], messages: int, per_run: int, ends_s: float) -> Iterator[tuple[str, int]]:
    """Which run is next, and of how many messages, until that many or until it is that late."""
    turns = cycle(ways)
    while messages > 0 and time.monotonic() < ends_s:
        yield next(turns), min(per_run, messages)
        messages -= per_run


def main(ways: Sequence[str], messages: int, per_run: int, seconds: float, properties: int, into: Path) -> bool:
    """Whether no refused message arrived, and every acknowledged one did or is accounted for."""
    print(f"{conditions()}\n\n{header()}", flush=True)
    total, total_s, words = Counts(*[0] * len(fields(Counts))), 0.0, list[str]()
    for way, count in planned(ways, messages, per_run, time.monotonic() + seconds):
        counts, load_s, told = one_run(count, WAYS[way], properties, into)
        print(row(way, counts, load_s), flush=True)
        total, total_s, words = total + counts, total_s + load_s, words + told
    print(row("all", total, total_s) + "\n")
    print("\n".join(f"- {each}" for each in words) or "No broker refused a message, and every run looked everywhere.")
    return sound(total)


if __name__ == "__main__":
    parser = Parser("amqp_refusals", __doc__)
    parser.add_argument("--messages", type=whole(1), default=1_000_000, metavar="N", help="in all (1000000)")
    parser.add_argument("--per-run", type=whole(1), default=200_000, metavar="N", help="of one run (200000)")
    parser.add_argument(
        "--seconds", type=above_0, default=900, metavar="S", help="after which no run begins any more (900)"
    )
    parser.add_argument("--quiet", action="store_true", help="nothing goes wrong in any run")
    parser.add_argument("--into", type=Path, default=Path("runs/amqp-refusals"), help="folder of the runs")
    parser.add_argument(
        "--properties", type=whole(0), default=0, metavar="N", help="application properties of each message (0)"
    )
    given = parser.parse_args()
    ways = list(WAYS)[:1] if given.quiet else list(WAYS)
    sys.exit(not main(ways, given.messages, given.per_run, given.seconds, given.properties, given.into))
