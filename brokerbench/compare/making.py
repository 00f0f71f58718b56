"""Makes the missing runs of a comparison one after the other, and analyzes them after the last one has ended.

Nothing is analyzed during a run. Each run is a separate `locust` process under a guard, so it ends with this process.
"""

import json
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from datetime import datetime
from functools import partial
from itertools import takewhile
from math import ceil
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from brokerbench.compare.kept_verdicts import verdicts_in
from brokerbench.compare.session import ComparisonSession, Slot, lock_session, why_invalid
from brokerbench.interrupts import run_guarded
from brokerbench.progress import RunTimes, UnderWay, duration_text, end_text, first_results, live_line
from brokerbench.stored_runs import analyse
from records.errors import UserError
from records.figures.percentiles import values_needed
from records.run import CONSUMER, PRODUCER
from records.store.rundir import RunDirectory
from reports.comparison.confounders import Shape, confounding_differences
from reports.comparison.metrics import Metric
from reports.comparison.statistics import needed_blocks
from reports.parts.numbers import counted
from topologies.runtimes.capabilities import Capability, can

LOG_PREFIX = re.compile(r"^(\[[^]]*\] \S+/[A-Z]+/[\w.]+: )?(brokerbench: |\S+: error: )?")
CANNOT_RUN = 2  # exit status of a run that could not be made
LOGGED = re.compile(r"\[\d{4}-\d\d-\d\d ")
"""The beginning of a line in Locust's log. A line without it continues the previous line."""
MOST_TRIES = 3  # attempts to make one run, if each is invalid
SPARE, ROUND_S = 1.1, 5  # a proposed run time has a tenth more messages than needed, and is a multiple of 5 s
AROUND_A_RUN_S = 25.0  # to start brokers, drain and stop brokers: about this long for three brokers

PrintLine = Callable[[str], None]
Place = tuple[ComparisonSession, Slot]


def check(session: ComparisonSession) -> list[dict[str, Any]]:
    """Return a description of a run of each arm. Raises UserError with the message of the first rejected run."""
    would_be_runs = []
    for value in session.values:
        with TemporaryFile("w+", encoding="utf-8") as output:
            status = run_guarded([*_locust(), *session.run_arguments(value), "--dry-run"], output=output)
            output.seek(0)
            text = output.read()
        if status != 0:
            raise UserError(f"{session.option} {value}: {_last_words(text)}")
        would_be_runs.append(_would_run(text, f"{session.option} {value}"))
    return would_be_runs


def _would_run(text: str, arm: str) -> dict[str, Any]:
    for line in reversed(text.splitlines()):
        if line.startswith("{"):
            would_be_run: dict[str, Any] = json.loads(line)
            return would_be_run
    raise UserError(f"{arm}: locust did not describe the run: leave out options such as --help or --list")


def describe_plan(session: ComparisonSession, arms: list[dict[str, Any]], missing: int) -> list[str]:
    """Describe the runs that will be made of one scenario, and their total duration."""
    runs, again = session.run_count, f" and {session.values[0]} again" if session.control else ""
    lines = [
        f"{session.locustfile.stem}: {counted(len(session.values), 'arm')} by {session.option}: "
        f"{', '.join(session.values)}{again}; {counted(session.blocks, 'block')}, {counted(runs, 'run')}"
        f"{_duration(arms, missing)}; in {session.folder}"
    ]
    lines += [f"besides the {session.option}: {line}" for line in _confounders(session, arms)]
    return lines + ([f"{runs - missing} of {runs} runs exist already"] if missing < runs else [])


def _confounders(session: ComparisonSession, arms: list[dict[str, Any]]) -> tuple[str, ...]:
    """Return the other differences between the arms, before any run is made."""
    shapes = [
        Shape(
            value,
            arm["brokers"],
            arm["standbys"],
            tuple(arm["pairs_by_links"]),
            frozenset(arm["enter_at"][PRODUCER]),
            frozenset(arm["enter_at"][CONSUMER]),
        )
        for value, arm in zip(session.values, arms, strict=True)
    ]
    beside_load = all(can(arm["runtime"], Capability.OWNS_BROKERS) for arm in arms)
    cores = (os.cpu_count() or 0) if beside_load else 0
    # Imports requests, and so ssl; `brokerbench nightly` has to import Locust before, as it patches ssl.
    from brokerbench.compare.equal_arms import proposal

    nearest = proposal([str(arm["topology"]) for arm in arms])
    return confounding_differences(session.option, shapes, cores, nearest)


