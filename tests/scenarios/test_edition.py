"""Do two processes know whether they run the same brokerbench?"""

import shutil
from pathlib import Path

from scenarios.harness import edition
from scenarios.harness.edition import another


def test_an_edition_names_release_events_and_source() -> None:
    assert " (events 1, source " in edition.edition()


def test_a_changed_line_of_what_a_worker_runs_is_another_source(tmp_path: Path) -> None:
    for folder in edition.RUN_BY_WORKERS:
        shutil.copytree(edition.ROOT / folder, tmp_path / folder)
    assert edition._source(tmp_path) == edition._source(edition.ROOT)
    with (tmp_path / "drivers" / "pacing.py").open("a", encoding="utf-8") as source:
        source.write("# of another commit\n")
    assert edition._source(tmp_path) != edition._source(edition.ROOT)


def test_the_same_edition_is_no_reason_to_refuse() -> None:
    assert another("0.1.0", "0.1.0") == ""


def test_another_edition_is_told_beside_the_masters_with_the_next_step() -> None:
    assert another("0.1.0 (events 1, source aaaaaaaa)", "0.2.0 (events 2, source bbbbbbbb)") == (
        "it runs brokerbench 0.1.0 (events 1, source aaaaaaaa), the master runs 0.2.0 (events 2, source bbbbbbbb); "
        "check out the same commit on both hosts"
    )
