"""Turns the command line of `brokerbench compare` into a request, and comparisons into text and an exit status."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from records.store.rundir import RunDirectory
from records.verdicts import EXIT_STATUS
from reports.comparison.build import ComparisonInput
from reports.comparison.comparison import Comparison
from reports.comparison.confounders import confounder_lines
from reports.comparison.sentences import answer, left_out, messages, noise, unsteady
from reports.comparison.verdicts import INVALID, UNDECIDED, UNSTABLE, WORSE


def comparison_input(
    primary: tuple[str, ...],
    same_within: float,
    allow_unlike: bool,
    out: Path,
    markdown: Path | None,
    json_file: Path | None,
) -> ComparisonInput:
    """Return the request, without runs yet. ValueError for equal output names, or for a missing output folder."""
    files = [path.resolve() for path in (out, markdown, json_file) if path is not None]
    if len(set(files)) < len(files):
        raise ValueError(f"{out}: two of --out, --markdown and --json name the same file: give each a different name")
    require_folders(files)
    return ComparisonInput((), primary, same_within, allow_unlike, out, markdown, json_file)


def runs_that_began(runs: Iterable[RunDirectory]) -> tuple[tuple[Path, ...], list[str]]:
    """Return the folders of the runs that began, and a sentence for each other run, as ``runs/2*`` matches them too.

    Raises RunUnreadable.
    """
    folders, left_out = [], []
    for run in runs:
        why = "" if run.summary_path.exists() else run.read_run().never_began
        if why:
            left_out.append(f"left out: {run.path.name} never began ({why})")
        else:
            folders.append(run.path)
    return tuple(folders), left_out


def require_folders(files: Iterable[Path]) -> None:
    """Raise ValueError for an output file that could not be written, before hours of runs."""
    for file in files:
        if not file.resolve().parent.is_dir():
            raise ValueError(f"{file}: the folder {file.parent} does not exist: create it first")


def describe(comparisons: Sequence[Comparison], written: Sequence[Path]) -> str:
    """Return the terminal output: the answer, the reasons for each verdict, omissions, and the files."""
    field = comparisons[0].design.field
    lines = [
        answer(comparisons),
        messages(comparisons),
        *(f"besides the {field}: {line}" for line in confounder_lines(comparisons)),
    ]
    for comparison in comparisons:
        lines += [*unsteady(comparison), *noise(comparison), *left_out(comparison)]
        under = f"{comparison.scenario}, " if len(comparisons) > 1 else ""
        for test in comparison.tests:
            lines.append(f"{test.verdict.word}: {under}{test.figure.arm}, {test.figure.metric.path}")
            lines += [f"  {reason}" for reason in test.verdict.reasons]
        lines += failed_runs(comparison)
    unlike = [f"unlike: {difference}" for comparison in comparisons for difference in comparison.design.unlike]
    return "\n".join([*lines, *unlike, *map(str, written)])


def exit_status(comparisons: Sequence[Comparison], gate: bool, strict: bool) -> int:
    """Return the exit status for the worst finding, or 0.

    3: there is an invalid run. 1, with ``gate``: a figure is worse, or a run failed a check. 4, with ``strict``: a
    figure is undecided or unstable, or a run has the verdict unknown.
    """
    words = {word for comparison in comparisons for word in comparison.words()}
    of_runs = {
        run.summary["verdict"] for comparison in comparisons for arm in comparison.design.rows for run in arm.runs
    }
    if INVALID in words:
        return EXIT_STATUS["invalid"]
    if gate and (WORSE in words or "fail" in of_runs):
        return EXIT_STATUS["fail"]
    if strict and ({UNDECIDED, UNSTABLE} & words or "unknown" in of_runs):
        return EXIT_STATUS["unknown"]
    return 0


def failed_runs(comparison: Comparison) -> list[str]:
    """Return a line for each arm with runs that failed a check, with the reasons of the first of them."""
    lines = []
    for arm in comparison.design.rows:
        failed = [run for run in arm.runs if run.summary["verdict"] == "fail"]
        if failed:
            reasons = "; ".join(failed[0].summary["reasons"])
            lines.append(f"failed: {len(failed)} of {len(arm.runs)} runs of {arm.name} failed a check: {reasons}")
    return lines
