"""Reads the data for a comparison from run folders.

Every error is a RunUnreadable that names the file, the rule and the next step.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from records.errors import UserError
from records.figures.percentiles import LEAST_BEYOND
from records.figures.profiles import JvmProfile, read_profiles
from records.figures.summary import Summary
from records.run import RunInfo
from records.store.rundir import RunDirectory
from records.tables.results import RESULT_TABLES
from reports.comparison.metrics import Metric
from reports.inputs import read_summary, result_table
from reports.parts.histogram import Histogram, select

UNUSABLE = ("invalid", "interrupted")
NOT_ITS_OWN = ("generator", "host")
"""Rate limits that are not caused by the brokers: figures with the resulting backlog are doubtful."""
FEWEST_MESSAGES = 2 * LEAST_BEYOND
"""Minimum number of messages with a given number of crossed brokers, for a median latency."""

TellsOfARun = Callable[[RunInfo], str]


@dataclass(frozen=True)
class AnalysedRun:
    """One analyzed run. ``latency``: due to received of the load phase.

    ``by_hops``: the same by the number of brokers that a message crossed, if enough messages did; empty if the
    protocol does not report. ``to_add_a_broker``: which brokers must be restarted to add one; '' if that is not known.
    ``profiles``: of brokers and Java clients, in a run with ``--jfr``.
    """

    name: str
    info: RunInfo
    summary: Summary
    latency: Histogram
    by_hops: Mapping[int, Histogram] = field(default_factory=dict)
    to_add_a_broker: str = ""
    profiles: tuple[JvmProfile, ...] = ()

    @property
    def unusable(self) -> str:
        """Why no figure of this run can be used, as a sentence; empty if they can."""
        verdict = self.summary["verdict"]
        if verdict not in UNUSABLE:
            return ""
        reason = f": {self.summary['reasons'][0].rstrip('.')}" if self.summary["reasons"] else ""
        article = "an invalid" if verdict == "invalid" else "an interrupted"
        return f"{self.name} is {article} run{reason}. Make it again, or leave its block out."

    @property
    def rate_held(self) -> bool | None:
        """Whether the offered rate was held; None if it was not judged."""
        return self.summary["offered_rate"]["held"]

    @property
    def rate_limited_by(self) -> str:
        """The limit that kept the rate from being held; '' if it was held, or was not judged."""
        return self.summary["offered_rate"]["limited_by"] or ""

    @property
    def aborted(self) -> str:
        """The condition of ``--abort-on`` that ended the load; empty if none did."""
        return next((abort["condition"] for abort in self.summary["aborted"]), "")

    @property
    def holds_its_load(self) -> bool:
        """Whether its load went to its end at the offered rate."""
        return self.rate_held is True and not self.aborted

    @property
    def fell_short(self) -> bool:
        """Whether the load was aborted, or the rate was not held because of brokers, links or consumers.

        A rate that was not held because of the generator or the machine does not count.
        """
        if self.aborted:
            return True
        return self.rate_held is False and self.rate_limited_by not in NOT_ITS_OWN

    @property
    def warm_up_settled(self) -> bool:
        """False if the warm-up should end once latency had settled, but latency did not settle."""
        return self.summary["warm_up"]["end"] != "not_settled"

    def value(self, metric: Metric) -> float | None:
        """Return the figure; None if it was not measured, has doubtful timing, or belongs to an aborted load."""
        return None if self.doubt(metric) else metric.value(self.summary)

    def doubt(self, metric: Metric) -> str:
        """Return why the figure is doubtful; empty if it is sound. All figures of an aborted load are doubtful."""
        if self.aborted:
            return f"the load was aborted by --abort-on '{self.aborted}'"
        return self.summary["timing"]["doubtful"].get(metric.path, "")


def read_runs(paths: Iterable[Path], to_add_a_broker: TellsOfARun = lambda _info: "") -> tuple[AnalysedRun, ...]:
    """Return the runs in the order given. UserError for fewer than two, or for the same run twice, even as a copy."""
    folders = tuple(paths)
    if len(folders) < 2:
        raise UserError(
            f"{len(folders)} run{'' if len(folders) == 1 else 's'}: a comparison needs at least two: name their folders"
        )
    read_folders: set[Path] = set()
    for folder in folders:
        if folder.resolve() in read_folders:
            raise UserError(f"{folder}: named twice, and a run counts once: leave one out")
        read_folders.add(folder.resolve())
    runs = tuple(_read(folder, to_add_a_broker) for folder in folders)
    _refuse_copies(folders, runs)
    return runs


def _refuse_copies(folders: Iterable[Path], runs: Iterable[AnalysedRun]) -> None:
    """Raise UserError for two folders of one run: they would count as two independent runs."""
    folder_by_run: dict[str, Path] = {}
    for folder, run in zip(folders, runs, strict=True):
        first = folder_by_run.setdefault(run.info.run_id, folder)
        if first != folder:
            raise UserError(
                f"{folder}: a copy of {first}, as both are of run {run.info.run_id}, which counts once: leave one out"
            )


def _read(folder: Path, to_add_a_broker: TellsOfARun) -> AnalysedRun:
    directory = RunDirectory.open(folder)
    info = directory.read_run()
    summary = read_summary(directory, reader="a comparison")
    table = select(
        result_table(directory, "latency", RESULT_TABLES["latency"]), measure="due_to_received", phase="load"
    )
    name, restarts = folder.resolve().name, to_add_a_broker(info)
    return AnalysedRun(name, info, summary, Histogram.of(table), _by_hops(table), restarts, read_profiles(directory))


def _by_hops(latency: pa.Table) -> dict[int, Histogram]:
    hops = sorted(number for number in latency["hops"].unique().to_pylist() if number is not None)
    histograms = {number: Histogram.of(select(latency, hops=number)) for number in hops}
    return {number: histogram for number, histogram in histograms.items() if histogram.count >= FEWEST_MESSAGES}
