"""Checks the output of an analysis of several runs in one session, without starting Spark."""

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import pytest

from analysis import jobs
from records.verdicts import EXIT_STATUS


def test_of_several_runs_each_verdict_stands_below_the_name_of_its_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    verdicts = {"first": "pass", "second": "fail"}

    def analysed(run: Any, *_: object, conclusion: Callable[[dict[str, Any]], None], **__: object) -> dict[str, Any]:
        timing = {"note": "", "sound": ["latency_ms.due_to_received.p50"] if run.name == "first" else []}
        summary = {"verdict": verdicts[run.name], "reasons": [], "timing": timing, "offered_rate": {"note": ""}}
        conclusion(summary)
        return summary

    monkeypatch.setattr(jobs, "session", lambda *_, **__: nullcontext())
    monkeypatch.setattr(jobs, "analyse", analysed)
    assert jobs.main(list(verdicts)) == EXIT_STATUS["fail"]
    assert capsys.readouterr().out.splitlines()[1:] == [
        "analysis: run 1 of 2: first",
        "verdict: pass",
        "timing: every latency figure is sound.",
        "analysis: run 2 of 2: second",
        "verdict: fail",
        "timing: no latency was measured.",
    ]
