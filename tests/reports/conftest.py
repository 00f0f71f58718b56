"""Folders of runs as the analysis leaves them, written once per session and never changed."""

from pathlib import Path

import pytest

from tests.reports.run_folder import RunPlan, write_run_folder


@pytest.fixture(scope="session")
def mesh_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three brokers, 20 s at 300 messages/s, the last broker frozen for 3 s, some lost and duplicated."""
    plan = RunPlan(load_s=20, fault_s=(10.0, 13.0), lost=12, duplicated=7)
    return write_run_folder(tmp_path_factory.mktemp("mesh"), plan)
