"""Checks that a run fails if a disk loses a synced write, and that it passes on an honest disk."""

from pathlib import Path

import pytest

from tests.support.disks import left_in
from tests.support.locust_run import make_run

pytestmark = [pytest.mark.brokers, pytest.mark.spark, pytest.mark.disks]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("lost_bytes", [0, pytest.param(64 * 1024, marks=pytest.mark.nightly)])
def test_a_lost_synced_write_turns_the_run_red(tmp_path: Path, lost_bytes: int) -> None:
    """Classic syncs each journal write. Between unmount and mount, zeros replace the end of the journal."""
    outcome = make_run(
        "tests/planted/locustfiles/lying_disk.py", runs=tmp_path / "runs", env={"BYTES": str(lost_bytes)}
    )
    recovery = outcome.summary["recovery"]
    assert recovery["at_risk"] > 100, outcome.output
    assert f"1 journal files lose {lost_bytes:,} written bytes" in outcome.output
    if lost_bytes:
        assert outcome.summary["verdict"] == "fail", outcome.output
        assert 10 <= recovery["gone"] <= lost_bytes // 1_024
        assert (recovery["lost_holes"], recovery["lost_whole"]) == (0, 0)
    else:
        assert (outcome.summary["verdict"], recovery["gone"]) == ("pass", 0), outcome.output
    assert left_in(tmp_path) == []
