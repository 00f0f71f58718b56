"""Runs a tier of tests and reports the results: `python -m tests.run TIER [OPTIONS] [ARGUMENTS OF PYTEST]`.

TIER is ``test``, ``all`` (including slow tests) or ``nightly`` (the full matrices). ``test`` is the tier of `make
test`: it leaves out tests that need tools which this machine lacks, and the last lines report them. For ``all`` and
``nightly``, a missing tool is an error.

Tests that neither start brokers nor measure run first, in parallel (pytest-xdist). The others follow, one after the
other. Up to three failed tests of each stage run once more in a separate process, with new fixtures. A test that passes
then counts as passed, and the last lines list it as unsteady.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.floors import groups_of, shortfalls
from tests.support.needs import NEEDS, missing_here
from tests.support.tiers import CollectedTest, read_tests

ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / "build" / "tests"
NO_REGISTRY = ROOT / "build" / "no-registry"  # of .ci/docker-engine.sh
DURATIONS = ROOT / "tests" / "support" / "nightly_durations.json"
NOTHING_TO_RUN = 5  # pytest's exit status
TESTS_FAILED = 1  # pytest's exit status
MOST_UNSTEADY = 3
"""Up to this many failed tests per stage may be caused by a busy machine; more are a defect."""
BESIDE_EACH_OTHER = ("--numprocesses", str(os.cpu_count() or 1), "--dist", "loadfile", "--no-loadscope-reorder")
"""The tests of a file stay in one process, so tests that share a Spark session start at most one per process.

