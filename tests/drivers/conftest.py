"""Prints at the end of a test run how many tests of the conformance and differential suites passed."""

from pathlib import Path

import pytest

HERE = Path(__file__).parent
SUITES = ("conformance", "differential")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    passed = [report.nodeid for report in terminalreporter.stats.get("passed", ()) if report.when == "call"]
    for suite in SUITES:
        folder = (HERE / suite).relative_to(config.rootpath).as_posix()
        if count := sum(nodeid.startswith(f"{folder}/") for nodeid in passed):
            terminalreporter.write_line(f"{folder}: {count} passed")
