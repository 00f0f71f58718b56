"""Checks that Java and Python clients use one clock, and that different clocks are rejected."""

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drivers.contract import DriverError
from drivers.jvm.vm import SAME_CLOCK_NS, require_one_clock

ROOT = Path(__file__).parents[3]
COMPARES = """
import time
import jpype
from drivers.jvm import vm
from drivers.jvm.hub import hub
from harness.java_parts import find_java_parts

vm.use(find_java_parts)
hub("openwire")
nano_time = jpype.JClass("java.lang.System").nanoTime
readings = [(time.perf_counter_ns(), nano_time(), time.perf_counter_ns()) for _ in range(10_000)]
print(all(before <= java <= after for before, java, after in readings))
print(time.get_clock_info("perf_counter").implementation)
"""


@pytest.mark.java
def test_each_reading_of_javas_clock_lies_between_two_of_pythons() -> None:
    command = [sys.executable, "-c", COMPARES]
    output = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True, timeout=90).stdout
    assert output.split() == ["True", "clock_gettime(CLOCK_MONOTONIC)"]


def reading(java_ns: int, *python_ns: int) -> None:
    unread = list(python_ns)
    require_one_clock(lambda: java_ns, lambda: unread.pop(0))


@given(st.integers(0, 2**62), st.integers(0, 10**9), st.floats(0, 1))
def test_a_reading_between_two_others_is_of_their_clock(before_ns: int, took_ns: int, share: float) -> None:
    reading(before_ns + round(took_ns * share), before_ns, before_ns + took_ns)


@pytest.mark.parametrize("off_ns", [-SAME_CLOCK_NS - 1, 1_000_000, -(10**15)])
def test_javas_clock_is_refused_if_it_is_not_pythons(off_ns: int) -> None:
    at_ns = 5 * 10**15
    with pytest.raises(DriverError, match="their times cannot be compared, so latencies would be wrong; run Java"):
        reading(at_ns + off_ns, at_ns, at_ns + 500)
