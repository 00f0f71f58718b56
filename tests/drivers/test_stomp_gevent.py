"""The same tests of the driver in a process that gevent has patched, as Locust does before anything else."""

import subprocess
import sys
from pathlib import Path

import pytest

PATCHED = "from gevent import monkey; monkey.patch_all(); import pytest, sys; sys.exit(pytest.main(sys.argv[1:]))"
HERE = Path(__file__).parent


@pytest.mark.parametrize(
    "tests",
    [
        pytest.param("test_stomp_conversations.py", id="by hand"),
        pytest.param("test_stomp_transactions.py", id="transactions"),
        pytest.param("test_stomp_tls.py", id="over TLS"),
        pytest.param("test_stomp_brokers.py", id="on a broker", marks=[pytest.mark.brokers, pytest.mark.nightly]),
    ],
)
def test_the_driver_keeps_its_word_under_gevent(tests: str) -> None:
    command = [sys.executable, "-c", PATCHED, "-q", "-p", "no:cacheprovider", str(HERE / tests)]
    run = subprocess.run(command, cwd=HERE.parents[1], capture_output=True, text=True, timeout=240)
    assert run.returncode == 0, run.stdout[-5_000:] + run.stderr[-2_000:]
    assert " passed" in run.stdout
