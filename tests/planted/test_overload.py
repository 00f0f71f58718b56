"""Checks the report about a load that did not hold its rate: the cause, and the result of a check."""

from pathlib import Path

import pytest

from tests.support.locust_run import RunOutcome, make_run

pytestmark = pytest.mark.spark
P50 = "latency_ms.due_to_received.p50"
FIRST = "The offered rate was not held: "


def overloaded(folder: Path, limit: str, *arguments: str) -> RunOutcome:
    all_arguments = ("--runtime", "memory", *arguments)
    return make_run(
        "tests/planted/locustfiles/overloaded.py", *all_arguments, runs=folder / "runs", env={"LIMIT": limit}
    )


def first_words(outcome: RunOutcome) -> str:
    """Return the answer at the top of the report."""
    page = (outcome.run / "report.html").read_text(encoding="utf-8")
    return page.partition('<p class="answer">')[2].partition("</p>")[0]


@pytest.mark.nightly  # lifecycle/test_steady.py holds its rate too
def test_a_run_that_holds_its_rate_says_nothing_of_it(tmp_path: Path) -> None:
    outcome = overloaded(tmp_path, "nothing")
    rate = outcome.summary["offered_rate"]
    assert (rate["held"], rate["note"], outcome.summary["verdict"]) == (True, "", "pass"), outcome.output
    assert rate["owed_per_s"] == pytest.approx(200, rel=0.05)
    assert FIRST not in outcome.output


@pytest.mark.nightly  # on a busy machine, its cores are the limit instead of the bridge
@pytest.mark.brokers
def test_a_broker_that_forwards_half_the_rate_fails(tmp_path: Path) -> None:
    """The broker's bridge takes 60 messages per second, and 120 per second are sent.

    The latency is the broker's, so the check fails.
    """
    outcome = make_run(
        "scenarios/steady.py",
        *("--topology", "source-and-sink(rate_limit=60)", "-t", "16s", "--warm-up", "2", "--check", f"{P50} < 1000"),
        runs=tmp_path / "runs",
    )
    summary = outcome.summary
    rate = summary["offered_rate"]
    assert (rate["held"], rate["limited_by"]) == (False, "link"), outcome.output
    assert (summary["verdict"], outcome.status) == ("fail", 1), outcome.output
    assert rate["received_per_s"] < 90 < rate["owed_per_s"]
    assert P50 in summary["timing"]["sound"]
    assert any(f"{P50} < 1000" in reason for reason in summary["reasons"])
    assert first_words(outcome).startswith(FIRST)
    assert f"Rate:    {FIRST}" in outcome.output


@pytest.mark.nightly  # test_planted_errors.py plants the same as rows
def test_an_overloaded_generator_makes_the_check_unknown(tmp_path: Path) -> None:
    """The generator is loaded with twice the rate that it can send, which makes latency doubtful."""
    outcome = overloaded(tmp_path, "generator", "--messages", "1500")
    summary = outcome.summary
    rate = summary["offered_rate"]
    assert (rate["held"], rate["limited_by"]) == (False, "generator"), outcome.output
    assert (summary["verdict"], outcome.status) == ("unknown", 4)
    assert summary["timing"]["doubtful"][P50] == "the offered rate was not held, and the load generator was the limit"
    assert first_words(outcome).startswith(FIRST)


@pytest.mark.nightly  # the test above starves the generator alike
def test_messages_never_sent_invalidate_the_run(tmp_path: Path) -> None:
    """The run reports them as its first reason."""
    outcome = overloaded(tmp_path, "generator")
    assert (outcome.summary["verdict"], outcome.info["missed"] > 0) == ("invalid", True), outcome.output
    assert outcome.summary["offered_rate"]["limited_by"] == "generator"
    assert first_words(outcome).startswith(FIRST)


@pytest.mark.nightly  # test_planted_errors.py plants the same as rows
def test_a_growing_backlog_is_reported_with_sound_figures(
    tmp_path: Path,
) -> None:
    """The in-memory brokers have no fault."""
    outcome = overloaded(tmp_path, "broker", "-t", "8s")
    summary = outcome.summary
    assert (summary["offered_rate"]["held"], summary["verdict"]) == (False, "fail"), outcome.output
    assert P50 in summary["timing"]["sound"]
