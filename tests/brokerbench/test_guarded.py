"""Checks that a guarded command's status is returned, and that an interruption ends it and its children in order."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from brokerbench.interrupts import run_guarded
from tests.support.locust_run import REPOSITORY, as_a_user_has_it
from tests.support.waiting import until

TELLS_ITS_END = """
import pathlib, signal, sys, time
def end(number, frame):
    pathlib.Path(sys.argv[1], "ended").touch()
    sys.exit(0)
signal.signal(signal.SIGTERM, end)
pathlib.Path(sys.argv[1], "began").touch()
time.sleep(600)
"""
RUNS_IT = "import sys; from brokerbench.interrupts import run_guarded; run_guarded(sys.argv[1:])"


@pytest.mark.parametrize("status", [0, 3])
def test_the_status_is_that_of_the_command_and_its_output_goes_where_it_is_told(status: int, tmp_path: Path) -> None:
    with (tmp_path / "log").open("w", encoding="utf-8") as log:
        command = [sys.executable, "-c", f"import sys; print('out'); print('err', file=sys.stderr); sys.exit({status})"]
        assert run_guarded(command, output=log) == status
    assert sorted((tmp_path / "log").read_text(encoding="utf-8").split()) == ["err", "out"]


def test_an_interruption_ends_the_command_in_order(tmp_path: Path) -> None:
    command = [sys.executable, "-c", RUNS_IT, sys.executable, "-c", TELLS_ITS_END, str(tmp_path)]
    ours = subprocess.Popen(command, cwd=REPOSITORY, stderr=subprocess.DEVNULL)
    until((tmp_path / "began").exists)
    ours.send_signal(signal.SIGINT)
    assert ours.wait(60) != 0
    assert (tmp_path / "ended").exists()


UNDER_LOCUST = """
import sys
import locust
from brokerbench.interrupts import run_guarded
from brokerbench.interrupts import signals_interrupt
try:
    with signals_interrupt():
        run_guarded(sys.argv[1:])
except KeyboardInterrupt:
    print("stopped")
"""


def test_an_interruption_shows_no_stack_trace_where_locust_was_imported(tmp_path: Path) -> None:
    """As in `brokerbench nightly`, which reads the checks of a plan by the harness's own rules."""
    command = [sys.executable, "-c", UNDER_LOCUST, sys.executable, "-c", TELLS_ITS_END, str(tmp_path)]
    environment = {**as_a_user_has_it(), "PYTHONPATH": str(REPOSITORY)}
    ours = subprocess.Popen(
        command, cwd=REPOSITORY, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    until((tmp_path / "began").exists)
    ours.send_signal(signal.SIGINT)
    output, _ = ours.communicate(timeout=60)
    assert (output, ours.returncode) == ("stopped\n", 0)
    assert (tmp_path / "ended").exists()
