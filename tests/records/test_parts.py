"""Checks that events are divided by message: each row is in one part, however many parts files and readers have."""

from collections import Counter
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from records.run import RunInfo
from records.store import parts, reader, sealed_files
from records.store.parts import PARTS_KEY, SEQS_PER_BLOCK, part_of, parts_for
from records.store.reader import event_files, open_below, read_part, seal
from records.store.rundir import RunDirectory
from records.store.writer import Recorder
from tests.support.event_rows import foreign_row, receipt_row, send_row

QUEUE = "queue://orders"
PRODUCERS, SEQS = 9, 3
"""Messages in several blocks for each producer."""


def recorded(parent: Path) -> RunDirectory:
    """Record for two processes: one sends each message, the other receives it. Some have an unknown identity."""
    directory = RunDirectory.create(parent, "run")
    directory.write_run(RunInfo("run", "steady", "mesh", "memory", "memory"))
    sending, receiving = Recorder(directory, "sending"), Recorder(directory, "receiving")
    for producer in range(PRODUCERS):
        for seq in range(0, SEQS * SEQS_PER_BLOCK, SEQS_PER_BLOCK // 2):
            sending.send(send_row(seq, 1, producer=producer))
            receiving.receipt(receipt_row(seq, 3, producer=producer))
    receiving.receipt(foreign_row(3))
    sending.leftover("a", "orders", False, 1, SEQS_PER_BLOCK, 1, None)
    for recorder in (sending, receiving):
        recorder.close()
    return directory


def messages(rows: pa.Table) -> Counter[tuple[int, int]]:
    return Counter(zip(rows["producer"].to_pylist(), rows["seq"].to_pylist(), strict=True))


@pytest.fixture(params=[1, 4, 16])
def sealed(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunDirectory:
    """Seal a run whose files have this number of parts, a few rows at a time."""
    monkeypatch.setattr(reader, "parts_for", lambda rows: request.param)
    monkeypatch.setattr(sealed_files, "ROWS_DIVIDED_AT_ONCE", 20)
    directory = recorded(tmp_path)
    seal(directory)
    path = directory.events("sends") / "sending.parquet"
    assert pq.read_metadata(path).metadata[PARTS_KEY] == str(request.param).encode()
    return directory


@pytest.mark.parametrize("part_count", [1, 2, 8, 64])
@pytest.mark.parametrize("table", ["sends", "receipts", "leftovers"])
def test_each_row_is_in_the_part_of_its_message_and_in_no_other(
    sealed: RunDirectory, table: str, part_count: int
) -> None:
    folder = sealed.events(table)
    whole = pa.concat_tables([pq.read_table(path).replace_schema_metadata(None) for path in folder.glob("*.parquet")])
    counts_by_message: Counter[tuple[int, int]] = Counter()
    for number in range(part_count):
        read = read_part(partial(open_below, sealed.events_path), event_files(sealed)[table], table, number, part_count)
        assert read.left_out == ()
        of_part = messages(read.rows)
        assert {part_of(producer, seq, part_count) for producer, seq in of_part} <= {number}
        counts_by_message += of_part
    assert counts_by_message == messages(whole)


def test_a_table_that_was_never_recorded_has_no_rows_in_any_part(tmp_path: Path) -> None:
    assert read_part(partial(open_below, tmp_path), [], "sends", 0, 2).rows.num_rows == 0


def test_other_tables_are_not_divided(sealed: RunDirectory) -> None:
    (path,) = sealed.events("stalls").glob("*.parquet")
    assert pq.read_metadata(path).metadata[PARTS_KEY] == b"1"


def test_a_part_has_up_to_so_many_rows_and_their_number_is_a_power_of_two() -> None:
    assert [parts_for(rows) for rows in (0, 99_999, 100_000, 1_200_000)] == [1, 1, 2, 2]
    assert [parts_for(rows) for rows in (1_200_001, 2_000_000, 60_000_000)] == [4, 4, 128]
    assert parts_for(10**12) == parts.MOST_PARTS


@given(st.integers(-1, 2**31 - 1), st.integers(-1, 2**62), st.integers(0, 9))
def test_a_part_of_half_as_many_is_two_joined_and_arrays_have_the_parts_of_numbers(
    producer: int, seq: int, power: int
) -> None:
    part = part_of(producer, seq, 2**power)
    assert 0 <= part < 2**power
    assert part_of(producer, seq, 2 ** (power + 1)) % 2**power == part
    assert part_of(np.array([producer], "int32"), np.array([seq], "int64"), 2**power).tolist() == [part]


@pytest.mark.parametrize("producers", [1, 12, 100])
def test_two_parts_of_50_000_messages_have_at_least_a_third_each(producers: int) -> None:
    producer, seq = np.arange(50_000) % producers, np.arange(50_000) // producers
    least, most = sorted(np.bincount(part_of(producer, seq, 2)).tolist())
    assert least > 50_000 // 3, (least, most)


def test_messages_of_many_or_few_producers_spread_over_parts() -> None:
    """With 1,000 producers of 120 messages each, or 2 of a million, no part has more than a few times its share."""
    for producers, seqs in ((1_000, range(120)), (2, range(0, 1_000_000, 128))):
        counts = Counter(part_of(producer, seq, 64) for producer in range(producers) for seq in seqs)
        assert max(counts.values()) < 2 * producers * len(seqs) / 64
