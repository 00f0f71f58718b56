"""Analyses runs: reads their event tables, computes the result tables with Spark, writes each run's summary.json.

    spark-submit analysis/jobs.py RUN RUN …        or        python -m analysis.jobs RUN RUN … [--master URL]

Exit status: that of the gravest verdict (records.summary.EXIT_STATUS), or 2 when a run could not be analysed.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

if __package__ in (None, ""):  # run by its path, as spark-submit does: import from the project, not from this folder
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from analysis.accounting import accounting
from analysis.anomalies import anomalies
from analysis.backlog import backlogs
from analysis.blocked import blocked
from analysis.client_steps import COLUMNS as ATTEMPT_COLUMNS
from analysis.client_steps import EVENTS as OF_ATTEMPTS
from analysis.clocks import error_bound_ns
from analysis.connection_counts import connection_counts, harness_logins
from analysis.connections import connections
from analysis.consumers import received
from analysis.deliveries import reordered
from analysis.distribution import distribution
from analysis.disturbance import back
from analysis.division import divided
from analysis.expiry import BETWEEN, expired_counts, settled
from analysis.fault_spans import FaultSpan, fault_spans
from analysis.figures import paths
from analysis.first_receipts import first_receipts, spread
from analysis.frames import Frames
from analysis.harm import by_fault, harm, late, stranded
from analysis.kinds import kinds
from analysis.latency import durations, latency
from analysis.left_behind import left_behind
from analysis.link_backlog import link_backlog
from analysis.mirror_lag import METRICS as OF_MIRRORS
from analysis.mirror_lag import mirror_lag
from analysis.outages import outages, with_due
from analysis.rates import rates, totals
from analysis.rebalance import Places, rebalance
from analysis.reconciliation import missing_rows
from analysis.recovery import Course, Harm, recovery
from analysis.refused import refused
from analysis.resources import cores_in_load, links, resources
from analysis.spark import SparkUnavailable, session
from analysis.stalls import stall_rows
from analysis.stays import clients, stays
from analysis.store import write_results, write_summary
from analysis.summary import Findings, copies_of_each, summarise
from analysis.timeline import FaultWindow, Timeline
from analysis.unplanned import Span, unplanned
from analysis.verdict import FailedFault
from records.clients import ConnectionCounts, Rebalance
from records.digests import digests, list_analysed, read_files, require_listed_events
from records.errors import RunUnreadable, RunUnwritable
from records.faults import Recovery, Unplanned
from records.files import alone_in
from records.messages import LeftBehind
from records.reader import Sealing, inspect, read_events, require_events, require_readable, seal
from records.results import ANOMALIES, OUTAGES, REORDERED
from records.rundir import RunDirectory
from records.schemas import UNKNOWN
from records.summary import EXIT_STATUS, Summary
from records.units import NS_PER_S

Progress = Callable[[str], None]
ANALYSING = "analysing"
CANNOT_ANALYSE = 2  # exit status
NO_LATENCY = "no latency was measured."
GRAVEST_FIRST = (CANNOT_ANALYSE, *(EXIT_STATUS[word] for word in ("interrupted", "invalid", "fail", "unknown", "pass")))
ODD = (
    "failed",
    "lost",
    "unaccounted",
    "missed_away",
    "stranded",
    "dead_lettered",
    "expired",
    "unselected",
    "duplicated",
    "recovered",
    "reordered",
    "corrupted",
    "unexpected",
    "refused_yet_received",
    "expired_yet_received",
    "unselected_yet_received",
)


def analyse(run: Path, master: str | None = None, *, progress: Progress = print) -> Summary:
    """Seal a run if need be, compute its results, write them with summary.json, and return the summary.

    RunUnreadable: there is no such run, it has no events, or a file is damaged. RunUnwritable: the results cannot be
    stored. SparkUnavailable: Spark does not start. Analysing again replaces what was there.
    """
    directory = RunDirectory.open(run)
    with alone_in(directory.path, ANALYSING):
        try:
            return _analysed(directory, master, progress)
        except (RunUnreadable, RunUnwritable, SparkUnavailable):
            raise
        except Exception:
            require_readable(directory)  # Spark's own words for a damaged file are two hundred lines
            raise


def _analysed(directory: RunDirectory, master: str | None, progress: Progress) -> Summary:
    info = directory.read_run()
    with _step(progress, "sealed the events"):
        require_events(directory)  # a run that is refused stays as it is
        require_listed_events(directory)
        seal(directory)
        sealing = inspect(directory)
    if not any(directory.path.glob("streams/*/*")):  # nobody writes events any more
        directory.remove_unfinished()
    read = digests(directory.path, read_files(directory))
    with _session(master, sealing, progress) as spark:
        frames = Frames(spark, directory, info)
        results, found = _compute(frames, sealing, progress)
    with _step(progress, "wrote the results"):
        summary = summarise(info, found)
        write_results(directory, results)
        write_summary(directory, summary)
        list_analysed(directory, read)
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
    spans, clock_error_ns = fault_spans(faults), error_bound_ns(info.processes)
    try:
        with ThreadPoolExecutor(1) as aside:  # planning a query takes one core: the few rows of brokers take another
            of_brokers = aside.submit(_of_brokers, frames, timeline, progress)
            held = aside.submit(lambda: _row(blocked(frames.connections)))
            moved = aside.submit(_rebalance, frames, spans, timeline, progress)
            mirrored = aside.submit(frames.samples.where(F.col("metric").isin(*OF_MIRRORS)).toArrow)
            cores = aside.submit(lambda: cores_in_load(frames.samples, timeline).collect())
            results, unsearched = _of_messages(frames, timeline, clock_error_ns, progress)
            with _step(progress, "added up the run"):
                load = _row(totals(frames.messages, frames.deliveries, timeline))
            with _step(progress, "found the first receipt of each destination"):
                firsts = first_receipts(frames.messages, frames.deliveries).toArrow().to_pylist()
            by_broker = _refused(frames, results["accounting"], progress)
            left = _left_behind(frames, sealing.rows["leftovers"], progress)
            with _step(progress, "divided the messages by consumer"):
                results["consumers"], shares = divided(received(frames.deliveries, frames.subscriptions).toArrow())
            results |= of_brokers.result()
            of_stays, balance = moved.result()
            recovered = _recovery(frames, spans, timeline, results, of_stays["stays"], progress)
            with _step(progress, "looked for outages that nobody planned"):
                unasked = _unplanned(frames, spans, timeline, results["rates"])
        found = Findings(
            outcomes=load.pop("outcomes").asDict(),
            accounting=results["accounting"],
            latency=results["latency"],
            rates=results["rates"],
            resources=results["resources"],
            by_consumer=results["consumers"],
            load=load,
            cores={row["metric"]: row.asDict() for row in cores.result()},
            blocked=held.result(),
            recovery=recovered,
            rebalance=balance,
            connection_counts=_connection_counts(frames, spans, timeline, results),
            consumers=shares,
            destinations=spread(firsts),
            mirror=mirror_lag(mirrored.result(), spans, timeline.load_began_ns),
            kinds=kinds(results["accounting"], _subscriptions(frames.directory), info.users),
            unplanned=unasked,
            refused=by_broker,
            left_behind=left,
            leftovers=sealing.rows["leftovers"],
            foreign_leftovers=_foreign(frames.directory),
            load_s=timeline.load_s,
            clock_error_ns=clock_error_ns,
            problems=(*sealing.problems, *missing_rows(frames.directory, info.processes)),
            failed_faults=_failed(faults),
            unsearched=unsearched,
            attempts=_attempts(frames),
            faults=spans,
        )
    finally:
        frames.release()
    return results | of_stays, found


def _of_messages(
    frames: Frames, timeline: Timeline, clock_error_ns: int, progress: Progress
) -> tuple[dict[str, pa.Table], tuple[str, ...]]:
    """Results about messages, and why some are unaccounted for. The first step also reads the events that the later
    ones share."""
    of = frames
    results = {}
    with _step(progress, "timed the messages"):
        replies = [destination for user in of.info.users for destination in user.replies_to]
        took = durations(of.sends, of.messages, of.deliveries, of.stalls, replies)
        timed = latency(took, timeline, clock_error_ns)
        results["latency"] = timed.toArrow()
        results["paths"] = paths(results["latency"])
    with _step(progress, "accounted for the messages"):
        counted = accounting(of.expected, of.outcomes, of.marked, of.out_of_order, of.strangers)
        results["accounting"], doubts = _with_expired(of, counted.toArrow())
    with _step(progress, "looked up the odd ones"):
        strange = (of.marked, of.out_of_order, of.strangers)
        odd = anomalies(of.outcomes, *strange, timeline, all_expired=_all_expired(results))
        results["anomalies"] = odd.toArrow() if _any_odd(results["accounting"]) else ANOMALIES.empty_table()
        none_overtaken = not any(results["accounting"]["reordered"].to_pylist())
        results["reordered"] = REORDERED.empty_table() if none_overtaken else reordered(of.out_of_order).toArrow()
    with _step(progress, "counted the rates"):
        results["rates"] = rates(of.sends, of.messages, of.deliveries, of.strangers, timeline).toArrow()
    return results, doubts


def _refused(of: Frames, accounting: pa.Table, progress: Progress) -> dict[str, int]:
    """Refused messages by broker; looked for only if any failed."""
    if not any(accounting["failed"].to_pylist()):
        return {}
    with _step(progress, "found which brokers refused messages"):
        return {row["broker"]: row["messages"] for row in refused(of.sends, of.messages).collect()}


def _left_behind(of: Frames, leftovers: int, progress: Progress) -> list[LeftBehind]:
    """Where messages of this run were found after the drain; looked for only if there were ``leftovers``."""
    if not leftovers:
        return []
    with _step(progress, "found where messages were left behind"):
        rows = left_behind(of.leftovers, of.outcomes, of.messages).collect()
    return [cast(LeftBehind, row.asDict()) for row in rows]


def _with_expired(of: Frames, accounting: pa.Table) -> tuple[pa.Table, tuple[str, ...]]:
    """The accounting once it is decided which missing messages expired, and what nobody knows."""
    if not any(any(accounting[name].to_pylist()) for name in BETWEEN):
        return accounting, ()
    counts = expired_counts(of.samples, fresh=of.info.runtime != "external").collect()
    by_queue = {row["queue"]: row["expired"] for row in counts}
    return settled(accounting, by_queue, searched=not of.info.unsearched)


def _of_brokers(frames: Frames, timeline: Timeline, progress: Progress) -> dict[str, pa.Table]:
    """Results about connections and samples."""
    with _step(progress, "followed connections, bridges and resources"):
        return {
            "connections": connections(frames.connections, timeline).toArrow(),
            "links": links(frames.samples).toArrow(),
            "link_backlog": link_backlog(frames.samples, timeline).toArrow(),
            "resources": resources(frames.samples, timeline).toArrow(),
        }


def _recovery(
    of: Frames,
    faults: Sequence[FaultSpan],
    timeline: Timeline,
    results: dict[str, pa.Table],
    stays: pa.Table,
    progress: Progress,
) -> Recovery:
    """The summary's recovery; adds the result table ``outages``."""
    began_ns = timeline.load_began_ns
    results["outages"], harmed, left = OUTAGES.empty_table(), {}, {}
    if faults:
        with _step(progress, "followed the clients through the faults"):
            events = (of.connections, of.sends, of.receipts, of.subscriptions, of.members)
            cut_off = outages(*events, faults, began_ns)
            known = (of.messages, of.deliveries, of.outcomes, of.subscriptions)
            results["outages"] = with_due(cut_off, *known, began_ns, of.expectations).toArrow()
            strange = (of.outcomes, of.deliveries, of.out_of_order)
            harmed = _row(harm(*strange, faults, all_expired=_all_expired(results)))
            if any(harmed[f"stranded_{fault.number}"] for fault in faults):
                left = by_fault([row.asDict() for row in stranded(of.outcomes, faults).collect()])
    load_s = (_load_ended_ns(of, timeline) - began_ns) / NS_PER_S if faults else 0.0
    recovered = back(results["rates"], results["latency"], faults, began_ns, load_s)
    copies = copies_of_each(results["accounting"], results["rates"])
    piled_up = backlogs(results["rates"], faults, began_ns, copies)
    of_messages = Harm(harmed, late(results["latency"], faults, began_ns), left)
    return recovery(results["outages"], faults, Course(of_messages, recovered, piled_up), stays, began_ns)


