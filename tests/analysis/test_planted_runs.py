"""Checks that errors planted in real runs get the right exit status, figures and first sentence of the report.

`test_planted_errors` plants rows. Here each run is made by ``locust -f`` on brokers in memory, with one error in it, or
its folder is damaged afterwards. The analysis runs in this process: its exit status is the one of ``locust``.
"""

import html
import json
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from analysis.jobs import main
from records.run import ProcessInfo
from records.store.reader import seal
from records.store.rundir import RunDirectory
from records.tables.schemas import SAMPLES
from records.verdicts import EXIT_STATUS
from reports.build import write_report
from tests.support.locust_run import make_run
from tests.support.recorded import record_instead

pytestmark = pytest.mark.spark
AT_NIGHT = pytest.mark.nightly  # in CI, test_planted_errors.py plants the same errors as rows, without a run

PLANTED = "tests/planted/locustfiles/planted_errors.py"
MEMORY = ("--runtime", "memory", "--analyse-later")
MS = 1_000_000


@dataclass(frozen=True)
class Analysed:
    """The results of an analysed run."""

    status: int
    summary: dict[str, Any]
    page: str

    @property
    def counts(self) -> dict[str, int]:
        """Return the nonzero message counts."""
        return {name: count for name, count in self.summary["messages"].items() if isinstance(count, int) and count}

    def says(self, verdict: str, first_sentence: str, reasons: str = "") -> None:
        """Check exit status, verdict, a part of the reasons, and the start of the report's first sentences."""
        assert (self.summary["verdict"], self.status) == (verdict, EXIT_STATUS[verdict]), self.summary["reasons"]
        assert reasons in "\n".join(self.summary["reasons"])
        assert bool(reasons) == bool(self.summary["reasons"])
        assert first_sentence in re.sub(r'</p>\s*<ul class="further">\s*<li>|</li>\s*<li>', " ", self.page)


def run_of(folder: Path, planted: str, *options: str) -> Path:
    """Return the folder of a run that is not analysed yet, with 1,000 messages unless the options change that."""
    arguments = ("--messages", "1000", *MEMORY, *options)
    return make_run(PLANTED, *arguments, runs=folder / "runs", env={"PLANTED": planted}).run


def analyse(run: Path) -> Analysed:
    status = main([str(run)])
    summary = json.loads((run / "summary.json").read_text(encoding="utf-8"))
    return Analysed(status, summary, html.unescape(write_report(run).read_text(encoding="utf-8")))


