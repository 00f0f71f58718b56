"""Checks that a process of which nothing ran for a while has that on record, to the period of the sampler."""

from pathlib import Path

from tests.support.under_gevent import under_gevent


def test_stalls_of_a_process_are_recorded() -> None:
    under_gevent(Path(__file__).parent, ["stall_sampler_under_gevent.py", "--timeout=120"])
