"""Checks that the lag of a thousand connections counts only messages due after all of them had begun to send."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PRINTS_LAGS = """
from benchmarks.connections_users import lags_ms
import numpy as np

due_ns, late_ns, attempt = np.array([1, 2, 10, 10, 12]) * 10**9, np.array([10, 0, 1, 5, 2]) * 10**9, [1, 1, 1, 2, 1]
print(lags_ms(due_ns, due_ns + late_ns, np.array(attempt), 10 * 10**9).tolist())
"""


def test_lags_of_the_beginning_do_not_count() -> None:
    """Messages that were due before the period and sent in it are left out.

    Runs in a separate process, as the module has gevent patch its imports.
    """
    process = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PRINTS_LAGS], cwd=ROOT, capture_output=True, text=True
    )
    assert process.stdout == "[1000.0, 2000.0]\n", process.stderr
