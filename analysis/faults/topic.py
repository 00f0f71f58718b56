"""The faults topic: effects of faults on clients and messages, and unplanned outages."""

from collections.abc import Mapping, Sequence
from functools import partial

import polars as pl
import pyarrow as pa

from analysis.events.run import MergedTables, RowsOfPart, Run, TopicResults, as_table
from analysis.faults import harm, outages, survival, unplanned
from analysis.faults.disturbance import back, backlogs
from analysis.faults.recovery import AfterFault, FaultMessageCounts, recovery
from analysis.faults.survival import Survival
from analysis.faults.unplanned import Quiet, Span
from analysis.latency.histogram import from_due
from analysis.messages.part import Part
from records.figures.faults import Recovery, Unplanned
from records.run import PRODUCER
from records.tables.results import OUTAGES, SURVIVAL
from records.units import NS_PER_S


class FaultsTopic:
    """Tables: outages, survival. Summary: recovery, unplanned. Requires the table rates."""

    step = "followed the clients through the faults"

    def tables(self, run: Run) -> dict[str, RowsOfPart]:
        if not run.faults:
            return {}
        cut_off = outages.cut_off(run.connections, run.members, run.faults)
        return {
            "harm": _harm,
            "stranded": _stranded,
            "sequences": _sequences,
            "survival": _survival,
            "successes": partial(_successes, cut_off=cut_off),
            "senders": partial(_senders, users=cut_off["user"].unique()),
        }

    def conclude(self, run: Run, merged: MergedTables, results: TopicResults) -> None:
        late: Mapping[int, int | None] = {}
        results.tables["outages"] = OUTAGES.empty_table()
        if run.faults:
            results.tables["outages"], late = _of_faults(run, merged, results)
        results.tables["survival"] = _survival_table(merged) if run.faults else SURVIVAL.empty_table()
        results.summary["recovery"] = _recovery(run, merged, results, late)
        results.summary["unplanned"] = _unplanned(run, results)


def _of_faults(run: Run, merged: MergedTables, results: TopicResults) -> tuple[pa.Table, dict[int, int | None]]:
    """Return the outages, and the number of late messages by fault number, None if no limit is known.

    Both need a second pass over the events, with limits from the first pass.
    """
    limits = harm.late_limits(results.p99_ns, run.faults, run.load_began_ns)
    asked: dict[str, RowsOfPart] = {"late": partial(_late, limits=limits)} if limits else {}
    cut_off = outages.cut_off(run.connections, run.members, run.faults)
    roles = outages.roles(merged["senders"], run.subscriptions)
    incomplete = outages.outages(cut_off, merged["successes"], roles, run.load_began_ns)
    if incomplete.height:
        asked |= {"due": partial(_due, of_users=incomplete), "owed": partial(_owed, of_users=incomplete)}
    found = run.compute("faults: outages and late messages", asked) if asked else {}
    late: dict[int, int | None] = dict.fromkeys(fault.number for fault in run.faults)
    if limits:
        late |= dict(found["late"].select("fault", "late").iter_rows())
    if incomplete.is_empty():
        return OUTAGES.empty_table(), late
    return as_table(outages.with_due(incomplete, found["due"], found["owed"])), late


def _late(part: Part, limits: Sequence[harm.LateFrom]) -> pl.DataFrame:
    second = part.run.timeline.second_of(pl.col("due_ns"))
    return harm.late(from_due(part.deliveries, part.run.stalls), second, limits)


def _recovery(run: Run, merged: MergedTables, results: TopicResults, late: Mapping[int, int | None]) -> Recovery:
    faults, began_ns, tables = run.faults, run.load_began_ns, results.tables
    of_messages, stranded_by_fault, survived = {}, {}, dict[int, Survival]()
    if faults:
        reordered = harm.reordered(results.late)
        for row in merged["harm"].to_dicts():
            row["lost"] += row[harm.PAST_TTL] if results.summary["messages"]["lost"] else 0
            of_messages[row["fault"]] = {**row, "reordered": reordered.get(row["fault"], 0)}
        stranded_by_fault = harm.by_fault(merged["stranded"])
        survived = survival.survivals(merged["sequences"], faults)
    load_s = (run.load_ended_ns - began_ns) / NS_PER_S if faults else 0.0
    course = AfterFault(
        FaultMessageCounts(
            of_messages,
            late,
            stranded_by_fault,
            survived,
        ),
        back(tables["rates"], results.p99_ns, faults, began_ns, load_s),
        backlogs(tables["rates"], faults, began_ns, results.copies),
    )
    return recovery(tables["outages"], faults, course, results.clients_at_faults, began_ns)


