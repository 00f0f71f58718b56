"""Computes a run's tables accounting, latency, rates and paths with DuckDB.

It writes them to a folder. It supports only the runs of `benchmarks.generate_events`: it ignores topic subscriptions,
times to live and selectors. So no message is unselected, and only dead letters can be expired. The queries are
idiomatic for DuckDB: they create two tables once, and compute all results from them. `records.tables.results` defines
the columns.
"""

import tempfile
from argparse import ArgumentTypeError
from collections.abc import Mapping
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.arguments import Parser, folder
from benchmarks.real_runs import load_ns
from records.errors import RunUnreadable
from records.store.rundir import RunDirectory
from records.tables.results import RESULT_TABLES

TABLES = ("accounting", "latency", "rates", "paths")

MESSAGES = """
create temp table messages as
select producer, seq, min(due_ns) as due_ns, arg_min(sent_ns, attempt) as sent_ns,
       greatest(0, arg_min(sent_ns - ready_ns, attempt)) as own_ns,
       arg_min(broker, attempt) as from_broker, arg_min(destination, attempt) as destination,
       max(list_position(['failed', 'unconfirmed', 'in_doubt', 'acked'], outcome)) as goodness
from sends group by producer, seq
"""

DELIVERIES = """
create temp table deliveries as
with copies as (
    select *, row_number() over copies as copy, first_value(attempt) over copies as first_attempt
    from receipts where integrity in ('intact', 'corrupted')
    window copies as (partition by producer, seq, subscription order by received_ns, attempt, consumer))
select copies.* exclude (broker), copies.broker as to_broker, messages.due_ns, sends.sent_ns,
       messages.own_ns,
       coalesce(sends.broker, messages.from_broker, '') as from_broker,
       copy > 1 and not copies.redelivered as duplicate, duplicate and copies.attempt <> first_attempt as by_resend
from copies left join messages using (producer, seq) left join sends using (producer, seq, attempt)
"""

ACCOUNTING = """
with found as (select producer, seq, min(dead_letter) as dead,
                      arg_min(expired, dead_letter) as too_old
               from leftovers group by producer, seq),
firsts as (select * from deliveries where copy = 1),
message_outcomes as (
    select messages.*, regexp_replace(messages.destination, '^queue://', '') as subscription,
           firsts.producer is not null as received, found.dead, coalesce(found.dead and found.too_old, false) as expired
    from messages left join firsts using (producer, seq) left join found using (producer, seq)),
ends as (
    select destination, subscription, count(*) as sent, count_if(goodness = 4) as acked,
           count_if(goodness = 1) as failed, count_if(goodness = 3) as in_doubt, count_if(goodness = 2) as unconfirmed,
           count_if(goodness = 4 and not received and dead is null) as lost,
           count_if(goodness = 4 and not received and not dead) as stranded,
           count_if(goodness = 4 and not received and dead and not expired) as dead_lettered,
           count_if(goodness in (2, 4) and not received and expired) as expired, 0 as unselected,
           count_if(goodness = 3 and received) as recovered
    from message_outcomes group by destination, subscription),
copies as (
    select destination, subscription, count_if(copy = 1) as received, count_if(duplicate) as duplicated,
           count_if(by_resend) as duplicated_by_resend, count_if(integrity = 'corrupted') as corrupted,
           count_if(due_ns is null) as unexpected
    from deliveries group by destination, subscription),
overtaken as (
    select destination, subscription, seq < max(seq) over (
        partition by consumer, subscription, destination, producer order by received_ns
        range between unbounded preceding and 1 preceding) as overtaken
    from firsts),
reordered as (
    select destination, subscription, count_if(overtaken) as reordered
    from overtaken group by destination, subscription)
select * from ends join copies using (destination, subscription) join reordered using (destination, subscription)
"""