def describe_power(sessions: Sequence[ComparisonSession], tests: int) -> list[str]:
    """Describe the verdicts that the blocks can give. ``tests``: the number that Holm covers."""
    needed = needed_blocks(tests)
    needs = f"{counted(tests, 'test')} against {sessions[0].values[0]}: a verdict needs {needed} blocks"
    few = [session for session in sessions if session.blocks < needed]
    if len(sessions) == 1 and few:
        return [f"{needs}; with {sessions[0].blocks} the page shows figures, but no verdict"]
    described = [
        f"{session.locustfile.stem}: with {session.blocks} the page shows figures, but no verdict" for session in few
    ]
    return [needs, *described]


def short_run_warnings(
    session: ComparisonSession, arms: Sequence[Mapping[str, Any]], metrics: Sequence[Metric]
) -> list[str]:
    """Return a sentence for each percentile that needs longer runs, with a sufficient length.

    ``arms``: output of each arm's dry run. ``metrics``: the figures that will be judged.
    """
    expected = [arm["expected_messages"] for arm in arms if arm["expected_messages"] is not None]
    if not expected:
        return []
    fewest, load_s = min(expected), max(arm["expected_load_s"] or 0.0 for arm in arms)
    lines = []
    for metric in metrics:
        needed = values_needed(1 - metric.share_beyond) if metric.share_beyond else 0
        if fewest >= needed:
            continue
        suffices_s = ceil(load_s * needed / fewest * SPARE / ROUND_S) * ROUND_S
        longer = f"make each run longer with -t {suffices_s}s, or" if load_s else "send more messages, or"
        lines.append(
            f"{session.locustfile.stem}: {metric.path} needs {needed:,} messages in each run, and a run has about "
            f"{fewest:,.0f}, so there will be no verdict on it: {longer} choose another figure with --primary"
        )
    return lines


def decided_verdicts(sessions: Sequence[ComparisonSession]) -> list[str]:
    """Return the verdicts that more blocks will not change. Raises ValueError for an unreadable file of verdicts."""
    return [
        f"{verdict.scenario}: {verdict.arm} is {verdict.word} in {verdict.figure} by {verdict.blocks} blocks, and more "
        "blocks do not change this verdict"
        for session in sessions
        for verdict in verdicts_in(session.folder)
        if session.blocks > verdict.blocks
    ]


def _duration(arms: list[dict[str, Any]], missing: int) -> str:
    took_s = duration_s(arms, missing)
    return f", about {duration_text(took_s)} without the analysis" if took_s else ""


def duration_s(arms: list[dict[str, Any]], missing: int) -> float:
    """Estimate the duration before any run was made; 0 for runs that end after a number of messages."""
    if any(arm["expected_load_s"] is None for arm in arms) or not missing:
        return 0.0
    each_s = [float(arm["warm_up_at_most_s"] + arm["expected_load_s"]) for arm in arms]
    return missing * (sum(each_s) / len(each_s) + AROUND_A_RUN_S)


def make(sessions: Sequence[ComparisonSession], print_line: PrintLine) -> list[Path]:
    """Make the missing runs, and return the folders of all runs by session, with the first arm first in each block.

    Raises ValueError, for example if another process is making them.
    """
    with ExitStack() as locks:
        for session in sessions:
            locks.enter_context(lock_session(session.folder))
        return _all_made(sessions, print_line)


def _all_made(sessions: Sequence[ComparisonSession], print_line: PrintLine) -> list[Path]:
    invalid, times = Counter[Place](), RunTimes()
    while True:
        for session in sessions:
            _make_missing(session, sessions, invalid, times, print_line)
        runs = _usable_runs(sessions)
        unanalysed = [run for run in runs.values() if not run.is_analysed]
        if unanalysed:
            print_line(
                f"all runs are complete; {counted(len(unanalysed), 'run')} will be analyzed in one Spark session"
            )
            analyse(unanalysed, None)
        for run in unanalysed:
            if not run.is_analysed:
                again = "remove this folder, and the same command makes the run again"
                raise UserError(f"{run.path}: cannot be analyzed (see above): {again}")
        after = _usable_runs(sessions)
        for place in runs.keys() - after.keys():
            _note_invalid(place, runs[place], invalid, print_line)
        if len(after) == len(runs):
            return [after[place].path for place in sorted(after, key=lambda place: _in_order(sessions, place))]


def _usable_runs(sessions: Sequence[ComparisonSession]) -> dict[Place, RunDirectory]:
    return {(session, slot): run for session in sessions for slot, run in session.usable_runs().items()}


def _in_order(sessions: Sequence[ComparisonSession], place: Place) -> tuple[int, int, bool, int]:
    session, slot = place
    return sessions.index(session), slot.block, slot.control, session.values.index(slot.value)