def _rebalance(
    of: Frames, faults: Sequence[FaultSpan], timeline: Timeline, progress: Progress
) -> tuple[dict[str, pa.Table], Rebalance]:
    """The tables ``stays`` and ``distribution``, and the summary's rebalance."""
    with _step(progress, "followed the clients from broker to broker"):
        began_ns, ended_ns = timeline.load_began_ns, _load_ended_ns(of, timeline)
        found = stays(of.connections, of.members, began_ns, ended_ns).toArrow()
        counts = {row["group"]: row["clients"] for row in clients(of.connections, of.members).collect()}
        balance = rebalance(
            found, counts, faults, Places(of.info.brokers, of.info.groups), began_ns, ended_ns - began_ns
        )
    return {"stays": found, "distribution": distribution(found, counts, ended_ns - began_ns)}, balance


def _connection_counts(
    of: Frames, faults: Sequence[FaultSpan], timeline: Timeline, results: Mapping[str, pa.Table]
) -> ConnectionCounts:
    """Nothing is compared where each message has a connection: brokers are asked once a second."""
    if read_events(of.directory, "members")["connection"].null_count:
        return ConnectionCounts(compared=0, differed=0, brokers=[])
    seconds = (_load_ended_ns(of, timeline) - timeline.load_began_ns) // NS_PER_S
    logins = harness_logins(faults, timeline.load_began_ns)
    return connection_counts(results["connections"], results["resources"], seconds, logins)


