"""Analyses runs with a Spark pipeline, and writes each run's result tables and summary.json.

    spark-submit analysis/jobs.py RUN RUN …        or        python -m analysis.jobs RUN RUN … [--master URL]

A run is a folder or a folder's URI, such as s3a://bucket/run. Results are written to the same place
(`analysis.stored_run`).

The exit status belongs to the worst verdict (records.verdicts.EXIT_STATUS), or is 2 if a run could not be
analyzed.
"""

import argparse
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache, partial
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

from records.errors import UserError

if __package__ in (None, ""):  # run by its path, as spark-submit does: import from the project, not from this folder
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from analysis.clients.topic import ClientsTopic
from analysis.events.run import MergedTables, RowsOfPart, Run, Topic, TopicResults
from analysis.faults.topic import FaultsTopic
from analysis.latency.topic import LatencyTopic
from analysis.load.topic import LoadTopic
from analysis.messages.part import RunFacts
from analysis.messages.topic import MessagesTopic
from analysis.network.topic import NetworkTopic
from analysis.pipeline import RunLocations, compute
from analysis.run.store import unfinished_results, write_results, write_summary
from analysis.run.topic import RunTopic, summary_of
from analysis.spark import session
from analysis.stored_run import StoredRun, name_of, usable_uri
from records.analysis_command import LAST_LINE, SCRATCH, is_uri
from records.environment import escape_unprintable
from records.figures.summary import Summary
from records.files import exclusive_lock
from records.store.digests import digests, list_analysed, read_files, require_listed_events
from records.store.reader import inspect, parts_of, require_events, require_readable, seal
from records.store.rundir import RunDirectory
from records.tables.results import WRITTEN_BY_PARTS
from records.temporary import temporary_folder
from records.verdicts import CANNOT_ANALYSE, EXIT_STATUS, GRAVEST_FIRST

TOPICS: tuple[Topic, ...] = (
    MessagesTopic(),
    LatencyTopic(),
    NetworkTopic(),
    ClientsTopic(),
    LoadTopic(),
    FaultsTopic(),
    RunTopic(),
)
"""Topics in execution order. A topic may use the results of earlier ones."""
Progress = Callable[[str], None]
Start = Callable[[], AbstractContextManager[SparkSession]]
ANALYSING = "analysing"
NO_LATENCY = "no latency was measured."


def analyse(
    run: Path | str,
    master: str | None = None,
    *,
    event_log: str | None = None,
    progress: Progress = print,
    conclusion: Callable[[Summary], None] = lambda _summary: None,
) -> Summary:
    """Seal a run if necessary, compute its results, write them with summary.json, and return the summary.

    ``run``: a folder, or the URI of a sealed run's folder. ``event_log``: as in `analysis.spark.session`.
    ``conclusion``: called with the summary as soon as it is written, before Spark takes most of a second to stop.

    Raises RunUnreadable if the run does not exist, has no events or has a damaged file; RunUnwritable if the results
    cannot be stored; UserError if Spark does not start. A second analysis replaces the results of the first.
    """
    if isinstance(run, str) and is_uri(run):
        return _analyse_stored(usable_uri(run), partial(session, master, event_log, stored=True), progress, conclusion)
    directory = RunDirectory.open(Path(run))
    with exclusive_lock(directory.path, ANALYSING):
        try:
            return _analysed(directory, _session(partial(session, master, event_log), progress), progress, conclusion)
        except UserError:
            raise
        except Exception:
            require_readable(directory)  # Spark reports a damaged file in two hundred lines
            raise


def _analyse_stored(uri: str, start: Start, progress: Progress, conclusion: Callable[[Summary], None]) -> Summary:
    with _session(start, progress) as spark, temporary_folder(SCRATCH) as folder:
        with _step(progress, "fetched the run"):
            stored = StoredRun(spark, uri)
            directory = stored.fetch(folder / "run")
        return _analysed(directory, nullcontext(spark), progress, conclusion, stored)


