"""Runs a tier of the tests and says what ran: `python -m tests.run TIER [--part 2/4] [ARGUMENTS OF PYTEST]`.

Tests that neither start brokers nor measure run first, beside each other; those that share a Spark session stay in one
process. The others follow, one by one. Up to three tests of each of the two that failed run once more, alone: one that
passes then counts as passed, and the last lines name it as unsteady. TIER is

- ``test``: what `make test` runs. What this machine lacks is left out, and the last lines say so;
- ``rest``: what ``test`` leaves to `make test-all`. ``all``: both. Nothing is left out: what is missing is an error;
- ``nightly``: the full matrices. Nothing is left out. ``--part`` takes one part of several, and the parts are added up.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support import nightly
from tests.support.floors import shortfalls
from tests.support.needs import NEEDS, missing_here
from tests.support.parts import parse_part
from tests.support.slow import slow_files
from tests.support.tiers import OUTCOMES, TIERS

ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / "build" / "tests"
NO_REGISTRY = ROOT / "build" / "no-registry"  # of .ci/docker-engine.sh
NOTHING_TO_RUN = 5  # pytest's exit status
TESTS_FAILED = 1  # pytest's exit status
MOST_UNSTEADY = 3
"""So many failed tests of a stage may be a machine that stood still; more are a defect."""
PARALLEL = ("--stage", "parallel", "--numprocesses", str(os.cpu_count() or 1), "--dist", "loadscope")
SERIAL = ("--stage", "serial")


@dataclass(frozen=True)
class Stage:
    """One call of pytest: its exit status, how long it took, and what it wrote down."""

    status: int
    took_s: float
    counts: Mapping[str, Any]

    @property
    def good(self) -> bool:
        return self.status in (0, NOTHING_TO_RUN)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.run", description=__doc__.partition("\n")[0])
    parser.add_argument("tier", choices=TIERS)
    parser.add_argument("--part", help="of the nightly tests: 2/4 is the second of four")
    asked, others = parser.parse_known_args(arguments)
    if asked.tier != "test" and (lacking := missing_here()):
        return refuse(asked.tier, [need.missing for need in lacking])
    return run(asked.tier, asked.part, others)


def refuse(tier: str, lacking: Sequence[str]) -> int:
    print(
        f"tests.run {tier}: {', '.join(lacking)}; this tier leaves nothing out:"
        " make test-all and make nightly-tests install it",
        file=sys.stderr,
    )
    return 2


def run(tier: str, part: str | None, others: Sequence[str]) -> int:
    if part:
        parse_part(part)
    stages = list(run_stages(tier, part, others))
    counts = added_up([each.counts for each in stages])
    short = [] if others else shortfalls(tier, counts["groups"], counts["left_out"])
    good = all(each.good for each in stages) and not short and counts["passed"] > 0
    took_s = sum(each.took_s for each in stages)
    print("\n".join(["", *short, *closing(counts, took_s)]), flush=True)
    if tier == "nightly":
        print("\n".join(nightly.keep(part or "1/1", {**counts, "took_s": took_s}, good)), flush=True)
    return 0 if good else next((each.status for each in stages if not each.good), 1)


def run_stages(tier: str, part: str | None, others: Sequence[str]) -> Iterator[Stage]:
    """A stage reads only the files that may have tests of it, where they are known: reading all of them takes long."""
    files: Sequence[str] = slow_files() if tier == "rest" else []
    for name, more in stages_of(tier).items():
        done = stage(name, tier, part, [*more, *(others or files)])
        files = done.counts.get("of_other_stage") or files
        yield done


def stages_of(tier: str) -> Mapping[str, Sequence[str]]:
    """Nightly tests start brokers, nearly all of them: there is one stage of them."""
    return {"serial": ()} if tier == "nightly" else {"parallel": PARALLEL, "serial": SERIAL}


def stage(name: str, tier: str, part: str | None, more: Sequence[str]) -> Stage:
    first = call(f"{tier}-{name}", ["--durations=30", "--tier", tier, *(["--part", part] if part else []), *more])
    failed = first.counts.get("bad", [])
    if first.status != TESTS_FAILED or not 0 < len(failed) <= MOST_UNSTEADY:
        return first
    print(f"\n{len(failed)} of these tests did not pass. Once more, alone: {', '.join(failed)}", flush=True)
    return with_again(first, call(f"{tier}-{name}-again", failed))


def call(name: str, arguments: Sequence[str]) -> Stage:
    kept, began_s = KEPT / f"{name}.json", time.monotonic()
    kept.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", "-v", "--counts", str(kept), *arguments]
    status = subprocess.run(command, cwd=ROOT, env=environment(), check=False).returncode
    counts = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {}
    return Stage(status, time.monotonic() - began_s, counts)


def with_again(first: Stage, again: Stage) -> Stage:
    """The stage, with the second outcome of those that failed the first time."""
    if not again.counts:
        return first
    others = {outcome: first.counts[outcome] for outcome in OUTCOMES} | {"failed": 0, "error": 0}
    counts = {
        **first.counts,
        **{outcome: others[outcome] + again.counts[outcome] for outcome in OUTCOMES},
        "groups": Counter(first.counts["groups"]) + Counter(again.counts["groups"]),
        "unsteady": [nodeid for nodeid in first.counts["bad"] if nodeid not in again.counts["bad"]],
    }
    return Stage(again.status, first.took_s + again.took_s, counts)


def environment() -> Mapping[str, str]:
    """Where no image can be pulled, Testcontainers does without its helper, which is one."""
    return {**os.environ, **({"TESTCONTAINERS_RYUK_DISABLED": "true"} if NO_REGISTRY.exists() else {})}


def added_up(each: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The sums over several calls of pytest: of outcomes, of groups, and of what was left out."""
    found: dict[str, Any] = {outcome: sum(counts.get(outcome, 0) for counts in each) for outcome in OUTCOMES}
    for name in ("groups", "left_out", "seconds"):
        found[name] = dict(sum((Counter(counts.get(name, {})) for counts in each), Counter()))
    found["unsteady"] = [nodeid for counts in each for nodeid in counts.get("unsteady", [])]
    return found


def closing(counts: Mapping[str, Any], took_s: float) -> list[str]:
    """The last lines: how many ran, what was left out and why, and the command that adds it."""
    ran = sum(counts[outcome] for outcome in OUTCOMES)
    ends = [f"{counts[outcome]:,} {outcome}" for outcome in OUTCOMES if counts[outcome]]
    lines = [f"{ran:,} tests ran in {took_s / 60:.1f} min: {', '.join(ends) or 'none'}."]
    lines += [f"Unsteady, it failed and then passed alone: {nodeid}" for nodeid in counts.get("unsteady", [])]
    missing = {need.marker: need.missing for need in NEEDS}
    lines += [f"Left out: {count:,} tests of {name} ({missing[name]})" for name, count in counts["left_out"].items()]
    return lines + (["One command adds what was left out: make test-all"] if counts["left_out"] else [])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