def _attempts(of: Frames) -> list[dict[str, Any]]:
    """When clients tried to connect, were connected and no longer were; none if their number did not change."""
    if not of.info.client_steps:
        return []
    found = of.connections.where(F.col("event").isin(*OF_ATTEMPTS)).select(*ATTEMPT_COLUMNS).toArrow()
    rows: list[dict[str, Any]] = found.to_pylist()
    return rows


def _unplanned(of: Frames, faults: Sequence[FaultSpan], timeline: Timeline, rates: pa.Table) -> list[Unplanned]:
    """None of a run that was killed: nothing says which faults were going on, nor when its brokers went down."""
    if timeline.load_ended_ns is None:
        return []
    stalls: dict[int, list[Span]] = {}
    for row in stall_rows(of.directory, of.info):
        stalls.setdefault(row["process"], []).append(Span(row["began_ns"], row["ended_ns"]))
    transacted = any("transaction_size" in user.settings for user in of.info.users)
    load = Span(timeline.load_began_ns, timeline.load_ended_ns)
    events = (of.sends, of.deliveries, of.connections, of.members)
    return unplanned(rates, *events, faults, list(stalls.values()), load, transacted=transacted)


def _subscriptions(directory: RunDirectory) -> list[dict[str, Any]]:
    held: list[dict[str, Any]] = read_events(directory, "subscriptions").to_pylist()
    return held