def _analysed(
    directory: RunDirectory,
    started: AbstractContextManager[SparkSession],
    progress: Progress,
    conclusion: Callable[[Summary], None],
    stored: StoredRun | None = None,
) -> Summary:
    info = directory.read_run()
    with _step(progress, "sealed the events"):
        require_events(directory)  # a rejected run is not changed
        if not directory.has_seal:
            require_listed_events(directory)
        seal(directory)
        sealing = inspect(directory)
        pa.system_memory_pool().release_unused()  # the footers of a long run's files took tens of megabytes
    if not any(directory.path.glob("streams/*/*")):  # no process writes events any longer
        directory.remove_unfinished()
    read = digests(directory.path, read_files(directory))
    with started as spark:

        def compute_tables(purpose: str, tables: Mapping[str, RowsOfPart]) -> MergedTables:
            spark.sparkContext.setJobDescription(f"{info.run_id}: {purpose}")
            places = stored.places if stored else RunLocations(None, written)
            with stored.explained() if stored else nullcontext():
                return compute(spark, facts(), tables, places, progress)

        @cache
        def facts() -> RunFacts:
            return RunFacts.from_run(run)

        with unfinished_results(directory) as written:
            run = Run(directory, info, sealing, parts_of(sealing), compute_tables)
            results = conclude(run, progress)
            with _step(progress, "wrote the results"):
                summary = summary_of(results.summary)
                write_results(directory, results.tables, written, WRITTEN_BY_PARTS if stored else ())
                write_summary(directory, summary)
                list_analysed(directory, read)
                if stored:
                    stored.publish(directory)
        conclusion(summary)
    return summary


def conclude(run: Run, progress: Progress, topics: Sequence[Topic] = TOPICS) -> TopicResults:
    """Return the results of all topics. Their tables are computed together in one pass over the events."""
    results = TopicResults()
    with _step(progress, "read the events"):
        tables = {name: rows for topic in topics for name, rows in topic.tables(run).items()}
        merged = run.compute("all topics", tables)
    for topic in topics:
        with _step(progress, topic.step):
            topic.conclude(run, merged, results)
    return results


@contextmanager
def _session(start: Start, progress: Progress) -> Iterator[SparkSession]:
    began_s = time.monotonic()
    with start() as spark:
        progress(_line("started Spark", began_s))
        yield spark


@contextmanager
def _step(progress: Progress, step: str) -> Iterator[None]:
    began_s = time.monotonic()
    yield
    progress(_line(step, began_s))


def _line(step: str, began_s: float) -> str:
    return f"analysis: {step} ({time.monotonic() - began_s:.1f} s)"


def main(arguments: list[str] | None = None) -> int:
    """Analyse the runs given as arguments; return the exit status."""
    parser = argparse.ArgumentParser(prog="analysis/jobs.py", description="Analyse the events of runs.")
    parser.add_argument("runs", type=_run, nargs="+", help="folders of runs, such as runs/<run id>, or their URIs")
    parser.add_argument("--master", help="Spark master URL (default: spark-submit's, or else local[*])")
    parser.add_argument("--event-log", metavar="FOLDER", help="folder for the log that Spark's history server shows")
    options = parser.parse_args(arguments)
    escape_unprintable()
    pa.set_memory_pool(pa.system_memory_pool())  # Arrow's default pool keeps freed memory, and the driver reads little
    try:
        if len(options.runs) == 1:
            return _analyse_and_print(options.runs[0], options.master, _print_line, options.event_log)
        return _in_one_session(options.runs, options.master, options.event_log)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return CANNOT_ANALYSE


def _run(text: str) -> Path | str:
    return text if is_uri(text) else Path(text)


def _in_one_session(runs: Sequence[Path | str], master: str | None, event_log: str | None) -> int:
    """Analyze runs one after the other and print their names. Continue after a run that cannot be analyzed."""
    statuses = []
    began_s = time.monotonic()
    with session(master, event_log, stored=any(isinstance(run, str) for run in runs)):
        _print_line(_line("started Spark", began_s))
        for number, run in enumerate(runs, start=1):
            _print_line(f"analysis: run {number} of {len(runs)}: {name_of(run)}")
            statuses.append(_analyse_and_print(run, master, lambda _line: None))
    return min(statuses, key=GRAVEST_FIRST.index)


def _analyse_and_print(run: Path | str, master: str | None, progress: Progress, event_log: str | None = None) -> int:
    """Analyse one run, print its verdict or the error, and return the exit status."""
    try:
        summary = analyse(run, master, event_log=event_log, progress=progress, conclusion=_print_verdict)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return CANNOT_ANALYSE
    except Exception:
        if isinstance(run, Path):
            raise
        traceback.print_exc()  # exit status 1 would be a verdict, and the caller cannot see summary.json
        return CANNOT_ANALYSE
    return EXIT_STATUS[summary["verdict"]]


def _print_verdict(summary: Summary) -> None:
    _print_line(f"verdict: {summary['verdict']}")
    for reason in summary["reasons"]:
        _print_line(f"  - {reason}")
    if summary["offered_rate"]["note"]:
        _print_line(f"rate: {summary['offered_rate']['note']}")
    timing = summary["timing"]
    note = timing["note"] or ("every latency figure is sound." if timing["sound"] else NO_LATENCY)
    _print_line(f"{LAST_LINE}{note}")


def _print_line(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