def _unplanned(run: Run, results: TopicResults) -> list[Unplanned]:
    """Return unplanned outages. Empty for a killed run, whose active faults and broker stop times are unknown."""
    if run.timeline.load_ended_ns is None:
        return []
    load = Span(run.load_began_ns, run.timeline.load_ended_ns)
    return unplanned.unplanned(_silences(run, results, load), run.connections, run.members, run.faults, load)


def _silences(run: Run, results: TopicResults, load: Span) -> list[unplanned.Silence]:
    """Return silences. Empty if messages wait for the commit of their transaction: silence then shows nothing."""
    if any("transaction_size" in user.settings for user in run.info.users):
        return []
    stalls: dict[int, list[Span]] = {}
    for row in run.stall_rows:
        stalls.setdefault(row["process"], []).append(Span(row["began_ns"], row["ended_ns"]))
    rates, brokers = results.tables["rates"], run.info.enter_at(PRODUCER)
    quiet = unplanned.quiet_times(rates, run.faults, list(stalls.values()), load, brokers)
    if not quiet:
        return []
    bounds = run.compute("faults: ends of quiet times", {"bounds": partial(_bounds, quiet=quiet)})["bounds"]
    exactly = unplanned.refine_bounds(quiet, bounds)
    of_clients = run.compute(
        "faults: clients in quiet times",
        {"waiting": partial(_waiting, quiet=exactly), "undelivered": partial(_undelivered, quiet=exactly)},
    )
    to_the_end = unplanned.waiting_to_the_end(
        exactly, of_clients["undelivered"], run.connections, run.members, run.subscriptions
    )
    return unplanned.silences(exactly, pl.concat([of_clients["waiting"], to_the_end]))


def _harm(part: Part) -> pl.DataFrame:
    return harm.harm(part.outcomes, part.deliveries, part.run.faults)


def _at_risk(part: Part) -> pl.DataFrame:
    return survival.at_risk(part.expected, part.firsts, part.outcomes, part.run.faults)


def _sequences(part: Part) -> pl.DataFrame:
    return survival.by_sequence(part.compute_once(_at_risk))


def _survival(part: Part) -> pl.DataFrame:
    return survival.by_second(part.compute_once(_at_risk), part.run.timeline.second_of(pl.col("acked_ns")))


def _survival_table(merged: MergedTables) -> pa.Table:
    return as_table(merged["survival"].sort("fault", "second"))


def _stranded(part: Part) -> pl.DataFrame:
    return harm.stranded(part.outcomes, part.run.faults)


def _successes(part: Part, cut_off: pl.DataFrame) -> pl.DataFrame:
    return outages.successes(cut_off, part.sends, part.receipts)


def _senders(part: Part, users: pl.Series) -> pl.DataFrame:
    return part.sends.select(pl.col("producer").unique().alias("user")).filter(pl.col("user").is_in(users.implode()))


def _due(part: Part, of_users: pl.DataFrame) -> pl.DataFrame:
    return outages.due(of_users, part.messages, part.deliveries, part.run.timeline.load_began_ns)


def _owed(part: Part, of_users: pl.DataFrame) -> pl.DataFrame:
    facts = part.run
    return outages.count_owed_messages(
        of_users, part.outcomes, facts.subscriptions, facts.timeline.load_began_ns, facts.expectations
    )


def _bounds(part: Part, quiet: list[Quiet]) -> pl.DataFrame:
    return unplanned.bounds(quiet, part.sends, part.deliveries)


def _undelivered(part: Part, quiet: list[Quiet]) -> pl.DataFrame:
    return unplanned.undelivered(quiet, part.outcomes)


def _waiting(part: Part, quiet: list[Quiet]) -> pl.DataFrame:
    return unplanned.waiting(quiet, part.sends, part.deliveries)
