"""Checks the verdict of a run and its reasons."""

import dataclasses
import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from analysis.run.aborts import aborted
from analysis.run.checks import evaluate, value_at
from analysis.run.verdict import Evidence, FailedFault, judge
from records.figures.abort import Abort, AbortCondition
from records.figures.buckets import bucket_of
from records.figures.checks import Check
from records.figures.latency import Lag
from records.figures.messages import Messages
from records.figures.percentiles import quantiles_ns
from records.figures.summary import CheckResult

NOTHING = dict.fromkeys(Messages.__annotations__, 0)
ON_TIME = Lag(p50=0.1, p99=9.9, p99_9=20.0, max=30.0, blocked_slots=0)
VERY_LATE = Lag(p50=900.0, p99=5_000.0, p99_9=9_000.0, max=30_000.0, blocked_slots=3)
P99 = "latency_ms.due_to_received.p99"
ITS_DOUBT = "the load generator itself was late: without its own delay p99 would be 1 ms instead of 9 ms"
GOOD = Evidence(
    state="ended",
    problems=(),
    unknowns=(),
    messages=Messages(**{**NOTHING, "sent": 10, "acked": 10, "received": 10}),  # type: ignore[typeddict-item]
    lag=ON_TIME,
    checks=(),
)
FAILED = CheckResult(name="no loss", metric="messages.lost", value=2, rule="<= 0", outcome="fail")
UNKNOWN = CheckResult(name="fast", metric="latency_ms.x.p99", value=None, rule="<= 5", outcome="unknown")
DOUBTFUL = CheckResult(name="quick", metric=P99, value=9.0, rule="<= 20", outcome="unknown")


ABORT = Abort(AbortCondition(P99, ">", 500), 812.0, 12.04)
SAID = f"the load was aborted after 12.0 s by --abort-on '{P99} > 500', as {P99} was 812"


def aborted_as(abort: Abort, analysed: float | None, doubtful: dict[str, str] | None = None) -> tuple[str, list[str]]:
    """Return verdict and reasons of an otherwise good aborted run. ``analysed``: the analysed figure."""
    results = aborted([abort], {"latency_ms": {"due_to_received": {"p99": analysed}}})
    evidence = dataclasses.replace(GOOD, aborts=[abort], aborted=results, doubtful=doubtful or {})
    return judge(evidence).verdict, list(judge(evidence).reasons)


def test_an_aborted_run_fails_with_reason_and_second() -> None:
    assert aborted_as(ABORT, 815.0) == ("fail", [SAID])
    assert aborted_as(ABORT, 815.0, {P99: "it was late"}) == (
        "fail",
        [f"{SAID}; the analyzed figure is doubtful, as it was late"],
    )


def test_an_abort_that_the_analysis_refutes_is_unknown() -> None:
    assert aborted_as(ABORT, 480.0) == (
        "unknown",
        [f"{SAID}; the analysis does not confirm that: over all events it is 480"],
    )
    assert aborted_as(ABORT, None) == (
        "unknown",
        [f"{SAID}; the analysis does not confirm that, as it has no such figure"],
    )


def test_an_abort_that_counted_the_warm_up_fails() -> None:
    """The analysis excludes the warm-up, so it cannot refute a figure that includes it."""
    verdict, (reason,) = aborted_as(dataclasses.replace(ABORT, in_warm_up=True, with_warm_up=True), None)
    assert verdict == "fail"
    assert reason.startswith("the run was aborted in its warm-up after 12.0 s by --abort-on")


@given(st.none() | st.floats(0, 1e6), st.booleans(), st.booleans())
def test_no_aborted_run_passes(analysed: float | None, in_warm_up: bool, with_warm_up: bool) -> None:
    abort = dataclasses.replace(ABORT, in_warm_up=in_warm_up, with_warm_up=with_warm_up)
    assert aborted_as(abort, analysed)[0] in ("fail", "unknown")


def test_a_run_with_nothing_against_it_is_a_pass() -> None:
    assert (judge(GOOD).verdict, judge(GOOD).reasons) == ("pass", ())


