"""Lists the reasons to doubt a report as sentences, the most important ones first."""

from collections.abc import Iterable, Iterator, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from records.figures.faults import FaultRecovery
from records.figures.load import WarmUpResult
from records.figures.messages import Messages
from records.figures.summary import Summary
from records.run import RunInfo
from records.units import NS_PER_S
from reports.latency.main_measure import DUE, main_measure
from reports.network.brokers import of_kind
from reports.network.links import link_doubts
from reports.parts.histogram import Histogram, select
from reports.parts.numbers import counted, joined, seconds_text, sentence, share, significant

SHORT_LOAD_S = 60
SHORT_WARM_UP_S = 10
MUCH_STEAL = 0.01
SLOW_START_S = 5
BUSY = 0.8
DRIFT = 1.5
BACKLOG = 1.05
HIDES_WAITS = (
    "The load was closed: each producer sent as soon as its last send was answered. A slow or absent broker gets fewer "
    "messages, and no message waits to be sent, so this latency hides waiting times. Use fixed or Poisson arrivals to "
    "measure the latency that a caller experiences."
)
CORES = ("cores", "cpu_count", "logical_cores", "cpus")
ONE_HOST = ("processes", "containers")


def doubts(run: RunInfo, summary: Summary, tables: Mapping[str, pa.Table]) -> tuple[str, ...]:
    """Return first the harness's own findings (problems, unknowns, warnings), then the doubts from the figures."""
    recorded = [text for text in (*run.problems, *run.unknowns, *run.warnings) if text not in summary["reasons"]]
    sentences = [sentence(text) for text in recorded]
    resources, latency, load_s = tables["resources"], tables["latency"], load_length_s(run, summary)
    if summary["offered_rate"]["note"]:
        sentences.append(summary["offered_rate"]["note"])
    sentences += [
        *generator_doubts(summary),
        *closed_load_doubts(run, summary),
        *transaction_doubts(run),
        *machine_doubts(run, resources, load_s),
        *sample_doubts(summary),
        *link_doubts(run, resources),
        *slow_start_doubts(summary["recovery"]["faults"]),
        *connection_doubts(summary),
        *duration_doubts(load_s, summary["warm_up"]),
        *drift_doubts(latency, load_s, main_measure(summary)),
        *accounting_doubts(summary, tables["paths"]),
    ]
    sentences.append("This is a single run. It does not show how much runs differ: repeat it before you compare.")
    return tuple(dict.fromkeys(sentences))


def generator_doubts(summary: Summary) -> Iterator[str]:
    if summary["blocked"]["periods"]:
        yield blocked_producers_doubt(summary)
    if summary["lag_ms"]["blocked_slots"]:
        waiting = counted(summary["lag_ms"]["blocked_slots"], "send")
        yield f"The in-flight cap, or a commit, made {waiting} wait: the brokers confirmed too slowly for the rate."
    due, received = _receptions_due_per_s(summary), summary["throughput"]["received_per_s"]
    if due and received and received > due * BACKLOG:
        yield (
            f"More was received ({significant(received)}/s) than was due ({significant(due)}/s) in the load: it began "
            "with a backlog from the warm-up, so its throughput is not a steady state."
        )
    error_ms = summary["clocks"].get("error_bound_ms", 0)
    if error_ms:
        yield f"Clocks of several hosts were compared: latencies across hosts may be off by {significant(error_ms)} ms."


def _receptions_due_per_s(summary: Summary) -> float | None:
    """Return the due receptions per second: each due message counts once per subscription."""
    due, messages = summary["throughput"]["due_per_s"], summary["messages"]
    return due * messages["expected"] / messages["sent"] if due and messages["sent"] else None


def blocked_producers_doubt(summary: Summary) -> str:
    held = summary["blocked"]
    times, brokers = counted(held["periods"], "time"), joined(held["brokers"])
    total, longest = seconds_text(held["total_ms"] / 1_000), seconds_text(held["longest_ms"] / 1_000)
    return (
        f"Producers were blocked {times}, for a total of {total}; the longest period was {longest}. In these periods, "
        f"{brokers} accepted no messages from them. A full broker blocks producers, and so does a paused broker."
    )