LATENCY = """
with durations as (
    select 'due_to_received' as measure, from_broker, to_broker, hops, due_ns, received_ns - due_ns as took_ns,
           own_ns
    from deliveries where copy = 1 and due_ns is not null
    union all
    select 'sent_to_received', from_broker, to_broker, hops, due_ns, received_ns - sent_ns, 0
    from deliveries where copy = 1 and due_ns is not null and sent_ns is not null
    union all
    select 'sent_to_settled', broker, '', null, due_ns, settled_ns - sent_ns, 0
    from sends where outcome = 'acked'
    union all
    select 'ready_to_sent', from_broker, '', null, due_ns, own_ns, 0 from messages),
both_ways as (
    select * exclude (own_ns), 1 as counted, 0 as less_own from durations
    union all
    select * exclude (own_ns) replace (took_ns - own_ns as took_ns), 0, 1 from durations),
in_buckets as (
    select *, abs(took_ns) as magnitude, greatest(0, floor(log2(greatest(magnitude, 1)))::int - 7) as dropped_bits,
           (dropped_bits * 128 + (magnitude >> dropped_bits)) * sign(took_ns) as bucket
    from both_ways)
select measure, from_broker, to_broker, hops, phase(due_ns) as phase, second(due_ns) as second, false as in_fault,
       bucket::int as bucket, sum(counted)::bigint as count,
       sum(less_own)::bigint as count_less_own
from in_buckets group by all
"""

RATES = """
with moments as (
    select 'due' as event, due_ns as at_ns, due_ns, from_broker as broker from messages
    union all select 'sent', sent_ns, due_ns, broker from sends
    union all select 'acked', settled_ns, due_ns, broker from sends where outcome = 'acked'
    union all select 'received', received_ns, coalesce(due_ns, received_ns), to_broker from deliveries
    union all select 'received', received_ns, received_ns, broker from receipts
              where integrity not in ('intact', 'corrupted', 'foreign'))
select second(at_ns) as second, phase(due_ns) as phase, event, broker, count(*) as count from moments group by all
"""

PATHS = """
select from_broker, to_broker, hops, count(*) as messages
from deliveries where copy = 1 and due_ns is not null group by all
"""


def answers(events: Path, load_began_ns: int, load_ended_ns: int, memory: str = "4GiB") -> Mapping[str, pa.Table]:
    """Return the result tables of a run without faults, on hosts with equal clocks, each with its schema."""
    with (
        tempfile.TemporaryDirectory(prefix="brokerbench-duckdb-") as overflow,
        duckdb.connect(":memory:", config={"memory_limit": memory, "temp_directory": overflow}) as database,
    ):
        for table in ("sends", "receipts", "leftovers"):
            database.execute(f"create view {table} as select * from read_parquet('{events}/{table}/*.parquet')")
        database.execute(
            f"create macro second(at_ns) as ((at_ns - {load_began_ns} - (((at_ns - {load_began_ns}) % 1000000000)"
            " + 1000000000) % 1000000000) // 1000000000)::int"
        )
        database.execute(
            f"create macro phase(at_ns) as case when at_ns < {load_began_ns} then 'warm-up' "
            f"when at_ns < {load_ended_ns} then 'load' else 'drain' end"
        )
        database.execute(MESSAGES)
        database.execute(DELIVERIES)
        queries = {"accounting": ACCOUNTING, "latency": LATENCY, "rates": RATES, "paths": PATHS}
        return {name: _answer(database, name, query) for name, query in queries.items()}


def _answer(database: duckdb.DuckDBPyConnection, name: str, query: str) -> pa.Table:
    schema = RESULT_TABLES[name]
    return database.sql(query).to_arrow_table().select(schema.names).cast(schema)


def ended_run(text: str) -> RunDirectory:
    """Parse an argument: the folder of a run whose load has begun and ended."""
    try:
        directory = RunDirectory.open(Path(text))
        phases = directory.read_run().phases
    except RunUnreadable as error:
        raise ArgumentTypeError(str(error)) from None
    if phases.load_began_ns is None or phases.load_ended_ns is None:
        raise ArgumentTypeError(f"{text!r} is a run whose load has no beginning or no end: give a run that ended")
    return directory


def main(directory: RunDirectory, into: Path) -> None:
    print("started", flush=True)
    for name, table in answers(directory.path / "events", *load_ns(directory)).items():
        pq.write_table(table, into / f"{name}.parquet", compression="zstd")


if __name__ == "__main__":
    parser = Parser("duckdb_answers", __doc__)
    parser.add_argument("run", type=ended_run, metavar="RUN", help="folder of a run that ended")
    parser.add_argument("folder", type=folder, metavar="FOLDER", help="where to write the tables")
    options = parser.parse_args()
    main(options.run, options.folder)