CASES = {
    "interrupted": ({"state": "interrupted"}, "interrupted", "the run was interrupted"),
    "killed": ({"state": "running"}, "invalid", "its state is 'running'"),
    "a torn stream": ({"problems": ("streams/sends/w1.arrows: torn",)}, "invalid", "streams/sends/w1.arrows: torn"),
    "nothing owed": (
        {"messages": Messages(**{**NOTHING, "sent": 9, "acked": 9, "received": 9, "unowed_yet_received": 9})},  # type: ignore[typeddict-item]
        "unknown",
        "9 messages were received, and no subscription was owed any of them",
    ),
    "nothing sent": ({"messages": Messages(**NOTHING)}, "invalid", "no message was sent"),  # type: ignore[typeddict-item]
    "sends missing": (
        {"messages": Messages(**{**NOTHING, "received": 4})},  # type: ignore[typeddict-item]
        "invalid",
        "no send is recorded, though 4 messages were received",
    ),
    "nothing received": (
        {"messages": Messages(**{**NOTHING, "sent": 4, "in_doubt": 4})},  # type: ignore[typeddict-item]
        "invalid",
        "no message was received: nothing was measured",
    ),
    "nothing received though all of it was confirmed": (
        {"messages": Messages(**{**NOTHING, "sent": 4, "acked": 4, "expected": 4, "lost": 3, "stranded": 1})},  # type: ignore[typeddict-item]
        "fail",
        "no message was received, though brokers confirmed 4: of 4 expected receptions, 3 lost, 1 left on a queue",
    ),
    "nothing received from a topic without subscriptions": (
        {"messages": Messages(**{**NOTHING, "sent": 4, "acked": 4})},  # type: ignore[typeddict-item]
        "invalid",
        "no message was received: nothing was measured",
    ),
    "nothing received as no selector matched": (
        {"messages": Messages(**{**NOTHING, "sent": 4, "acked": 4, "unselected": 4})},  # type: ignore[typeddict-item]
        "invalid",
        "no message was received, as no consumer's selector matches 4 of them: nothing was measured",
    ),
    "a check on a percentile of too few messages": (
        {"checks": (UNKNOWN,)},
        "unknown",
        "check 'fast' could not be evaluated: the run has no figure latency_ms.x.p99 (a p99 takes 1,000 messages)",
    ),
    "foreign messages": (
        {"foreign": "40 received from queue://orders at broker-1"},
        "unknown",
        "other clients sent messages to the run's destinations, so the load was not the scenario's own: 40 received "
        "from queue://orders at broker-1; stop those clients, or use destinations and brokers that no other client "
        "uses",
    ),
    "all in the warm-up": (
        {"lag": Lag(p50=None, p99=None, p99_9=None, max=None, blocked_slots=0)},
        "unknown",
        "no message was due in the load phase",
    ),
    "a check on a doubtful figure": (
        {"checks": (DOUBTFUL,), "doubtful": {P99: ITS_DOUBT}},
        "unknown",
        f"check 'quick' could not be evaluated: {P99} is doubtful, as {ITS_DOUBT}",
    ),
    "a fault not applied": (
        {"failed_faults": (FailedFault("kill", "broker-1", "no such process"),)},
        "invalid",
        "fault kill of broker-1 could not be applied: no such process",
    ),
    "corrupted messages that no check forbids": (
        {"messages": Messages(**{**NOTHING, "sent": 9, "acked": 9, "received": 9, "corrupted": 2})},  # type: ignore[typeddict-item]
        "fail",
        "2 of the deliveries had a corrupted body",
    ),
    "corrupted messages that a check names": (
        {
            "messages": Messages(**{**NOTHING, "sent": 9, "acked": 9, "received": 9, "corrupted": 2}),  # type: ignore[typeddict-item]
            "checks": (CheckResult(name="intact", metric="messages.corrupted", value=2, rule="<= 0", outcome="fail"),),
        },
        "fail",
        "check 'intact' failed: messages.corrupted is 2",
    ),
    "a failed check": ({"checks": (FAILED,)}, "fail", "check 'no loss' failed: messages.lost is 2, it must be <= 0"),
    "a check without a figure": ({"checks": (UNKNOWN,)}, "unknown", "the run has no figure latency_ms.x.p99"),
    "messages unaccounted for": (
        {
            "messages": Messages(**{**NOTHING, "sent": 10, "acked": 10, "unaccounted": 10}),  # type: ignore[typeddict-item]
            "unsearched": ("broker-1 did not answer",),
        },
        "unknown",
        "10 messages are unaccounted for, as they may be in places that could not be searched: broker-1 did not answer",
    ),
    "an unknown": ({"unknowns": ("queue dlq could not be browsed",)}, "unknown", "queue dlq could not be browsed"),
}


