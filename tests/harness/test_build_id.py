"""Checks that two processes can detect whether they run the same build of brokerbench."""

import shutil
from pathlib import Path

from harness.distributed import messages
from records.tables.schemas import SCHEMA_VERSION


def test_a_build_id_names_release_events_and_source() -> None:
    assert f" (events {SCHEMA_VERSION}, source " in messages.build_id()


def test_a_changed_line_of_what_a_worker_runs_is_another_source(tmp_path: Path) -> None:
    for folder in messages.RUN_BY_WORKERS:
        shutil.copytree(messages.ROOT / folder, tmp_path / folder)
    assert messages._source(tmp_path) == messages._source(messages.ROOT)
    with (tmp_path / "drivers" / "pacing.py").open("a", encoding="utf-8") as source:
        source.write("# of another commit\n")
    assert messages._source(tmp_path) != messages._source(messages.ROOT)


def test_the_same_build_id_is_no_reason_to_refuse() -> None:
    assert messages.another_build("0.1.0", "0.1.0") == ""


def test_another_build_id_is_told_beside_the_masters_with_the_next_step() -> None:
    assert messages.another_build("0.1.0 (events 1, source aaaaaaaa)", "0.2.0 (events 2, source bbbbbbbb)") == (
        "it runs brokerbench 0.1.0 (events 1, source aaaaaaaa), the master runs 0.2.0 (events 2, source bbbbbbbb); "
        "check out the same commit on both hosts"
    )
