"""Measures how far apart the figures of equal runs of ``rebalance`` lie, with rebalancing and ``randomize`` on and off.

``python -m benchmarks.rebalance_spread [--runs N] [--clients N] [--brokers N] [--rate RATE] [OPTION …]`` makes N runs
of each of the four arms, in turn: all arms once, then all of them again. Further options, such as ``--fault`` and
``-t``, go to every run. It prints two Markdown tables. The first has where the clients were at each moment of each run,
the four arms below each other. The second has the smallest, the middle and the largest of each figure, by arm.

The runs stay in the folder of ``--into``. Runs that are there already count too, so a series may be continued.
"""

import json
import statistics
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from analysis.run.checks import value_at
from benchmarks.arguments import Parser, above_0, several_of, whole
from benchmarks.pairs import conditions
from benchmarks.real_runs import LOCUST

SCENARIO = "scenarios/rebalance.py"
FIGURES = (
    "rebalance.moves",
    "rebalance.moved",
    "rebalance.off_ms.p50",
    "rebalance.off_ms.max",
    "rebalance.flaps",
    "rebalance.settled_s",
    "rebalance.at_end.max_to_mean",
    "rebalance.at_end.jain",
    "recovery.cut_off",
    "recovery.outage_ms.p50",
    "recovery.outage_ms.max",
    "recovery.ready_ms.max",
    "messages.duplicated",
    "messages.lost",
)


@dataclass(frozen=True)
class Arm:
    """``rebalance``: whether brokers tell their clients to spread. ``randomize``: of the clients' failover URI."""

    rebalance: str
    randomize: str

    @property
    def name(self) -> str:
        return f"rebalance-{self.rebalance}-randomize-{self.randomize}"

    @property
    def title(self) -> str:
        return f"rebalancing {self.rebalance}, randomize {self.randomize}"

    def options(self, brokers: int) -> list[str]:
        topology = f"mesh(brokers={brokers}, rebalance={self.rebalance == 'on'})"
        return ["--topology", topology, "--failover", f"randomize={str(self.randomize == 'on').lower()}"]


ON_OFF = ("on", "off")
ARMS = tuple(Arm(rebalance, randomize) for rebalance in ON_OFF for randomize in ON_OFF)


def one_run(arm: Arm, into: Path, options: Sequence[str]) -> None:
    """Make a run in the arm's folder. It says why, and ends this program, if there is no summary of it."""
    before = set(summaries_of(arm, into))
    command = [str(LOCUST), "-f", SCENARIO, "--headless", "--runtime", "processes", *options]
    done = subprocess.run(
        [*command, "--runs", str(into / arm.name)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if set(summaries_of(arm, into)) == before:
        sys.exit(f"{' '.join(command)} ended with status {done.returncode} and no summary:\n{done.stdout[-2_000:]}")


def summaries_of(arm: Arm, into: Path) -> list[Path]:
    """In the order of the runs."""
    return sorted((into / arm.name).glob("*/summary.json"))


def distributions(rebalance: Mapping[str, Any]) -> dict[str, str]:
    """By moment: the clients of each broker, of all groups together: ``59/72/69``, and how many were off, if any."""
    brokers = sorted({name for group in rebalance["groups"] for name in group["moments"][0]["connected"]})
    found = {}
    for together in zip(*(group["moments"] for group in rebalance["groups"]), strict=True):
        counts = [sum(moment["connected"].get(name, 0) for moment in together) for name in brokers]
        off = sum(moment["off"] for moment in together)
        found[together[0]["moment"]] = "/".join(map(str, counts)) + (f", {off} off" if off else "")
    return found


def distribution_table(runs: Sequence[tuple[str, Mapping[str, Any]]]) -> str:
    """``runs``: (arm's title, summary). A row a run, a column a moment."""
    told = [(title, summary, distributions(summary["rebalance"])) for title, summary in runs]
    moments = list(dict.fromkeys(moment for _, _, found in told for moment in found))
    rows = [
        (title, summary["verdict"], *(found.get(moment, "") for moment in moments)) for title, summary, found in told
    ]
    return markdown(("run", "verdict", *moments), rows)


def spread_table(arms: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """``arms``: the summaries of each arm. A row a figure, a column an arm: smallest, middle, largest of its runs."""
    rows = [
        (f"`{figure}`", *(spread([value_at(each, figure) for each in runs]) for runs in arms.values()))
        for figure in FIGURES
    ]
    return markdown(("figure", *arms), rows)


def spread(values: Iterable[float | None]) -> str:
    """``12 … **14** … 30``; a run without the figure is told beside them."""
    every = list(values)
    known = sorted(value for value in every if value is not None)
    without = f"{len(every) - len(known)} without" if len(known) < len(every) else ""
    if not known:
        return without
    told = f"{known[0]:,.4g} … **{statistics.median(known):,.4g}** … {known[-1]:,.4g}"
    return f"{told}, {without}" if without else told


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> None:
    parser = Parser("rebalance_spread", __doc__)
    parser.add_argument("--runs", type=whole(1), default=3, metavar="N", help="of each arm (3)")
    parser.add_argument("--clients", type=whole(2), default=200, metavar="N", help="half produce, half consume (200)")
    parser.add_argument("--brokers", type=whole(2), default=3, metavar="N", help="of the mesh (3)")
    parser.add_argument("--rate", type=above_0, default=100.0, metavar="RATE", help="messages a second, in all (100)")
    parser.add_argument(
        "--arms", type=several_of(ON_OFF), default=ON_OFF, metavar="A,B", help="rebalancing: on, off or both (on,off)"
    )
    parser.add_argument("--into", type=Path, default=Path("runs/rebalance-spread"), help="folder of the runs")
    given, options = parser.parse_known_args()
    arms = [arm for arm in ARMS if arm.rebalance in given.arms]
    half = str(given.clients // 2)
    load = ["--producers", half, "--consumers", half, "--rate", f"{given.rate:g}", *options]
    print(f"{conditions()}; {given.clients} clients, {given.rate:g} messages a second {' '.join(options)}", flush=True)
    for number in range(given.runs):
        for arm in arms if number % 2 == 0 else arms[::-1]:
            one_run(arm, given.into, [*arm.options(given.brokers), *load])
            print(f"run {number + 1} of {given.runs}: {arm.title}", flush=True)
    found = {arm.title: [json.loads(path.read_text("utf-8")) for path in summaries_of(arm, given.into)] for arm in arms}
    print(f"\n{distribution_table([(title, each) for title, runs in found.items() for each in runs])}")
    print(f"\n{spread_table(found)}")


if __name__ == "__main__":
    main()
