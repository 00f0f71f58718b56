"""The run topic: the verdict, and the summary's sections about the whole run."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import cast

import pyarrow.compute as pc
import pyarrow.parquet as pq

from analysis.events import recorded
from analysis.events.run import MergedTables, RowsOfPart, Run, TopicResults
from analysis.latency import figures
from analysis.latency.timing import Clocks, doubtful_labels, doubtful_recovery, doubtful_regions, judge_timing
from analysis.run.aborts import aborted
from analysis.run.checks import evaluate, unmet
from analysis.run.verdict import Evidence, FailedFault, judge
from records.figures.summary import SUMMARY_VERSION, Summary
from records.run import Phases, ProcessInfo
from records.store.reader import event_files, open_below, read_files
from records.store.rundir import RunDirectory
from records.store.seal import NotAsSealed, Seal, read_seal
from records.tables.schemas import EVENT_TABLES
from records.units import NS_PER_MS, NS_PER_S


class RunTopic:
    """No tables. Summary: the remaining sections; timing, checks and verdict are last. Requires all other topics."""

    step = "judged the run"

    def tables(self, run: Run) -> dict[str, RowsOfPart]:
        return recorded.tables()

    def conclude(self, run: Run, merged: MergedTables, results: TopicResults) -> None:
        info = run.info
        results.summary |= {
            "summary_version": SUMMARY_VERSION,
            "run_id": info.run_id,
            "scenario": info.scenario,
            "topology": info.topology,
            "runtime": info.runtime,
            "protocol": info.protocol,
            "timing": _timing(run, results),
            "clocks": {"error_bound_ms": run.clock_error_ns / NS_PER_MS},
            "phases": {**phases_s(info.phases), **info.durations_s},
            "wall": load_began_wall(info.phases, info.processes),
            "verdict": "",
            "reasons": [],
            "checks": [],
            "aborted": [],
        }
        summary = summary_of(results.summary)
        summary["checks"] = evaluate(info.checks, summary, searched=not (info.unsearched or info.unread))
        summary["aborted"] = aborted(info.aborts, summary)
        changed = recorded.problems(merged["left_out"], merged["repeated_sends"])
        verdict = judge(_evidence(run, results, summary, changed))
        results.summary |= {
            "checks": summary["checks"],
            "aborted": summary["aborted"],
            "verdict": verdict.verdict,
            "reasons": list(verdict.reasons),
        }


def summary_of(parts: Mapping[str, object]) -> Summary:
    """Return the complete summary in declaration order. Raises KeyError if a section is missing."""
    return cast(Summary, {name: parts[name] for name in Summary.__annotations__})


def _timing(run: Run, results: TopicResults) -> object:
    clocks = Clocks(run.clock_error_ns / NS_PER_MS, results.impossible, run.info.clock_doubts)
    timing = judge_timing(
        results.summary["latency_ms"], figures.less_own_ms(results.latency_in_load), clocks, results.doubts
    )
    timing["doubtful"] |= doubtful_labels(results.latency_of_labels, clocks, results.doubts)
    if cause := results.backlog_cause:
        recovery = results.summary["recovery"]
        timing["doubtful"] |= doubtful_recovery(recovery, cause) if recovery["faults"] else {}
        timing["doubtful"] |= doubtful_regions(results.summary["regions"], cause)
    return timing


def _evidence(run: Run, results: TopicResults, summary: Summary, changed: Sequence[str]) -> Evidence:
    """Collect the input for the verdict. ``changed``: sentences about changed event rows."""
    info = run.info
    unmet_premises = unmet(info.premises, summary, searched=not (info.unsearched or info.unread))
    problems = (
        *info.problems,
        *run.sealing.problems,
        *changed,
        *missing_rows(run.directory, info.processes),
        *(() if info.aborts else unmet_premises),
        *results.ended_early,
    )
    unaccounted, unsearched = summary["messages"]["unaccounted"], (*info.unsearched, *info.unread.values())
    return Evidence(
        state=info.state,
        problems=tuple(dict.fromkeys(problems)),
        unknowns=(
            *run.sealing.unknowns,
            *(text for text in info.unknowns if text not in unsearched or not unaccounted),
            *results.unexplained,
            *(unmet_premises if info.aborts else ()),  # the load ended before they could be met
        ),
        aborts=info.aborts,
        aborted=summary["aborted"],
        unsearched=(*unsearched, *results.unsearched),
        foreign=results.foreign,
        messages=summary["messages"],
        lag=summary["lag_ms"],
        due_per_s=summary["throughput"]["due_per_s"],
        closed=info.is_closed,
        checks=summary["checks"],
        doubtful=summary["timing"]["doubtful"],
        unsent_leftovers=summary["unsent_leftovers"],
        failed_faults=tuple(
            FailedFault(str(fault["kind"]), str(fault["target"]), str(fault["error"]))
            for fault in run.fault_rows
            if fault["error"] is not None
        ),
    )


def phases_s(phases: Phases) -> dict[str, float]:
    """Return the lengths in seconds of the completed phases."""
    ends_ns = {
        "warm_up": (phases.warm_up_began_ns, phases.load_began_ns),
        "load": (phases.load_began_ns, phases.load_ended_ns),
        "drain": (phases.load_ended_ns, phases.drain_ended_ns),
        "browse": (phases.drain_ended_ns, phases.browse_ended_ns),
    }
    return {
        name: (ended - began) / NS_PER_S
        for name, (began, ended) in ends_ns.items()
        if began is not None and ended is not None
    }


def load_began_wall(phases: Phases, processes: tuple[ProcessInfo, ...]) -> str:
    """Return the start of the load in ISO 8601 UTC, from the master's reading of both clocks; '' if it never began."""
    if phases.load_began_ns is None or not processes:
        return ""
    master = min(processes, key=lambda process: process.index)
    wall_ns = master.wall_ns + phases.load_began_ns - master.monotonic_ns
    return datetime.fromtimestamp(wall_ns / NS_PER_S, UTC).isoformat(timespec="milliseconds")


