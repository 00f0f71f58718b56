"""Checks the sentences on what would end a run without a verdict."""

import sys

import pytest

from scenarios.harness.exits import exit_problem


def test_an_exiting_greenlet_is_named_by_line() -> None:
    with pytest.raises(SystemExit) as caught:
        sys.exit(0)
    problem = exit_problem(caught.value, caught.tb)
    assert problem.startswith("a greenlet that a user or a listener spawned raised SystemExit: 0 (test_exits.py:")
