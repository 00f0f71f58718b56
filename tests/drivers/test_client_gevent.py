"""Clients live in Locust, where threads are greenlets: their tests pass there too."""

import subprocess
import sys
from pathlib import Path

UNDER_GEVENT = """
from gevent import monkey
monkey.patch_all()
import sys
import pytest
sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", "--timeout", "120", *sys.argv[1:]]))
"""
ROOT = Path(__file__).parents[2]
FILES = [
    f"tests/drivers/test_{name}.py" for name in ("client", "producer", "consumer", "memory", "transacted", "referrals")
]


def test_the_tests_of_clients_pass_under_gevent() -> None:
    command = [sys.executable, "-c", UNDER_GEVENT, *FILES]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=240, cwd=ROOT)
    assert ran.returncode == 0, ran.stdout[-3000:] + ran.stderr[-3000:]
    assert " passed" in ran.stdout