@pytest.mark.parametrize("case", CASES)
def test_each_fact_gives_its_verdict_and_says_so(case: str) -> None:
    change, verdict, words = CASES[case]
    judged = judge(dataclasses.replace(GOOD, **change))  # type: ignore[arg-type]
    assert judged.verdict == verdict
    assert len(judged.reasons) == 1
    assert words in judged.reasons[0]


def test_verdicts_have_a_precedence_and_keep_all_reasons() -> None:
    """Interrupted comes before invalid, fail and unknown."""
    evidence = dataclasses.replace(GOOD, checks=(FAILED, UNKNOWN))
    assert judge(evidence).verdict == "fail"
    evidence = dataclasses.replace(evidence, problems=("a worker was lost",))
    assert judge(evidence).verdict == "invalid"
    evidence = dataclasses.replace(evidence, state="interrupted")
    assert judge(evidence).verdict == "interrupted"
    assert len(judge(evidence).reasons) == 4


def test_without_lag_figures_nothing_is_said_about_lateness_but_it_is_no_pass() -> None:
    silent = Lag(p50=None, p99=None, p99_9=None, max=None, blocked_slots=0)
    judgement = judge(dataclasses.replace(GOOD, lag=silent))
    assert judgement.verdict == "unknown"
    assert not any("late" in reason.split() for reason in judgement.reasons)


def test_a_late_generator_and_unchecked_doubtful_figures_still_pass() -> None:
    late = dataclasses.replace(GOOD, lag=VERY_LATE, doubtful={P99: ITS_DOUBT})
    assert (judge(late).verdict, judge(late).reasons) == ("pass", ())


def test_a_check_on_a_doubtful_figure_is_unknown_whether_or_not_its_value_would_do() -> None:
    timing = {"doubtful": {"lag_ms.p50": "why"}}
    for at_most in (1.0, 100.0):
        (result,) = evaluate([Check("c", "lag_ms.p50", at_most=at_most)], {"lag_ms": {"p50": 7.0}, "timing": timing})
        assert (result["outcome"], result["value"]) == ("unknown", 7.0)


SUMMARY = {"messages": {"lost": 2}, "lag_ms": {"p99": None}, "wall": "2026", "leftovers": 0}


@pytest.mark.parametrize(
    ("check", "outcome"),
    [
        (Check("c", "messages.lost", at_most=2), "pass"),
        (Check("c", "messages.lost", at_most=1), "fail"),
        (Check("c", "messages.lost", at_least=3), "fail"),
        (Check("c", "messages.lost", at_least=1, at_most=2), "pass"),
        (Check("c", "lag_ms.p99", at_most=2), "unknown"),
        (Check("c", "messages.gained", at_most=2), "unknown"),
        (Check("c", "messages", at_most=2), "unknown"),
        (Check("c", "messages.lost.deeper", at_most=2), "unknown"),
        (Check("c", "wall", at_most=2), "unknown"),
        (Check("c", "messages.lost"), "unknown"),
    ],
)
def test_a_check_passes_fails_or_is_unknown(check: Check, outcome: str) -> None:
    (result,) = evaluate([check], SUMMARY)
    assert result["outcome"] == outcome


COUNTS = st.integers(min_value=0, max_value=12)
BOUNDS = st.none() | st.integers(min_value=-1, max_value=25)


@given(COUNTS, COUNTS, st.fixed_dictionaries(dict.fromkeys(("at_most", "at_least", "below", "above"), BOUNDS)))
def test_a_check_is_undecided_if_it_depends_on_how_many_unaccounted_messages_count(
    found: int, unaccounted: int, bounds: dict[str, int | None]
) -> None:
    assume(any(outcome(Check("c", "leftovers", **bounds), half / 2) == "pass" for half in range(-4, 54)))
    for metric in ("messages.lost", "messages.unselected", "recovery.lost"):
        check = Check("c", metric, **bounds)
        halves = range(2 * found, 2 * (found + unaccounted) + 1)  # figures need not be whole
        possible = {outcome(check, half / 2) for half in halves}
        assert outcome(check, found, unaccounted) == (possible.pop() if len(possible) == 1 else "unknown")


def outcome(check: Check, found: float, unaccounted: int = 0) -> str:
    counts = {"lost": found, "unselected": found}
    summary = {"messages": {**counts, "unaccounted": unaccounted}, "recovery": counts, "leftovers": found}
    (result,) = evaluate([check], summary)
    return result["outcome"]


