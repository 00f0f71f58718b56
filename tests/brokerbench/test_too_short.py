"""Checks that a comparison says beforehand which percentiles its runs are too short for."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from brokerbench.cli import main
from brokerbench.compare import command
from brokerbench.compare.making import short_run_warnings
from brokerbench.compare.session import ComparisonSession
from records.errors import UserError
from reports.comparison.metrics import METRICS

P99 = METRICS["latency_ms.due_to_received.p99"]
RATE = METRICS["throughput.received_per_s"]


def session(folder: Path) -> ComparisonSession:
    return ComparisonSession("s", Path("steady.py"), "topology", ("mesh", "single"), (), 7, folder)


def arm(messages: float | None, load_s: float | None = 10.0) -> dict[str, float | None]:
    return {"expected_messages": messages, "expected_load_s": load_s}


def test_600_messages_are_too_few_for_a_p99(tmp_path: Path) -> None:
    (line,) = short_run_warnings(session(tmp_path), [arm(600), arm(600)], [P99])
    assert line == (
        "steady: latency_ms.due_to_received.p99 needs 1,000 messages in each run, and a run has about 600, so there "
        "will be no verdict on it: make each run longer with -t 20s, or choose another figure with --primary"
    )


def test_the_arm_with_fewest_messages_decides(tmp_path: Path) -> None:
    assert short_run_warnings(session(tmp_path), [arm(5_000), arm(999)], [P99])
    assert not short_run_warnings(session(tmp_path), [arm(5_000), arm(1_000)], [P99])


def test_a_load_that_ends_by_count_takes_more_messages(tmp_path: Path) -> None:
    (line,) = short_run_warnings(session(tmp_path), [arm(600, None)], [P99])
    assert "send more messages" in line


@pytest.mark.parametrize("messages", [None, 600])
def test_rates_take_no_number_of_messages(tmp_path: Path, messages: float | None) -> None:
    """None: if the rate changes, the number of messages is not known in advance."""
    assert not short_run_warnings(session(tmp_path), [arm(messages)], [RATE])
    assert not short_run_warnings(session(tmp_path), [arm(None)], [P99])


def test_compare_warns_of_600_messages_before_it_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole command up to its first run: 60 messages per second for 10 s, and the p99 as the figure."""

    def start(*_: object) -> list[Path]:
        raise UserError("the first run begins")

    monkeypatch.setattr(command, "make", start)
    arguments = ["compare", "--scenario", "steady", "--topologies", "single,source-and-sink", "-t", "10s"]
    result = CliRunner().invoke(
        main, [*arguments, "--runs", str(tmp_path), "--", "--runtime", "memory", "--rate", "60"]
    )
    assert "the first run begins" in result.output.splitlines()[-1]
    assert result.output.splitlines()[-2] == (
        "steady: latency_ms.due_to_received.p99 needs 1,000 messages in each run, and a run has about 600, so there "
        "will be no verdict on it: make each run longer with -t 20s, or choose another figure with --primary"
    )
