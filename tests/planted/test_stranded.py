"""Checks that messages on a queue without consumers are reported as stranded, not as lost."""

from pathlib import Path

import pytest

from tests.support.locust_run import make_run

pytestmark = [pytest.mark.brokers, pytest.mark.spark]


@pytest.mark.nightly
def test_messages_that_nobody_reads_are_stranded_and_not_lost(tmp_path: Path) -> None:
    outcome = make_run(
        "tests/planted/locustfiles/unread.py",
        "-t",
        "5s",
        "--warm-up",
        "0",
        runs=tmp_path / "runs",
    )
    unread = sum(row["destination"] == "queue://unread" for row in outcome.events("sends"))
    messages = outcome.summary["messages"]
    assert unread >= 40
    assert (messages["stranded"], messages["lost"]) == (unread, 0)
    assert messages["received"] == messages["sent"] - unread
    assert outcome.summary["verdict"] == "fail"
    assert [check["outcome"] for check in outcome.summary["checks"]] == ["pass", "fail"]