def test_unaccounted_messages_of_another_kind_leave_a_check_decided() -> None:
    kinds = {"topic_persistent": {"lost": 0, "unaccounted": 0}, "queue_persistent": {"lost": 0, "unaccounted": 605}}
    checks = [Check(kind, f"kinds.{kind}.lost", at_most=0) for kind in kinds]
    results = evaluate(checks, {"messages": {"unaccounted": 605}, "kinds": kinds})
    assert {result["name"]: result["outcome"] for result in results} == {
        "topic_persistent": "pass",
        "queue_persistent": "unknown",
    }


@pytest.mark.parametrize(
    ("rule", "outcome"),
    [
        (Check("c", "recovery.gone", at_most=0), "unknown"),
        (Check("c", "recovery.gone", at_least=1), "unknown"),
        (Check("c", "recovery.gone", at_most=7), "pass"),
        (Check("c", "recovery.gone", at_least=8), "fail"),
        (Check("c", "recovery.lost_whole", at_most=0), "unknown"),
        (Check("c", "recovery.lost_tails", at_most=0), "unknown"),
        (Check("c", "recovery.oldest_lost_s", below=5), "unknown"),
    ],
)
def test_what_is_gone_may_be_less_if_messages_are_unaccounted_for(rule: Check, outcome: str) -> None:
    recovery = {"gone": 7, "lost_whole": 2, "lost_tails": 0, "oldest_lost_s": 4.0}
    (result,) = evaluate([rule], {"messages": {"unaccounted": 9}, "recovery": recovery})
    assert result["outcome"] == outcome


@pytest.mark.parametrize(("searched", "outcome"), [(True, "pass"), (False, "unknown")])
def test_that_nothing_is_left_is_not_known_if_a_place_was_not_searched(searched: bool, outcome: str) -> None:
    """Even if every message was received: a copy may be there."""
    checks = [Check("c", "leftovers", at_most=0), Check("c", "leftovers", at_least=1)]
    none_left, some_left = evaluate(checks, {"messages": {"unaccounted": 0}, "leftovers": 0}, searched=searched)
    assert none_left["outcome"] == outcome
    assert some_left["outcome"] == ("fail" if searched else "unknown")


def test_how_many_were_received_does_not_depend_on_unaccounted_messages() -> None:
    received = {"messages": {"received": 5, "unaccounted": 9}}
    (result,) = evaluate([Check("c", "messages.received", at_least=5, at_most=5)], received)
    assert result["outcome"] == "pass"


def test_a_check_that_unaccounted_messages_decide_is_told_with_the_lowest_value() -> None:
    undecided = CheckResult(name="no loss", metric="messages.lost", value=0, rule="<= 0", outcome="unknown")
    verdict = judge(dataclasses.replace(GOOD, checks=[undecided]))
    assert verdict.verdict == "unknown"
    assert verdict.reasons == (
        "check 'no loss' could not be evaluated: messages.lost is 0 as far as is known, but messages may be in places "
        "that could not be searched",
    )


def test_a_rule_reads_as_one_would_write_it() -> None:
    assert Check("c", "m", at_least=1, at_most=2.5).rule == ">= 1 and <= 2.5"
    assert value_at(SUMMARY, "leftovers") == 0


@given(st.lists(st.integers(min_value=-(10**12), max_value=10**12), min_size=1), st.floats(0.0001, 1))
def test_a_quantile_is_the_nearest_rank_within_0_8_percent(values: list[int], share: float) -> None:
    counts: dict[int, int] = {}
    for value in values:
        counts[bucket_of(value)] = counts.get(bucket_of(value), 0) + 1
    exact = sorted(values)[max(1, math.ceil(round(share * len(values), 6))) - 1]
    (quantile_ns,) = quantiles_ns(counts, [share])
    assert quantile_ns is not None
    assert abs(quantile_ns - exact) <= 0.008 * abs(exact)


def test_p99_of_a_hundred_values_is_the_99th() -> None:
    assert quantiles_ns(dict.fromkeys(range(1, 101), 1), [0.99, 1.0]) == [99, 100]


def test_no_values_have_no_quantile_and_a_share_above_one_is_refused() -> None:
    assert quantiles_ns({}, [0.5]) == [None]
    with pytest.raises(ValueError, match="share 99: a quantile needs a share above 0 and up to 1"):
        quantiles_ns({1: 1}, [99])
