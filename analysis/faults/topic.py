"""What faults did to clients and messages, and outages that nobody planned."""

from functools import partial

import polars as pl
import pyarrow as pa

from analysis.events.questions import Answers, Question, counts, same
from analysis.events.run import Results, Run, as_table
from analysis.faults import harm, outages, survival, unplanned
from analysis.faults.disturbance import back, backlogs
from analysis.faults.recovery import Course, Harm, recovery
from analysis.faults.survival import Survival
from analysis.faults.unplanned import Quiet, Span
from analysis.messages.part import Part
from records.faults import Recovery, Unplanned
from records.results import OUTAGES, SURVIVAL
from records.run import PRODUCER
from records.units import NS_PER_S


class Faults:
    """Tables: outages, survival. Summary: recovery and unplanned. It takes the tables rates, latency and stays."""

    step = "followed the clients through the faults"

    def questions(self, run: Run) -> dict[str, Question]:
        if not run.faults:
            return {}
        cut_off = outages.cut_off(run.connections, run.members, run.faults)
        return {
            "harm": counts(_harm, "fault"),
            "stranded": Question(_stranded, harm.added_up),
            "sequences": Question(_sequences, survival.sequences),
            "survival": counts(_survival, "fault", "second"),
            "successes": Question(partial(_successes, cut_off=cut_off), outages.all_successes),
            "senders": Question(partial(_senders, users=cut_off["user"].unique()), pl.DataFrame.unique),
        }

    def conclude(self, run: Run, answers: Answers, results: Results) -> None:
        results.tables["outages"] = _outages(run, answers) if run.faults else OUTAGES.empty_table()
        results.tables["survival"] = _survival_table(answers) if run.faults else SURVIVAL.empty_table()
        results.summary["recovery"] = _recovery(run, answers, results)
        results.summary["unplanned"] = _unplanned(run, results)


def _outages(run: Run, answers: Answers) -> pa.Table:
    began_ns = run.load_began_ns
    cut_off = outages.cut_off(run.connections, run.members, run.faults)
    if cut_off.is_empty():
        return OUTAGES.empty_table()
    roles = outages.roles(answers["senders"], run.subscriptions)
    incomplete = outages.outages(cut_off, answers["successes"], roles, began_ns)
    answered = run.ask(
        {
            "due": counts(partial(_due, of_users=incomplete), *outages.CUT),
            "owed": counts(partial(_owed, of_users=incomplete), *outages.CUT),
        }
    )
    return as_table(outages.with_due(incomplete, answered["due"], answered["owed"]))


def _recovery(run: Run, answers: Answers, results: Results) -> Recovery:
    faults, began_ns, tables = run.faults, run.load_began_ns, results.tables
    of_messages, stranded_by_fault, survived = {}, {}, dict[int, Survival]()
    if faults:
        reordered = harm.reordered(results.late, faults) if results.late.height else {}
        for row in answers["harm"].to_dicts():
            row["lost"] += 0 if results.all_expired else row[harm.PAST_TTL]
            of_messages[row["fault"]] = {**row, "reordered": reordered.get(row["fault"], 0)}
        stranded_by_fault = harm.by_fault(answers["stranded"])
        survived = survival.survivals(answers["sequences"], faults)
    load_s = (run.load_ended_ns - began_ns) / NS_PER_S if faults else 0.0
    course = Course(
        Harm(of_messages, harm.late(results.latency_by_second, faults, began_ns), stranded_by_fault, survived),
        back(tables["rates"], results.latency_by_second, faults, began_ns, load_s),
        backlogs(tables["rates"], faults, began_ns, results.copies),
    )
    return recovery(tables["outages"], faults, course, tables["stays"], began_ns)


def _unplanned(run: Run, results: Results) -> list[Unplanned]:
    """None of a run that was killed: nothing says which faults were going on, nor when its brokers went down."""
    if run.timeline.load_ended_ns is None:
        return []
    load = Span(run.load_began_ns, run.timeline.load_ended_ns)
    return unplanned.unplanned(_silences(run, results, load), run.connections, run.members, run.faults, load)


def _silences(run: Run, results: Results, load: Span) -> list[unplanned.Silence]:
    """None where messages wait for the commit of their transaction: silence is no sign of anything then."""
    if any("transaction_size" in user.settings for user in run.info.users):
        return []
    stalls: dict[int, list[Span]] = {}
    for row in run.stall_rows:
        stalls.setdefault(row["process"], []).append(Span(row["began_ns"], row["ended_ns"]))
    rates, brokers = results.tables["rates"], run.info.enter_at(PRODUCER)
    quiet = unplanned.quiet_times(rates, run.faults, list(stalls.values()), load, brokers)
    if not quiet:
        return []
    bounds = run.ask({"bounds": Question(partial(_bounds, quiet=quiet), unplanned.all_bounds)})["bounds"]
    exactly = unplanned.to_the_nanosecond(quiet, bounds)
    asked = run.ask(
        {
            "waiting": Question(partial(_waiting, quiet=exactly), same),
            "undelivered": Question(partial(_undelivered, quiet=exactly), pl.DataFrame.unique),
        }
    )
    to_the_end = unplanned.waiting_to_the_end(
        exactly, asked["undelivered"], run.connections, run.members, run.subscriptions
    )
    return unplanned.silences(exactly, pl.concat([asked["waiting"], to_the_end]))


def _harm(part: Part) -> pl.DataFrame:
    return harm.harm(part.outcomes, part.deliveries, part.run.faults)


def _at_risk(part: Part) -> pl.DataFrame:
    return survival.at_risk(part.expected, part.firsts, part.outcomes, part.run.faults)


def _sequences(part: Part) -> pl.DataFrame:
    return survival.by_sequence(part.once(_at_risk))


def _survival(part: Part) -> pl.DataFrame:
    return survival.by_second(part.once(_at_risk), part.run.timeline.second_of(pl.col("acked_ns")))


def _survival_table(answers: Answers) -> pa.Table:
    return as_table(answers["survival"].sort("fault", "second"))


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
    return outages.owed(of_users, part.outcomes, facts.subscriptions, facts.timeline.load_began_ns, facts.expectations)


def _bounds(part: Part, quiet: list[Quiet]) -> pl.DataFrame:
    return unplanned.bounds(quiet, part.sends, part.deliveries)


def _undelivered(part: Part, quiet: list[Quiet]) -> pl.DataFrame:
    return unplanned.undelivered(quiet, part.outcomes)


def _waiting(part: Part, quiet: list[Quiet]) -> pl.DataFrame:
    return unplanned.waiting(quiet, part.sends, part.deliveries)