def _all_expired(results: Mapping[str, pa.Table]) -> bool:
    """Whether no message is lost, or may be: then all that is nowhere, and past its time to live, has expired."""
    return not any(any(results["accounting"][name].to_pylist()) for name in ("lost", "unaccounted"))


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


def _load_ended_ns(frames: Frames, timeline: Timeline) -> int:
    """Of a run that was killed under load: the last send or change of a connection."""
    if timeline.load_ended_ns is not None:
        return timeline.load_ended_ns
    latest = (frames.sends.agg(F.max("sent_ns").alias("at_ns")), frames.connections.agg(F.max("at_ns").alias("at_ns")))
    last_ns = _row(latest[0].unionByName(latest[1]).agg(F.max("at_ns").alias("last_ns")))["last_ns"]
    return max(timeline.load_began_ns, last_ns or 0)


def _foreign(directory: RunDirectory) -> int:
    """Messages on queues that are not of this run: others may use the same broker, and its dead-letter queue."""
    producers = read_events(directory, "leftovers")["producer"]
    return int(pc.sum(pc.equal(producers, UNKNOWN)).as_py() or 0)


def _windows(faults: list[dict[str, object]]) -> Iterator[FaultWindow]:
    """Until the broker served again where that was measured, else until the mending."""
    return (
        FaultWindow(fault["began_ns"], fault["ended_ns"] if fault["restored_ns"] is None else fault["restored_ns"])  # type: ignore[arg-type]
        for fault in faults
        if fault["error"] is None
    )


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
    """Analyse the runs that are named; returns the exit status."""
    parser = argparse.ArgumentParser(prog="analysis/jobs.py", description="Analyse the events of runs.")
    parser.add_argument("runs", type=Path, nargs="+", help="folders of runs, such as runs/<run id>")
    parser.add_argument("--master", help="Spark master URL (default: what spark-submit was given, else local[*])")
    options = parser.parse_args(arguments)
    try:
        if len(options.runs) == 1:
            return _told(options.runs[0], options.master, _tell)
        return _in_one_session(options.runs, options.master)
    except SparkUnavailable as error:
        print(f"error: {error}", file=sys.stderr)
        return CANNOT_ANALYSE


