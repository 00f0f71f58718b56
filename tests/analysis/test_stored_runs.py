"""Checks that a run at a URI is analysed like a folder, and that its errors are one sentence each."""

import random
import shutil
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from analysis import event_files, jobs
from analysis.event_files import ReceivedFiles
from analysis.stored_run import usable_uri
from records.errors import UserError
from records.store import sealed_files
from records.store.digests import changed_after_analysis
from records.store.parts import PARTED, SEQS_PER_BLOCK
from records.store.reader import event_files as event_file_names
from records.store.reader import open_below, read_part, seal
from records.store.rundir import RunDirectory
from records.store.writer import Recorder
from records.tables.results import RESULT_TABLES, WRITTEN_BY_PARTS, added_up
from records.tables.row_order import order
from tests.analysis.runs import due_of, make, quietly, receive, send

ODD_NAME = "a run*[1]{2} of ä#5%20"
BLOCKS = 64


def in_many_blocks(recorder: Recorder) -> None:
    """Messages of 64 blocks. One message is lost and another is received twice."""
    for block in range(BLOCKS):
        send(recorder, block * SEQS_PER_BLOCK, due_of(block))
        if block != 5:
            receive(recorder, block * SEQS_PER_BLOCK, due_of(block) + 5_000_000)
    receive(recorder, 9 * SEQS_PER_BLOCK, due_of(12))


def sealed(parent: Path, parts: int, monkeypatch: pytest.MonkeyPatch) -> RunDirectory:
    """Create a sealed run with this number of parts in its files and analysis."""
    for module in ("records.store.reader", "analysis.jobs"):
        monkeypatch.setattr(f"{module}.parts_{'for' if module == 'records.store.reader' else 'of'}", lambda _: parts)
    directory = make(parent, in_many_blocks)
    seal(directory)
    return directory


def rows_of(directory: RunDirectory, name: str) -> pa.Table:
    files = sorted(directory.results(name).glob("*.parquet"))
    rows = pa.concat_tables([pq.ParquetFile(file).read().select(RESULT_TABLES[name].names) for file in files])
    rows = rows.cast(RESULT_TABLES[name])
    merged = added_up(name, rows) if name in WRITTEN_BY_PARTS else rows
    return merged.take(order(merged))


@pytest.mark.spark
@pytest.mark.parametrize("parts", [1, 8])
@pytest.mark.parametrize("changed", [False, True], ids=["as sealed", "rows changed"])
def test_a_uri_gives_the_results_of_the_folder(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, parts: int, changed: bool
) -> None:
    here = sealed(tmp_path, parts, monkeypatch)
    if changed:
        _change_rows(here.events("sends") / "master.parquet")
    there = RunDirectory(tmp_path / ODD_NAME)
    shutil.copytree(here.path, there.path)
    summary = quietly(here.path)
    shutil.rmtree(here.events_path)  # no process can read the events here
    assert jobs.analyse(f"file://{there.path}", progress=lambda _: None) == summary
    assert there.summary_path.read_bytes() == here.summary_path.read_bytes()
    for name in RESULT_TABLES:
        assert rows_of(there, name).equals(rows_of(here, name)), name
    assert changed_after_analysis(there) == []
    assert not (there.path / "results" / ".unfinished").exists()
    assert summary["messages"]["duplicated"] == 1
    assert bool([reason for reason in summary["reasons"] if "changed after they were sealed" in reason]) == changed


