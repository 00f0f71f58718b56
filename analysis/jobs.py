"""What did a run show? Reads its event tables, computes the result tables with Spark, writes summary.json.

    spark-submit analysis/jobs.py RUN        or        python -m analysis.jobs RUN [--master URL]

Exit status: that of the verdict (records.summary.EXIT_STATUS), or 2 when the run could not be analysed.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

if __package__ in (None, ""):  # run by its path, as spark-submit does: import from the project, not from this folder
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from analysis.accounting import accounting
from analysis.blocked import blocked
from analysis.clocks import error_bound_ns
from analysis.connections import connections
from analysis.figures import paths
from analysis.frames import Frames
from analysis.latency import durations, latency
from analysis.links import links
from analysis.oddities import oddities
from analysis.rates import rates, totals
from analysis.resources import cpu_in_load, resources
from analysis.spark import SparkUnavailable, session
from analysis.store import write_results, write_summary
from analysis.summary import Findings, summarise
from analysis.timeline import Timeline, Window
from analysis.verdict import FailedFault
from records.errors import RunUnreadable, RunUnwritable
from records.reader import Sealing, inspect, read_events, seal
from records.results import ODDITIES
from records.rundir import RunDirectory
from records.summary import EXIT_STATUS, Summary

Progress = Callable[[str], None]
ODD = ("lost", "stranded", "dead_lettered", "duplicated", "recovered", "reordered", "corrupted", "unexpected")


def analyse(run: Path, master: str | None = None, *, progress: Progress = print) -> Summary:
    """Seal a run if need be, compute its results, write them with summary.json, and return the summary.

    RunUnreadable when there is no such run, it has no events or one of its files is damaged; RunUnwritable when the
    results cannot be stored; SparkUnavailable when Spark does not start. Analysing again replaces what was there.
    """
    directory = RunDirectory.open(run)
    info = directory.read_run()
    with _step(progress, "sealed the events"):
        seal(directory)
        sealing = inspect(directory)
    with _session(master, sealing, progress) as spark:
        frames = Frames(spark, directory, info)
        results, found = _compute(frames, sealing, progress)
    with _step(progress, "wrote the results"):
        summary = summarise(info, found)
        write_results(directory, results)
        write_summary(directory, summary)
    return summary


@contextmanager
def _session(master: str | None, sealing: Sealing, progress: Progress) -> Iterator[SparkSession]:
    began_s = time.monotonic()
    with session(master, rows=sum(sealing.rows.values())) as spark:
        progress(_line("started Spark", began_s))
        yield spark


def _compute(frames: Frames, sealing: Sealing, progress: Progress) -> tuple[dict[str, pa.Table], Findings]:
    info, faults = frames.info, read_events(frames.directory, "faults").to_pylist()
    timeline = Timeline.of(info.phases, _first_event_ns(frames), _windows(faults))
    clock_error_ns = error_bound_ns(info.processes)
    try:
        with ThreadPoolExecutor(1) as aside:  # planning a query takes one core: the few rows of brokers take another
            of_brokers = aside.submit(_of_brokers, frames, timeline, progress)
            held = aside.submit(lambda: _row(blocked(frames.connections)))
            cpu_ns = aside.submit(lambda: _row(cpu_in_load(frames.samples, timeline)))
            results = _of_messages(frames, timeline, clock_error_ns, progress)
            with _step(progress, "added up the run"):
                load = _row(totals(frames.messages, frames.deliveries, timeline))
        found = Findings(
            outcomes=load.pop("outcomes").asDict(),
            accounting=results["accounting"],
            latency=results["latency"],
            load=load,
            cpu_ns=cpu_ns.result(),
            blocked=held.result(),
            leftovers=sealing.rows["leftovers"],
            load_s=timeline.load_s,
            clock_error_ns=clock_error_ns,
            problems=sealing.problems,
            failed_faults=_failed(faults),
        )
    finally:
        frames.release()
    return results | of_brokers.result(), found


def _of_messages(frames: Frames, timeline: Timeline, clock_error_ns: int, progress: Progress) -> dict[str, pa.Table]:
    """Results about messages. The first step also reads the events that the later ones share."""
    of = frames
    results = {}
    with _step(progress, "timed the messages"):
        timed = latency(durations(of.sends, of.messages, of.deliveries), timeline, clock_error_ns)
        results["latency"] = timed.toArrow()
        results["paths"] = paths(results["latency"])
    with _step(progress, "accounted for the messages"):
        counted = accounting(of.expected, of.fates, of.deliveries, of.out_of_order, of.strangers)
        results["accounting"] = counted.toArrow()
    with _step(progress, "looked up the odd ones"):
        odd = oddities(of.fates, of.deliveries, of.out_of_order, of.strangers, timeline)
        results["oddities"] = odd.toArrow() if _any_odd(results["accounting"]) else ODDITIES.empty_table()
    with _step(progress, "counted the rates"):
        results["rates"] = rates(of.sends, of.messages, of.deliveries, of.strangers, timeline).toArrow()
    return results


def _of_brokers(frames: Frames, timeline: Timeline, progress: Progress) -> dict[str, pa.Table]:
    """Results about connections and samples."""
    with _step(progress, "followed connections, bridges and resources"):
        return {
            "connections": connections(frames.connections, timeline).toArrow(),
            "links": links(frames.samples).toArrow(),
            "resources": resources(frames.samples, timeline).toArrow(),
        }


def _any_odd(accounting: pa.Table) -> bool:
    return any(any(accounting[name].to_pylist()) for name in ODD)


def _row(frame: DataFrame) -> dict[str, Any]:
    """The only row of a frame."""
    (row,) = frame.collect()
    return row.asDict()


def _first_event_ns(frames: Frames) -> int:
    """Asked of the events only when run.json does not tell when the run began."""
    phases = frames.info.phases
    if phases.load_began_ns is not None or phases.warm_up_began_ns is not None:
        return 0
    return int(_row(frames.sends.agg(F.coalesce(F.min("due_ns"), F.lit(0)).alias("first")))["first"])


def _windows(faults: list[dict[str, object]]) -> Iterator[Window]:
    return (Window(fault["began_ns"], fault["ended_ns"]) for fault in faults if fault["error"] is None)  # type: ignore[arg-type]


def _failed(faults: list[dict[str, object]]) -> tuple[FailedFault, ...]:
    told = (fault for fault in faults if fault["error"] is not None)
    return tuple(FailedFault(str(one["kind"]), str(one["target"]), str(one["error"])) for one in told)


@contextmanager
def _step(progress: Progress, done: str) -> Iterator[None]:
    began_s = time.monotonic()
    yield
    progress(_line(done, began_s))


def _line(done: str, began_s: float) -> str:
    return f"analysis: {done} ({time.monotonic() - began_s:.1f} s)"


def main(arguments: list[str] | None = None) -> int:
    """Analyse the run that is named; returns the exit status."""
    parser = argparse.ArgumentParser(prog="analysis/jobs.py", description="Analyse the events of one run.")
    parser.add_argument("run", type=Path, help="folder of the run, such as runs/<run id>")
    parser.add_argument("--master", help="Spark master URL (default: what spark-submit was given, else local[*])")
    options = parser.parse_args(arguments)
    try:
        summary = analyse(options.run, options.master, progress=_tell)
    except (RunUnreadable, RunUnwritable, SparkUnavailable) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    _tell(f"verdict: {summary['verdict']}")
    for reason in summary["reasons"]:
        _tell(f"  - {reason}")
    return EXIT_STATUS[summary["verdict"]]


def _tell(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