def _in_one_session(runs: Sequence[Path], master: str | None) -> int:
    """Analyse runs one after the other, each under its name; one that cannot be analysed does not stop the others."""
    statuses = []
    began_s = time.monotonic()
    with session(master, rows=max(map(_rows, runs))):
        _tell(_line("started Spark", began_s))
        for number, run in enumerate(runs, start=1):
            _tell(f"analysis: run {number} of {len(runs)}: {run.name}")
            statuses.append(_told(run, master, lambda _line: None))
    return min(statuses, key=GRAVEST_FIRST.index)


def _rows(run: Path) -> int:
    """How many events a run has; 0 for one that cannot be read, as its analysis will say."""
    try:
        directory = RunDirectory.open(run)
        with alone_in(directory.path, ANALYSING):
            require_events(directory)
            return sum(seal(directory).rows.values())
    except (RunUnreadable, RunUnwritable):
        return 0


def _told(run: Path, master: str | None, progress: Progress) -> int:
    """Analyse one run and print its verdict or what is wrong with it; returns the exit status."""
    try:
        summary = analyse(run, master, progress=progress)
    except (RunUnreadable, RunUnwritable) as error:
        print(f"error: {error}", file=sys.stderr)
        return CANNOT_ANALYSE
    _tell(f"verdict: {summary['verdict']}")
    for reason in summary["reasons"]:
        _tell(f"  - {reason}")
    if summary["offered_rate"]["note"]:
        _tell(f"rate: {summary['offered_rate']['note']}")
    timing = summary["timing"]
    _tell(f"timing: {timing['note'] or ('every latency figure is sound.' if timing['sound'] else NO_LATENCY)}")
    return EXIT_STATUS[summary["verdict"]]


def _tell(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