Files run in alphabetical order: pytest-xdist would put files with few tests last, but these take longest.
"""


@dataclass(frozen=True)
class TierStage:
    """The results of one or two calls of pytest.

    ``outcomes``: by test. ``unsteady``: tests that passed when repeated.
    """

    status: int
    outcomes: Mapping[str, str] = field(default_factory=dict)
    unsteady: Sequence[str] = ()

    @property
    def is_good(self) -> bool:
        return self.status in (0, NOTHING_TO_RUN)


@dataclass(frozen=True)
class TierChoice:
    """The tests of a tier to run, tests that ran earlier, and the number of tests left out, by missing marker."""

    tests: Sequence[CollectedTest]
    earlier: Sequence[CollectedTest]
    left_out: Mapping[str, int]


class RefusedArguments(Exception):
    """Why nothing is run, in one sentence."""


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.run", description=__doc__.partition("\n")[0])
    parser.add_argument("tier", choices=("test", "all", "nightly"))
    parser.add_argument("--part", type=part_options, default=[], help="of the nightly tests: 2/4 is the second of four")
    parser.add_argument("--but", type=Path, help="an earlier run of this commit (build/tests/test.json): only the rest")
    parser.add_argument("--bare", action="store_true", help="fail if one of the needs left out no test")
    options, for_pytest = parser.parse_known_args(arguments)
    try:
        return run(options, for_pytest)
    except RefusedArguments as refused:
        print(f"tests.run {options.tier}: {refused}", file=sys.stderr)
        return 2


def part_options(text: str) -> list[str]:
    """What pytest-split takes for ``2/4``, the second of four. Its parts take about equally long, by earlier runs."""
    numbers = re.fullmatch(r"(\d+)/(\d+)", text)
    if not numbers or not 1 <= int(numbers[1]) <= int(numbers[2]):
        raise argparse.ArgumentTypeError(f"{text}: write which part and, after a slash, how many there are: PART=2/4")
    return ["--group", numbers[1], "--splits", numbers[2], "--durations-path", str(DURATIONS)]


def run(options: argparse.Namespace, for_pytest: Sequence[str]) -> int:
    began_s, tier = time.monotonic(), options.tier
    missing = [need.marker for need in missing_here()]
    if tier != "test" and missing:
        lacking = ", ".join(need.missing for need in NEEDS if need.marker in missing)
        raise RefusedArguments(
            f"{lacking}; this tier leaves nothing out: make test-all and make nightly-tests install it"
        )
    ran_earlier = read_passed(options.but) if options.but else []
    choice = choose(collected(for_pytest), tier, missing, ran_earlier)
    more = [*options.part, *(option for option in for_pytest if not option.startswith("tests/"))]
    stages = [run_stage(f"{tier}-{name}", its, [*how, *more]) for name, how, its in stages_of(tier, choice.tests)]
    outcomes = {nodeid: outcome for stage in stages for nodeid, outcome in stage.outcomes.items()}
    keep(tier, outcomes, choice.left_out)
    problems = [] if for_pytest else short_of(tier, choice, outcomes)
    if not (for_pytest or options.part or len(outcomes) == len(choice.tests)):
        problems.append(f"{len(choice.tests)} tests were to run, and {len(outcomes)} did")
    if options.bare:
        problems += [f"{need.marker}: no test was left out" for need in NEEDS if not choice.left_out.get(need.marker)]
    unsteady = [nodeid for stage in stages for nodeid in stage.unsteady]
    lines = [*problems, *closing(outcomes, unsteady, choice.left_out, time.monotonic() - began_s)]
    print("\n".join(["", *lines, *(side_by_side(choice, options.but) if options.but else [])]), flush=True)
    good = all(stage.is_good for stage in stages) and not problems and "passed" in outcomes.values()
    return 0 if good else next((stage.status for stage in stages if not stage.is_good), 1)


def collected(for_pytest: Sequence[str]) -> list[CollectedTest]:
    """All tests, of every tier. Raises Refused if one cannot even be read."""
    written = KEPT / "collected.json"
    written.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "--write-tests", str(written), *for_pytest]
    done = subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True, check=False)
    if done.returncode not in (0, NOTHING_TO_RUN) or not written.exists():
        said = f"{done.stdout}{done.stderr}"
        raise RefusedArguments(f"the tests cannot be collected (pytest's status is {done.returncode})\n{said}")
    return read_tests(written)


def choose(tests: Iterable[CollectedTest], tier: str, missing: Collection[str], earlier: Collection[str]) -> TierChoice:
    """What runs, and what does not. Pure. ``earlier``: tests that have run. Raises Refused if they are not there."""
    of_tier = {test.nodeid: test for test in tests if test.is_of(tier)}
    ran = set(earlier)
    if gone := sorted(ran - set(of_tier)):
        raise RefusedArguments(
            f"{len(gone)} tests of the earlier run are not there now, such as {gone[0]}: run make test again"
        )
    kept, left_out = list[CollectedTest](), Counter[str]()
    for test in (of_tier[nodeid] for nodeid in of_tier if nodeid not in ran):
        if lacking := next((marker for marker in missing if marker in test.markers), None):
            left_out[lacking] += test.count
        else:
            kept.append(test)
    return TierChoice(kept, [of_tier[nodeid] for nodeid in earlier], left_out)


def stages_of(tier: str, tests: Sequence[CollectedTest]) -> list[tuple[str, Sequence[str], Sequence[CollectedTest]]]:
    """Names, options of pytest and tests. Nearly all nightly tests start brokers, so there is one stage of them."""
    if tier == "nightly":
        return [("serial", (), tests)]
    beside = [test for test in tests if test.may_run_beside_others]
    return [
        ("parallel", BESIDE_EACH_OTHER, beside),
        ("serial", (), [test for test in tests if not test.may_run_beside_others]),
    ]


def run_stage(name: str, tests: Sequence[CollectedTest], options: Sequence[str]) -> TierStage:
    if not tests:
        return TierStage(0)
    first = call_pytest(name, [test.nodeid for test in tests], ["--durations=30", *options])
    failed = [nodeid for nodeid, outcome in first.outcomes.items() if outcome in ("failed", "error")]
    if first.status != TESTS_FAILED or not 0 < len(failed) <= MOST_UNSTEADY:
        return first
    print(f"\n{len(failed)} of these tests did not pass. Once more, alone: {', '.join(failed)}", flush=True)
    again = call_pytest(f"{name}-again", failed, [])
    passed = [nodeid for nodeid in failed if again.outcomes.get(nodeid) == "passed"]
    return TierStage(again.status, {**first.outcomes, **again.outcomes}, passed)


def call_pytest(name: str, nodeids: Sequence[str], options: Sequence[str]) -> TierStage:
    """Only the files of these tests are read: to read all of them takes long."""
    files = sorted({nodeid.partition("::")[0] for nodeid in nodeids})
    chosen, log = KEPT / f"{name}-chosen.json", KEPT / f"{name}-log.jsonl"
    chosen.write_text(json.dumps(nodeids), encoding="utf-8")
    log.unlink(missing_ok=True)
    ours = ["--only-tests", str(chosen), "--report-log", str(log)]
    command = [sys.executable, "-m", "pytest", "-v", *ours, *options, *files]
    status = subprocess.run(command, cwd=ROOT, env=environment(), check=False).returncode
    return TierStage(status, outcomes_in(log.read_text(encoding="utf-8").splitlines()) if log.exists() else {})


def outcomes_in(log: Iterable[str]) -> dict[str, str]:
    """The outcome of each test, from the lines of pytest-reportlog. Pure."""
    outcomes = dict[str, str]()
    for line in log:
        report = json.loads(line)
        if report["$report_type"] == "TestReport" and (report["when"] == "call" or report["outcome"] != "passed"):
            is_error = report["when"] != "call" and report["outcome"] == "failed"
            outcomes[report["nodeid"]] = "error" if is_error else report["outcome"]
    return outcomes


def environment() -> Mapping[str, str]:
    """Where no image can be pulled, Testcontainers does without its helper, which is one."""
    return {**os.environ, **({"TESTCONTAINERS_RYUK_DISABLED": "true"} if NO_REGISTRY.exists() else {})}


def keep(tier: str, outcomes: Mapping[str, str], left_out: Mapping[str, int]) -> None:
    passed = [nodeid for nodeid, outcome in outcomes.items() if outcome == "passed"]
    kept = {"commit": commit(), "passed": passed, "left_out": left_out, "outcomes": Counter(outcomes.values())}
    (KEPT / f"{tier}.json").write_text(json.dumps(kept, indent=1), encoding="utf-8")


def read_passed(path: Path) -> list[str]:
    """The tests that passed in an earlier run. Raises Refused if it was of another commit."""
    if not path.exists():
        raise RefusedArguments(f"there is no {path}: run make test first")
    kept = json.loads(path.read_text(encoding="utf-8"))
    if kept["commit"] != commit():
        raise RefusedArguments(f"{path} is of commit {kept['commit']}, and this is {commit()}: run make test again")
    passed: list[str] = kept["passed"]
    return passed


def commit() -> str:
    line = ["git", "rev-parse", "HEAD"]
    return subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def short_of(tier: str, choice: TierChoice, outcomes: Mapping[str, str]) -> list[str]:
    """One sentence for each group of which too few passed, now and earlier. Pure."""
    passed = [*choice.earlier, *(test for test in choice.tests if outcomes.get(test.nodeid) == "passed")]
    groups = Counter(name for test in passed for name in groups_of(test.nodeid, test.markers))
    return shortfalls(tier, groups, choice.left_out)


def closing(
    outcomes: Mapping[str, str], unsteady: Sequence[str], left_out: Mapping[str, int], took_s: float
) -> list[str]:
    """Return the last lines: the number of tests that ran, omitted tests and why, and the command that adds them."""
    counts = Counter(outcomes.values())
    ends = [f"{count:,} {outcome}" for outcome, count in counts.most_common()]
    lines = [f"{len(outcomes):,} tests ran in {took_s / 60:.1f} min: {', '.join(ends) or 'none'}."]
    lines += [f"Unsteady, it failed and then passed alone: {nodeid}" for nodeid in unsteady]
    missing = {need.marker: need.missing for need in NEEDS}
    lines += [f"Left out: {count:,} tests of {name} ({missing[name]})" for name, count in left_out.items()]
    return lines + (["One command adds what was left out: make test-all"] if left_out else [])


def side_by_side(choice: TierChoice, earlier: Path) -> list[str]:
    """How many tests of each folder ran earlier and now. Pure."""
    counts = [Counter(Path(test.file).parts[1] for test in tests) for tests in (choice.earlier, choice.tests)]
    rows = [(folder, *(count[folder] for count in counts)) for folder in sorted(counts[0] | counts[1])]
    total = ("together", len(choice.earlier), len(choice.tests))
    return [
        f"Each of the {sum(total[1:]):,} tests ran once. Earlier ({earlier} lists them) and now:",
        *(f"  {folder:20} {before:>6,} {now:>6,}" for folder, before, now in [*rows, total]),
    ]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