def planted_run(folder: Path, planted: str, *options: str) -> Analysed:
    return analyse(run_of(folder, planted, *options))


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run without errors, for tests that copy and damage it."""
    run = run_of(tmp_path_factory.mktemp("healthy"), "nothing")
    seal(RunDirectory.open(run))
    return run


@pytest.fixture
def copied(healthy: Path, tmp_path: Path) -> RunDirectory:
    return RunDirectory.open(Path(shutil.copytree(healthy, tmp_path / healthy.name)))


@pytest.mark.nightly  # the other runs share it
def test_the_control_passes_with_each_message_once(spark: SparkSession, copied: RunDirectory) -> None:
    analysed = analyse(copied.path)
    analysed.says("pass", "All 1,000 messages sent were received, each exactly once. Half arrived within ")
    assert analysed.counts == {"sent": 1_000, "acked": 1_000, "expected": 1_000, "received": 1_000}


def test_each_process_of_a_run_tells_what_it_counted(copied: RunDirectory) -> None:
    (process,) = copied.read_run().processes
    assert (process.begun, process.settled, process.received) == (1_000, 1_000, 1_000)


def test_a_thousand_messages_that_were_confirmed_and_swallowed_are_lost(spark: SparkSession, tmp_path: Path) -> None:
    analysed = planted_run(tmp_path, "all swallowed")
    reason = "no message was received, though brokers confirmed 1,000: of 1,000 expected receptions, 1,000 lost"
    analysed.says("fail", "Of 1,000 messages sent, 0 were received; 1,000 lost. No latency was measured.", reason)
    assert analysed.counts == {"sent": 1_000, "acked": 1_000, "expected": 1_000, "lost": 1_000}


@AT_NIGHT
def test_latencies_of_the_rest_are_told_as_such_where_60_percent_are_lost(spark: SparkSession, tmp_path: Path) -> None:
    analysed = planted_run(tmp_path, "60 % swallowed")
    answer = "Of 1,000 messages sent, 400 were received; 600 lost. Of the messages that arrived, half came within "
    analysed.says("fail", answer, "messages.lost is 600, it must be <= 0")


@AT_NIGHT
def test_messages_that_are_refused_and_arrive_have_a_count_of_their_own(spark: SparkSession, tmp_path: Path) -> None:
    analysed = planted_run(tmp_path, "refused and stored", "--check", "messages.refused_yet_received <= 0")
    answer = "All 1,000 messages sent were received. Also: 50 received though refused by source."
    analysed.says("fail", answer, "messages.refused_yet_received is 50, it must be <= 0")
    assert (analysed.counts["failed"], analysed.counts["acked"]) == (50, 950)


@AT_NIGHT
def test_a_percentile_of_a_hundred_messages_leaves_its_check_unknown(spark: SparkSession, tmp_path: Path) -> None:
    tail = "latency_ms.due_to_received.p99_99"
    analysed = planted_run(tmp_path, "nothing", "--messages", "100", "--check", f"{tail} < 1000")
    answer = "All 100 messages sent were received, each exactly once. Half arrived within "
    analysed.says("unknown", answer, f"the run has no figure {tail}")
    assert analysed.summary["latency_ms"]["due_to_received"]["p99"] is None


@AT_NIGHT
def test_repeats_with_the_brokers_mark_are_no_duplicates_and_are_told(spark: SparkSession, tmp_path: Path) -> None:
    analysed = planted_run(tmp_path, "repeated")
    answer = "All 1,000 messages sent were received, each at least once: 20 more deliveries were marked as redelivered."
    analysed.says("pass", answer)
    assert (analysed.counts["repeated"], "duplicated" in analysed.counts) == (20, False)


@AT_NIGHT
def test_a_subscriber_that_heard_nothing_is_told_in_the_first_sentence(spark: SparkSession, tmp_path: Path) -> None:
    analysed = planted_run(tmp_path, "a deaf subscriber")
    answer = (
        "Of 2,000 receptions of 1,000 messages sent, 1,000 took place; 1,000 unconfirmed and missing. Of the messages"
    )
    analysed.says("pass", answer)


@AT_NIGHT
def test_two_subscribers_that_hear_everything_are_no_backlog(spark: SparkSession, tmp_path: Path) -> None:
    analysed = planted_run(tmp_path, "two subscribers")
    analysed.says("pass", "All 2,000 receptions of 1,000 messages sent took place, each exactly once.")
    assert "with a backlog from the warm-up" not in analysed.page


@pytest.mark.nightly  # a process that stalls for seconds then sends everything at once
def test_nobody_owes_subscribers_what_was_sent_while_they_were_away(spark: SparkSession, tmp_path: Path) -> None:
    away = ("--fault", "kill(sink, at=4, for=1)", "--rate", "50", "--messages", "500")
    analysed = planted_run(tmp_path, "subscribers that are away", *away)
    missed = analysed.counts["missed_away"]
    analysed.says("pass", f"{missed:,} missed by subscribers that were away.")
    assert missed == analysed.counts["expected"] - analysed.counts["received"]
    assert missed >= 90, "50 messages a second, two subscribers"
    assert "lost" not in analysed.counts


@AT_NIGHT
def test_what_a_browse_does_not_show_of_a_queue_is_unaccounted_for_and_not_lost(
    spark: SparkSession, tmp_path: Path
) -> None:
    analysed = planted_run(tmp_path, "a page of what is left", "--messages", "1200")
    bad = "600 unaccounted for and 400 left on a queue (all on nobodys at source)"
    analysed.says(
        "unknown",
        f"Of 1,200 messages sent, 200 were received; {bad}.",
        "queue nobodys holds 1000 messages, browsing showed 400",
    )
    assert "lost" not in analysed.counts


@AT_NIGHT
def test_messages_that_may_be_on_a_queue_that_cannot_be_browsed_are_unaccounted_for(
    spark: SparkSession, tmp_path: Path
) -> None:
    analysed = planted_run(tmp_path, "a queue that cannot be browsed")
    answer = "Of 1,000 messages sent, 990 were received; 10 unaccounted for."
    analysed.says(
        "unknown", answer, "10 messages are unaccounted for, as they may be in places that could not be searched"
    )


@pytest.mark.nightly  # harness/test_drain.py covers the messages of a drain
def test_a_drain_that_had_no_time_leaves_messages_on_queues_and_none_is_lost(
    spark: SparkSession, tmp_path: Path
) -> None:
    analysed = planted_run(tmp_path, "a drain without time", "--drain-timeout", "1.5")
    remaining = analysed.counts["stranded"] + analysed.counts.get("unaccounted", 0)
    analysed.says("unknown", " left on a queue (", "the drain ended after 1.5 s while messages still moved")
    assert analysed.counts["received"] + remaining == 1_000
    assert "lost" not in analysed.counts


@AT_NIGHT
def test_messages_of_others_on_a_dead_letter_queue_are_foreign(spark: SparkSession, tmp_path: Path) -> None:
    analysed = planted_run(tmp_path, "dead letters of others", "--check", "leftovers <= 0")
    analysed.says("pass", "All 1,000 messages sent were received, each exactly once.")
    assert (analysed.summary["leftovers"], analysed.summary["foreign_leftovers"]) == (0, 3)


@AT_NIGHT
def test_time_that_filled_a_transaction_is_named_and_is_not_the_brokers(spark: SparkSession, tmp_path: Path) -> None:
    analysed = planted_run(tmp_path, "nothing", "--transaction-size", "20")
    analysed.says("pass", "All 1,000 messages sent were received, each exactly once.")
    assert (
        "Messages were sent in transactions of 20: sent → received includes the time until the producer committed"
        in (analysed.page)
    )


@AT_NIGHT
def test_clocks_that_may_differ_by_a_second_leave_a_check_on_latency_unknown(
    spark: SparkSession, tmp_path: Path
) -> None:
    run = run_of(tmp_path, "nothing", "--check", "latency_ms.due_to_received.p50 < 1000")
    directory = RunDirectory.open(run)
    info = directory.read_run()
    workers = [ProcessInfo(f"worker-{n}", n, f"host-{n}", 0, 0, error_bound_ns=500 * MS) for n in (1, 2)]
    directory.write_run(replace(info, processes=(*info.processes, *workers)))
    analysed = analyse(run)
    analysed.says(
        "unknown", "All 1,000 messages sent were received", "the clocks of the processes may differ by 1,000 ms"
    )


@AT_NIGHT
def test_rows_of_deliveries_that_went_missing_make_the_run_invalid_and_not_lossy(
    spark: SparkSession, copied: RunDirectory
) -> None:
    (path,) = copied.events("receipts").glob("*.parquet")
    record_instead(copied, "receipts", path.stem, pq.read_table(path).slice(0, 700))
    analyse(copied.path).says(
        "invalid", "Of 1,000 messages sent, 700 were received", "events/receipts: rows are missing"
    )


@AT_NIGHT
def test_two_brokers_on_one_core_each_take_exactly_two_cores_of_the_load(
    spark: SparkSession, copied: RunDirectory
) -> None:
    """They are sampled every 0.3 s, and never exactly at the start or end of the load."""
    phases = copied.read_run().phases
    assert phases.load_began_ns is not None
    assert phases.load_ended_ns is not None
    times_ns = [phases.load_began_ns + (300 * n - 550) * MS for n in range(60)]
    rows: Mapping[str, list[Any]] = {
        "broker": ["a"] * 60 + ["b"] * 60,
        "at_ns": [*times_ns, *(at_ns + 100 * MS for at_ns in times_ns)],
        "kind": ["process"] * 120,
        "object": [""] * 120,
        "metric": ["cpu_ns"] * 120,
        "value": [*times_ns, *(at_ns + 100 * MS for at_ns in times_ns)],
    }
    planted = pa.table(rows, schema=SAMPLES.remove_metadata())
    record_instead(copied, "samples", "a", planted)
    analysed = analyse(copied.path)
    analysed.says("pass", "All 1,000 messages sent were received, each exactly once.")
    load_ms = (phases.load_ended_ns - phases.load_began_ns) / MS
    assert analysed.summary["throughput"]["cpu_ms_per_message_brokers"] == pytest.approx(2 * load_ms / 1_000, rel=1e-6)


def test_a_lost_file_of_sends_makes_the_run_invalid_and_names_whose_it_was(
    spark: SparkSession, copied: RunDirectory
) -> None:
    """As if each of the two producers had run in a separate worker; tests/distributed has real workers."""
    (path,) = copied.events("sends").glob("*.parquet")
    rows = pq.read_table(path)
    of_first_producer = rows.filter(pc.equal(rows["producer"], pc.min(rows["producer"])))
    record_instead(copied, "sends", path.stem, of_first_producer)
    analysed = analyse(copied.path)
    analysed.says(
        "invalid",
        "All 500 messages sent were received. Also: 500 received without a known send.",
        "rows are missing",
    )


def test_a_copied_event_file_makes_a_real_run_invalid(spark: SparkSession, copied: RunDirectory) -> None:
    """Its rows do not count: each message is recorded once."""
    (path,) = copied.events("sends").glob("*.parquet")
    shutil.copy(path, path.with_name("copy.parquet"))
    analyse(copied.path).says(
        "invalid",
        "All 1,000 messages sent were received, each exactly once.",
        "events/sends/copy.parquet: not one of the files that the run was sealed with",
    )