def closed_load_doubts(run: RunInfo, summary: Summary) -> Iterator[str]:
    """Yield doubts about a closed load: it hides waiting times, and its producers can outrun the consumers."""
    if not run.is_closed:
        return
    yield HIDES_WAITS
    sent, received, messages = (
        summary["throughput"]["sent_per_s"],
        summary["throughput"]["received_per_s"],
        summary["messages"],
    )
    if not sent or received is None or not messages["sent"]:
        return
    owed = sent * messages["expected"] / messages["sent"]
    if received < owed / BACKLOG:
        yield (
            f"Fewer messages were received ({significant(received)}/s) than sent ({significant(owed)}/s): brokers "
            "confirmed messages faster than consumers took them, so sent → received is the age of a backlog, and grows "
            "with the length of the run."
        )


def transaction_doubts(run: RunInfo) -> Iterator[str]:
    """Yield a doubt about transactions: a broker delivers a message only when its transaction is committed."""
    sizes = sorted({int(user.settings.get("transaction_size", 0)) for user in run.users} - {0})
    if sizes:
        size_words = joined([str(size) for size in sizes])
        yield (
            f"Messages were sent in transactions of {size_words}: sent → received includes the time until the producer "
            "committed, so the brokers did not cause all of it."
        )


def machine_doubts(run: RunInfo, resources: pa.Table, load_s: float) -> Iterator[str]:
    cores = cores_of(run)
    if run.runtime in ONE_HOST:
        host = f"the {cores} cores of one machine" if cores else "one machine"
        yield (
            f"Host-limited: {counted(len(run.brokers), 'broker')} and the load generator share {host}. "
            "Rates and latencies measure that machine too; more brokers do not add capacity here."
        )
    if not cores:
        return
    stolen, busy = (used_share(resources, metric, load_s, cores) for metric in ("steal_ns", "cpu_busy_ns"))
    if stolen > MUCH_STEAL:
        yield f"The host of this virtual machine took away {share(stolen, 1)} of the CPU time (steal)."
    if busy > BUSY:
        yield f"The machine was {share(busy, 1)} busy during the load: queues may have grown while waiting for a core."


def used_share(resources: pa.Table, metric: str, load_s: float, cores: int) -> float:
    """Return the used share of the cores' time in the sampled seconds of the load; 0 without samples.

    Samples are not exactly at the ends of seconds, so their sum may be a little more than the whole.
    """
    rows = of_kind(resources, "machine", metric)
    seconds = rows["second"]
    inside = rows.filter(pc.and_(pc.greater_equal(seconds, 0), pc.less(seconds, int(load_s))))
    sampled_s = len(pc.unique(inside["second"]))
    return min((pc.sum(inside["value"]).as_py() or 0) / (cores * sampled_s * NS_PER_S), 1.0) if sampled_s else 0.0


def cores_of(run: RunInfo) -> int | None:
    return next((int(run.machine[key]) for key in CORES if key in run.machine), None)


def sample_doubts(summary: Summary) -> Iterator[str]:
    latency = summary["latency_ms"].get(main_measure(summary))
    if latency is None:
        return
    if latency["negative"]:
        negative = counted(latency["negative"], "latency", "latencies")
        verb = "is" if latency["negative"] == 1 else "are"
        yield f"{negative} {verb} negative: the clocks disagree. None was left out."
    count = latency["count"]
    shaky = [
        name
        for name, samples_per_tail_message in (("p99", 100), ("p99.9", 1_000), ("p99.99", 10_000))
        if 0 < count < 10 * samples_per_tail_message
    ]
    if shaky:
        samples = counted(count, "sample")
        yield f"{samples}: fewer than ten lie beyond {shaky[0]}, so from there on the tail has no figures."


def connection_doubts(summary: Summary) -> Iterator[str]:
    """Yield a doubt if brokers and clients counted different connections.

    A broker that has not noticed a loss counts dead connections; a shared broker counts connections of others.
    """
    counts = summary["connection_counts"]
    if counts["differed"]:
        yield (
            f"In {counts['differed']:,} of {counted(counts['compared'], 'comparison')}, a broker's connection count "
            f"differed from the clients' count ({joined(counts['brokers'])}). Either other programs used the broker, "
            "or a broker or client had not yet noticed a lost connection."
        )