def _make_missing(
    session: ComparisonSession,
    sessions: Sequence[ComparisonSession],
    invalid: Counter[Place],
    times: RunTimes,
    print_line: PrintLine,
) -> None:
    slots = list(session.slots())
    run_counts = [planned.run_count for planned in sessions]
    earlier, all_runs = sum(run_counts[: sessions.index(session)]), sum(run_counts)
    scenario = f"{session.locustfile.stem}, " if len(sessions) > 1 else ""
    while missing := _without_a_run(session):
        slot = missing[0]
        log = session.folder / "logs" / f"{slot.block:02}-{slot.order:02}.log"
        this_run = f"run {earlier + slots.index(slot) + 1} of {all_runs}: {scenario}{slot}"
        print_line(this_run)
        folders_before, began_s = _folders(session), time.monotonic()
        under_way = partial(_under_way(session, sessions, times).line, this_run)
        with log.open("w", encoding="utf-8") as output, live_line(under_way):
            status = run_guarded(
                [*_locust(), *session.arguments(slot), *same_runtime(session, sessions)], output=output
            )
        new_runs = [RunDirectory(path) for path in sorted(_folders(session) - folders_before)]
        too_late = bool(new_runs) and new_runs[-1].read_run().not_up_in_time
        if not new_runs or (status == CANNOT_RUN and not too_late):
            raise UserError(f"{slot}: {_last_words(log.read_text(encoding='utf-8', errors='replace'))}; see {log}")
        if slot not in session.usable_runs():
            _note_invalid((session, slot), new_runs[-1], invalid, print_line)
            continue
        took_s = time.monotonic() - began_s
        times.add(session.name, slot.value, took_s)
        left_s = _left_s(sessions, times)
        parts = (
            f"ended after {took_s:.0f} s",
            first_results(new_runs[-1].read_run()),
            f"{end_text(left_s, datetime.now())} without the analysis" if left_s else "",
        )
        print_line(f"  {'; '.join(filter(None, parts))}")


def _left_s(sessions: Sequence[ComparisonSession], times: RunTimes) -> float | None:
    """Return how long the missing runs will take; None if no run was made yet."""
    expected = [times.expected_s(session.name, slot.value) for session in sessions for slot in _without_a_run(session)]
    return None if None in expected else sum(each for each in expected if each is not None)


def _under_way(session: ComparisonSession, sessions: Sequence[ComparisonSession], times: RunTimes) -> UnderWay:
    """Return the estimates for the first missing run of ``session``, which is made now."""
    present, *further = _without_a_run(session)
    later = sessions[sessions.index(session) + 1 :]
    following = [
        *map(str, further),
        *(f"{planned.locustfile.stem}, {slot}" for planned in later for slot in planned.slots()),
    ]
    return UnderWay(times.expected_s(session.name, present.value), _left_s(sessions, times), next(iter(following), ""))


def same_runtime(session: ComparisonSession, sessions: Sequence[ComparisonSession]) -> list[str]:
    """Return the option for the runtime of the previous runs, unless a runtime was requested.

    By default a run uses containers if a Docker engine answers, and an engine may start or stop between two runs.
    """
    if session.option == "runtime" or any(word.partition("=")[0] == "--runtime" for word in session.common_options):
        return []
    earlier = next((run for earlier_session in sessions for run in earlier_session.usable_runs().values()), None)
    return [f"--runtime={earlier.read_run().runtime}"] if earlier else []


def _without_a_run(session: ComparisonSession) -> list[Slot]:
    runs = session.usable_runs()
    return [slot for slot in session.slots() if slot not in runs]


def _note_invalid(place: Place, run: RunDirectory, invalid: Counter[Place], print_line: PrintLine) -> None:
    """Report that a run is made again, up to a limit."""
    info = run.read_run()
    why = info.start_failure or why_invalid(run, info) or f"it ended as {info.state}"
    kind = "not up in time" if info.not_up_in_time else "invalid"
    invalid[place] += 1
    if invalid[place] >= MOST_TRIES:
        raise UserError(f"{place[1]}: {MOST_TRIES} runs were {kind}; the last one is {run.path}: {why}")
    print_line(f"  {kind}, so it will be repeated: {why}")


def _folders(session: ComparisonSession) -> set[Path]:
    return {path.parent for path in session.folder.glob("*/run.json")}


def _locust() -> list[str]:
    return [sys.executable, "-m", "locust"]


def _last_words(text: str) -> str:
    """Return the last error of a log with its continuation lines, without Locust's time and logger."""
    lines = [line for line in text.splitlines() if line.strip()]
    errors = [at for at, line in enumerate(lines) if "/ERROR/" in line]
    if not errors:
        return LOG_PREFIX.sub("", (lines or ["it ended without a message"])[-1]).strip()
    excerpt = takewhile(lambda line: not LOGGED.match(line), lines[errors[-1] + 1 :])
    return "\n".join([LOG_PREFIX.sub("", lines[errors[-1]]).strip(), *excerpt])
