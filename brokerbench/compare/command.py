"""Plans the runs of `brokerbench compare --scenario`, shows the differences that they can detect, and makes them."""

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from brokerbench.compare.making import (
    PrintLine,
    check,
    decided_verdicts,
    describe_plan,
    describe_power,
    make,
    short_run_warnings,
)
from brokerbench.compare.session import (
    MOST_BLOCKS,
    ComparisonRequest,
    ComparisonSession,
    arms,
    plan_session,
    progress,
    require_free,
    split_values,
)
from brokerbench.interrupts import signals_interrupt
from brokerbench.locustfiles import locustfile_of
from records.verdicts import EXIT_STATUS
from reports.comparison.arms import primary_by_scenario
from reports.comparison.metrics import METRICS, PRIMARY
from reports.comparison.statistics import can_be_judged
from topologies.model.spelling import shortened


def make_missing_runs(request: ComparisonRequest, primary: Sequence[str], print_line: PrintLine) -> list[Path]:
    """Make the missing runs, and return the folders of all runs. Ctrl-C ends the process with status 130.

    ``primary``: names of the figures to judge. Raises ValueError.
    """
    sessions, tests = plan_sessions(request, primary)
    try:
        with signals_interrupt():
            return _make(sessions, tests, primary, print_line)
    except KeyboardInterrupt:
        print_line(f"stopped: {progress(sessions)}; the same command continues from here")
        sys.exit(EXIT_STATUS["interrupted"])


def plan_sessions(request: ComparisonRequest, primary: Sequence[str]) -> tuple[list[ComparisonSession], int]:
    """Return a session per scenario of ``steady:7,failover:3``, and the number of tests for Holm. Raises ValueError."""
    wanted = [_with_blocks(text, request.blocks) for text in split_values(request.scenario)]
    names = [locustfile_of(scenario).stem for scenario, _ in wanted]
    if len(set(names)) < len(names):
        raise ValueError(f"--scenario {request.scenario}: names a scenario twice: name each once, with its blocks")
    _, values = arms(request)
    figures = [len(metrics) or 1 for metrics in primary_by_scenario(primary, names).values()]
    judged = can_be_judged([blocks for _, blocks in wanted])
    tests = sum(number for number, counts in zip(figures, judged, strict=True) if counts) * (len(values) - 1)
    several = len(wanted) > 1
    return [
        plan_session(
            replace(request, scenario=scenario, blocks=blocks, session=_session(request, name, several)), tests
        )
        for (scenario, blocks), name in zip(wanted, names, strict=True)
    ], tests


def _with_blocks(text: str, blocks: int | None) -> tuple[str, int | None]:
    """Split ``steady:7`` into the scenario and 7 blocks. ``steady`` has the number of blocks from ``--blocks``."""
    scenario, colon, number = text.rpartition(":")
    if not colon:
        return text, blocks
    if not number.isascii() or not number.isdecimal() or not 1 <= float(number) <= MOST_BLOCKS:
        rule = f"write the number of blocks after the colon, 1 to {MOST_BLOCKS:,}, as in steady:7"
        raise ValueError(f"--scenario {shortened(text)}: {rule}")
    return scenario, int(number)


def _session(request: ComparisonRequest, scenario: str, several: bool) -> str | None:
    return f"{request.session}-{scenario}" if request.session and several else request.session


def _make(
    sessions: Sequence[ComparisonSession], tests: int, primary: Sequence[str], print_line: PrintLine
) -> list[Path]:
    for session in sessions:  # show progress at once: checking every arm's options takes seconds
        session.require_own()
        require_free(session.folder)
    would_be = [check(session) for session in sessions]
    for session in sessions:
        session.begin()
    for session, would in zip(sessions, would_be, strict=True):
        for line in describe_plan(session, would, missing=session.run_count - len(session.usable_runs())):
            print_line(line)
    for line in describe_power(sessions, tests):
        print_line(line)
    judged = primary_by_scenario(primary, [session.locustfile.stem for session in sessions])
    for session, would in zip(sessions, would_be, strict=True):
        has_faults = any(arm["faults"] for arm in would)
        metrics = judged[session.locustfile.stem] or (() if has_faults else (METRICS[PRIMARY],))
        for line in short_run_warnings(session, would, metrics):
            print_line(line)
    for line in decided_verdicts(sessions):
        print_line(line)
    return make(sessions, print_line)