def duration_doubts(load_s: float, warm_up: WarmUpResult) -> Iterator[str]:
    if 0 < load_s < SHORT_LOAD_S:
        lasted = seconds_text(load_s)
        yield f"The load lasted {lasted}: too short for garbage collections and journal checkpoints to show."
    if not load_s:
        return
    lasted, at_most = seconds_text(warm_up["lasted_s"]), seconds_text(warm_up["at_most_s"])
    if warm_up["end"] == "fixed" and warm_up["lasted_s"] < SHORT_WARM_UP_S:
        yield f"The warm-up lasted {lasted}: the brokers' JVMs may still have been compiling."
    if warm_up["end"] == "not_settled":
        yield f"The warm-up ended after {at_most} without a settled median latency: the load began unsteady."
    if warm_up["end"] == "no_latency":
        yield f"The warm-up took {at_most}. It is not known whether latency had settled: too few latencies were known."


def drift_doubts(latency: pa.Table, load_s: float, measure: str = DUE) -> Iterator[str]:
    """Compare the first third of the load with the last, outside faults."""
    rows = select(latency, phase="load", measure=measure, in_fault=False)
    first_third, last_third = (
        Histogram.of(rows.filter(inside))
        for inside in (pc.less(rows["second"], int(load_s / 3)), pc.greater_equal(rows["second"], int(2 * load_s / 3)))
    )
    before, after = first_third.percentile(0.5), last_third.percentile(0.5)
    if before and after and min(before, after) > 0 and not 1 / DRIFT < after / before < DRIFT:
        yield (
            f"No steady state: the median latency went from {significant(before)} ms in the first third of the load "
            f"to {significant(after)} ms in the last."
        )


def in_doubt_sentence(messages: Messages) -> str:
    """Return a sentence on messages in doubt.

    A message of a topic counts once; its receptions count for each subscription.
    """
    in_doubt, recovered = messages["in_doubt"], messages["recovered"]
    stayed = f"{counted(in_doubt, 'message')} stayed in doubt: the connection was lost before the broker answered."
    receptions = recovered + messages["in_doubt_not_received"]
    if receptions <= in_doubt:
        return f"{stayed} {recovered:,} of them were still received."
    return f"{stayed} Of their {receptions:,} receptions, {recovered:,} still took place."


def accounting_doubts(summary: Summary, paths: pa.Table) -> Iterator[str]:
    messages = summary["messages"]
    if summary["foreign_leftovers"]:
        foreign = counted(summary["foreign_leftovers"], "message", "messages")
        yield f"{foreign} on the brokers' queues are not of this run. They do not count."
    if messages["unconfirmed"]:
        unconfirmed = counted(messages["unconfirmed"], "message was", "messages were")
        yield (
            f"{unconfirmed} sent without asking for a confirmation: no broker confirmed them, "
            "so none of them can count as lost."
        )
    if messages["in_doubt"]:
        yield in_doubt_sentence(messages)
    if paths.num_rows and paths["hops"].null_count == paths.num_rows:
        yield "The protocol does not report how many brokers a message crossed, so latency is not split by hops."


def slow_start_doubts(faults: Iterable[FaultRecovery]) -> Iterator[str]:
    """Yield a doubt for each broker that took long to start, so it was away for much longer than its fault states."""
    for fault in faults:
        start_s, restored_s = fault["start_s"], fault["restored_s"]
        if start_s is None or restored_s is None:
            continue
        away_s = restored_s - fault["began_s"]
        if start_s >= SLOW_START_S and start_s > away_s - start_s > 0:
            yield (
                f"{fault['target']} was away for {seconds_text(away_s)} instead of {seconds_text(away_s - start_s)} "
                f"({fault['fault']}, {fault['kind']}): its start took {seconds_text(start_s)}."
            )


def load_length_s(run: RunInfo, summary: Summary) -> float:
    return _between(run.phases.load_began_ns, run.phases.load_ended_ns, summary["phases"].get("load"))


def warm_up_length_s(run: RunInfo, summary: Summary) -> float:
    return _between(run.phases.warm_up_began_ns, run.phases.load_began_ns, summary["phases"].get("warm_up"))


def _between(began_ns: int | None, ended_ns: int | None, told_s: float | None) -> float:
    """Return the duration between two marks, or the reported duration if a mark is missing.

    A duration reported by the harness may include starting and stopping its users.
    """
    if began_ns is not None and ended_ns is not None:
        return (ended_ns - began_ns) / NS_PER_S
    return told_s or 0.0