def missing_rows(directory: RunDirectory, processes: Sequence[ProcessInfo]) -> tuple[str, ...]:
    """Return a sentence for each process and table whose rows differ from the process's count. For a sealed run."""
    try:
        sealed = read_seal(directory)
    except NotAsSealed:
        sealed = None
    files = event_files(directory)
    return tuple(
        problem
        for process in processes
        for problem in (*_miscounted(directory, files, process), *_not_sealed(sealed, process))
    )


def _miscounted(directory: RunDirectory, files: Mapping[str, Sequence[str]], process: ProcessInfo) -> Iterator[str]:
    """Compare the recorded rows with a process's counts. Sends that are unsettled at the end have a row too."""
    on_record = {
        table: _messages(directory, files, table, process.name)
        for table, counted in (("sends", (process.settled, process.begun)), ("receipts", (process.received,)))
        if any(count is not None for count in counted)
    }
    next_step = "bring its file back from a copy, or run again"
    for table, noun, least in (
        ("sends", "settled sends", process.settled),
        ("receipts", "deliveries", process.received),
    ):
        if least and on_record[table] < least:
            yield (
                f"events/{table}: rows are missing: {process.name} counted {least:,} {noun}, and "
                f"{on_record[table]:,} are on record; {next_step}"
            )
    for table, noun, most in (("sends", "sends", process.begun), ("receipts", "deliveries", process.received)):
        if most is not None and on_record[table] > most:
            yield (
                f"events/{table}: rows were added: {process.name} counted {most:,} {noun}, and "
                f"{on_record[table]:,} are on record; {next_step}"
            )


def _not_sealed(sealed: Seal | None, process: ProcessInfo) -> Iterator[str]:
    """Find streams that were changed or removed before the events were sealed. Messages are checked separately."""
    if sealed is None or not process.rows:
        return
    for table in EVENT_TABLES:
        expected, file = process.rows.get(table, 0), sealed.files.get(f"{table}/{process.name}.parquet")
        on_record = file.rows if file else 0
        if table not in ("sends", "receipts") and on_record != expected:
            problem = "rows are missing" if on_record < expected else "rows were added"
            yield (
                f"events/{table}: {problem}: {process.name} recorded {expected:,} rows, and {on_record:,} were sealed; "
                "bring the folder back from a copy, or run again"
            )


def _messages(directory: RunDirectory, files: Mapping[str, Sequence[str]], table: str, process: str) -> int:
    """Count deliveries or sent messages. A sent message has one row for attempt 1, and a row for each resend."""
    name = f"{table}/{process}.parquet"
    if name not in files[table]:
        return 0
    if table == "receipts":
        return int(pq.read_metadata(directory.events_path / name).num_rows)
    attempts = read_files(partial(open_below, directory.events_path), [name], table, ["attempt"]).rows["attempt"]
    return int(pc.sum(pc.equal(attempts, 1)).as_py() or 0)
