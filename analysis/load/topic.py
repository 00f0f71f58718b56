"""The load topic: the actual load, and whether it was the requested load."""

from collections.abc import Mapping, Sequence

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from analysis.events.run import MergedTables, RowsOfPart, Run, TopicResults, as_table
from analysis.latency.figures import lag_ms
from analysis.load import rates, unsent
from analysis.load.client_steps import COLUMNS, EVENTS, client_steps
from analysis.load.flow import Deliveries, deliveries_owed
from analysis.load.limits import limit
from analysis.load.offered_rate import OURS, Tables, offered_rate
from analysis.load.steps import Asked, held_per_s, step_results
from analysis.messages.accounting import count_owed
from analysis.messages.part import Part
from analysis.network.resources import cores_in_load
from records.figures.load import Blocked, Limit, StepResult, Throughput, WarmUpResult
from records.units import NS_PER_MS


class LoadTopic:
    """Table: rates. Summary: throughput, offered_rate, lag_ms, steps, limit, blocked, warm_up, connections.

    Sets for later topics: copies, the expected number of deliveries per message; doubts, why a measure shows the age of
    a backlog, and backlog_cause; ended_early, a sentence about each producer that ended early. Requires the tables
    accounting, latency, resources and consumers.
    """

    step = "measured the load"

    def tables(self, run: Run) -> dict[str, RowsOfPart]:
        return {
            "rates": _rates,
            "totals": _totals,
            "deliveries": _deliveries,
            "sent": _sent,
        }

    def conclude(self, run: Run, merged: MergedTables, results: TopicResults) -> None:
        info, tables, load_s = run.info, results.tables, run.timeline.load_s
        never_sent = unsent.unsent(info, run.members, merged["sent"])
        tables["rates"] = as_table(rates.with_unsent(merged["rates"], never_sent.by_second))
        of_load = dict(merged["totals"].iter_rows())
        of_load["due"] += sum(count for at_s, count in never_sent.by_second.items() if at_s >= 0)
        if info.is_closed:
            of_load |= {"due": None, "blocked_slots": None}
        results.copies = copies_of_each(tables["accounting"], int(merged["sent"]["sent"].sum()))
        results.ended_early = unsent.sentences(never_sent.ended_early)
        steps = step_results(Asked.of(info), tables["rates"], results.latency_by_second, load_s, results.copies)
        telling = Tables(
            tables["rates"],
            results.latency_by_second,
            tables["resources"],
            tables["consumers"],
            Deliveries.from_rows(merged["deliveries"].to_dicts()),
            never_sent,
        )
        of_lowest = limit(info, steps, tables["resources"], results.latency_by_second, tables["consumers"])
        judged = offered_rate(info, run.faults, load_s, results.copies, telling)
        results.doubts, results.backlog_cause = judged.doubts, judged.cause
        attempts = run.connections.filter(pl.col("event").is_in(EVENTS)).select(COLUMNS) if info.client_steps else None
        results.summary |= {
            "throughput": throughput(
                of_load, load_s, cores_in_load(run.samples, run.timeline), _held(steps, of_lowest)
            ),
            "offered_rate": judged.rate,
            "lag_ms": lag_ms(results.latency_in_load, of_load["blocked_slots"]),
            "steps": steps,
            "limit": of_lowest,
            "blocked": blocked(run.connections),
            "warm_up": WarmUpResult(
                end=info.warm_up.end, lasted_s=info.warm_up.lasted_s, at_most_s=info.warm_up.at_most_s
            ),
            "connections": client_steps(
                info,
                [] if attempts is None else attempts.to_dicts(),
                load_s,
                results.latency_by_second,
                tables["resources"],
            ),
        }


def copies_of_each(accounting: pa.Table, sent: int) -> float:
    """Return the expected number of deliveries per message: the number of subscriptions of its destination, on average.

    Queue messages that no consumer's selector matches should have no delivery. ``sent``: number of recorded messages.
    """
    wanted = count_owed(accounting) - int(pc.sum(accounting["unselected"]).as_py() or 0)
    return wanted / sent if sent else 1.0


def throughput(
    of_load: Mapping[str, int | None],
    load_s: float | None,
    cores: Mapping[str, Mapping[str, int | None]],
    held: float | None,
) -> Throughput:
    """Return the summary's section. Null if the load's length is unknown, CPU was not sampled or nothing was received.

    ``of_load``: from `analysis.load.rates.totals`; None for values that a closed load does not have. ``cores``: from
    `analysis.network.resources.cores_in_load`.
    """

    def per_s(event: str) -> float | None:
        count = of_load[event]
        return count / load_s if load_s and count is not None else None

    def ms_per_message(metric: str, processes: str) -> float | None:
        used_ns, received = cores.get(metric, {}).get(processes), of_load["received"]
        return used_ns / NS_PER_MS / received if used_ns is not None and received else None

    return Throughput(
        due_per_s=per_s("due"),
        sent_per_s=per_s("sent"),
        acked_per_s=per_s("acked"),
        received_per_s=per_s("received"),
        held_per_s=held,
        cpu_ms_per_message_brokers=ms_per_message("cpu_ns", "brokers_ns"),
        cpu_ms_per_message_generator=ms_per_message("cpu_ns", "generator_ns"),
        core_wait_ms_per_message_brokers=ms_per_message("core_wait_ns", "brokers_ns"),
        core_wait_ms_per_message_generator=ms_per_message("core_wait_ns", "generator_ns"),
    )


def _held(steps: Sequence[StepResult], of_lowest: Limit) -> float | None:
    """Return `held_per_s`; None if the machine or the load generator was the reason why brokers held no rate."""
    held = held_per_s(steps)
    return None if not held and of_lowest["limited_by"] in OURS else held


def _rates(part: Part) -> pl.DataFrame:
    facts = part.run
    counted = rates.rates(part.sends, part.messages, part.deliveries, part.strangers, facts.timeline)
    return counted.filter(pl.col("event") != "due") if facts.closed else counted


def _deliveries(part: Part) -> pl.DataFrame:
    return deliveries_owed(part.expected, part.outcomes, part.run.timeline)


def _sent(part: Part) -> pl.DataFrame:
    return unsent.sent_by_producer(part.messages)


def _totals(part: Part) -> pl.DataFrame:
    totals = rates.totals(part.messages, part.deliveries, part.run.timeline)
    return totals.unpivot(variable_name="event", value_name="count")


def periods(events: pl.DataFrame) -> pl.DataFrame:
    """Return one row per blocked period of a producer: broker, began_ns, took_ns."""
    ended_ns = pl.col("at_ns").shift(-1).over("client", "broker", "reason")
    # A period may begin at the same time as the previous one ended: sort ``unblocked`` first.
    return (
        events.filter(pl.col("event").is_in(["blocked", "unblocked"]))
        .sort("at_ns", "event", descending=[False, True])
        .with_columns(ended_ns.alias("ended_ns"))
        .filter((pl.col("event") == "blocked") & pl.col("ended_ns").is_not_null())
        .select("broker", pl.col("at_ns").alias("began_ns"), (pl.col("ended_ns") - pl.col("at_ns")).alias("took_ns"))
    )


def blocked(events: pl.DataFrame) -> Blocked:
    """Return the summary's section on blocked producers."""
    every = periods(events)
    took_ns = every["took_ns"].to_list()
    return Blocked(
        periods=len(took_ns),
        total_ms=sum(took_ns) / NS_PER_MS,
        longest_ms=max(took_ns, default=0) / NS_PER_MS,
        brokers=sorted(set(every["broker"].drop_nulls().to_list())),
    )