def _change_rows(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[40] ^= 1  # inside the first row group
    file.write_bytes(content)


@pytest.mark.spark
def test_a_second_analysis_replaces_the_results(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = sealed(tmp_path, 2, monkeypatch)
    for _ in range(2):
        jobs.analyse(f"file://{directory.path}/", progress=lambda _: None)
        assert rows_of(directory, "latency")["count"].to_pylist()
        assert changed_after_analysis(directory) == []
    assert len(list(directory.results("latency").iterdir())) == len(
        list(directory.results("latency").glob("*.parquet"))
    ) + len(list(directory.results("latency").glob(".*.crc")))


@pytest.mark.spark
@pytest.mark.parametrize(
    ("uri", "sentence"),
    [
        ("foo://bucket/run", "Spark has no file system for foo://: write s3a://, hdfs:// or file://"),
        (
            "s3a://bucket/run",
            "Spark lacks the jars for s3a://: add them with --packages org.apache.hadoop:hadoop-aws:",
        ),
        ("file:///no/such/run", "there is no such folder: give the folder of a run"),
        ("file://HERE", "not a run folder, as it has no run.json"),
        ("hdfs://127.0.0.1:1/run", "cannot be read or written"),
    ],
)
def test_what_spark_cannot_read_is_one_sentence(spark: SparkSession, tmp_path: Path, uri: str, sentence: str) -> None:
    uri = uri.replace("HERE", str(tmp_path))
    spark.sparkContext._jsc.hadoopConfiguration().setInt("ipc.client.connect.max.retries", 0)
    with pytest.raises(UserError) as error:
        jobs.analyse(uri, progress=lambda _: None)
    assert str(error.value).startswith(f"{uri}: {sentence}")
    assert "\n" not in str(error.value)


@pytest.mark.spark
def test_events_that_are_not_sealed_are_rejected(spark: SparkSession, tmp_path: Path) -> None:
    directory = make(tmp_path, in_many_blocks)
    with pytest.raises(UserError, match=r"/streams/.*: not sealed yet: analyse the folder where it was recorded"):
        jobs.analyse(f"file://{directory.path}", progress=lambda _: None)
    assert not directory.summary_path.exists()


@pytest.mark.parametrize(
    ("uri", "sentence"),
    [
        ("s3a:///run", "s3a:///run: has no bucket: write s3a://BUCKET/"),
        ("s3://bucket/run", "s3://bucket/run: Spark has no file system for s3://: write s3a://"),
        ("s3a://key:hidden@bucket/run", "s3a://bucket/run: contains credentials: remove them"),
        ("s3a://key:a/hidden@bucket/run", "s3a://bucket/run: contains credentials: remove them"),
        ("file://runs/run", "file://runs/run: has a host: write file:///FOLDER"),
    ],
)
def test_impossible_uris_are_rejected_before_spark_starts(uri: str, sentence: str) -> None:
    with pytest.raises(UserError) as error:
        usable_uri(uri)
    assert str(error.value).startswith(sentence)
    assert "hidden" not in str(error.value)


@pytest.mark.parametrize(("file_parts", "parts"), [(1, 1), (1, 8), (8, 8), (8, 2), (2, 8)])
@pytest.mark.parametrize("tasks", [1, 2, 3, 8])
def test_tasks_receive_the_rows_of_their_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file_parts: int, parts: int, tasks: int
) -> None:
    monkeypatch.setattr(sealed_files, "ROWS_DIVIDED_AT_ONCE", 20)
    directory = sealed(tmp_path, file_parts, monkeypatch)
    names = event_file_names(directory)
    whole = pa.record_batch(
        {
            "file": [name for table in PARTED for name in names[table]],
            "content": [(directory.events_path / name).read_bytes() for table in PARTED for name in names[table]],
        }
    )
    pieces = [batch for batch in event_files._cutter(parts, tasks)().eval(whole)]
    rows = pa.Table.from_batches(pieces).to_pylist()
    random.Random(1).shuffle(rows)  # a shuffle has no order
    for task in range(tasks):
        of_task = pa.Table.from_pylist([row for row in rows if row["task"] == task], event_files.PIECES)
        received = ReceivedFiles(of_task.to_batches())
        assert received.task == task
        assert {part for task in range(tasks) for part in event_files.parts_of_task(task, parts, tasks)} == {
            *range(parts)
        }
        for number in event_files.parts_of_task(task, parts, tasks):
            for table in PARTED:
                read = read_part(received.open, names[table], table, number, parts)
                here = read_part(partial(open_below, directory.events_path), names[table], table, number, parts)
                assert (read.rows, read.left_out) == (here.rows, ()), (table, number)
