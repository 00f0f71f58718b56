"""The rate of false alarms of verdicts is within their level, and planted effects are found."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from math import exp, log
from typing import Any, cast

import numpy as np
import pytest
from scipy import stats

from records.figures.summary import Summary
from records.run import RunInfo
from reports.comparison.arms import Arm, Design
from reports.comparison.comparison import Comparison, JudgedDesign, compare
from reports.comparison.metrics import METRICS, PRIMARY, Metric, primary_metrics
from reports.comparison.runs import AnalysedRun
from reports.comparison.sentences import answer, unsteady
from reports.comparison.statistics import Estimate
from reports.comparison.verdicts import UNDECIDED, FigureTest, change_text, interval_text, judge, percent_text
from reports.parts.histogram import Histogram

CPU = "throughput.cpu_ms_per_message_brokers"
P50, P99, MAX = (f"latency_ms.due_to_received.{name}" for name in ("p50", "p99", "max"))
USUAL = 0.0687 / 2**0.5
"""Spread of a run. The ratio of two such runs has the spread that docs/comparing.md uses for the power."""


def run(name: str, values: dict[str, float | None], verdict: str = "pass", doubtful: Sequence[str] = ()) -> AnalysedRun:
    summary: dict[str, Any] = {
        "verdict": verdict,
        "reasons": ["The broker died."],
        "latency_ms": {},
        "throughput": {},
        "timing": {"doubtful": dict.fromkeys(doubtful, "late")},
        "offered_rate": {"held": None, "limited_by": None},
        "aborted": [],
        "warm_up": {"end": "fixed"},
    }
    for path, value in values.items():
        *parents, last = path.split(".")
        place = summary
        for parent in parents:
            place = place.setdefault(parent, {})
        place[last] = value
    info = RunInfo(name, "steady", "mesh", "processes", "stomp")
    return AnalysedRun(name, info, cast(Summary, summary), Histogram(()))


def compared(
    arms: Sequence[Sequence[AnalysedRun]], primary: Sequence[str] = (PRIMARY,), same_within: float = 5.0
) -> Comparison:
    arms_of_runs = tuple(Arm("abcdefgh"[at], tuple(runs)) for at, runs in enumerate(arms))
    blocks = tuple(str(n + 1) for n in range(len(arms[0])))
    judged_design = JudgedDesign(Design("topology", arms_of_runs, blocks, False), primary_metrics(primary))
    (comparison,) = compare([judged_design], same_within)
    return comparison


def planted(
    random: np.random.Generator,
    blocks: int,
    ratios: Sequence[dict[str, float]],
    paths: Sequence[str] = (PRIMARY,),
    deviation: float = USUAL,
) -> list[list[AnalysedRun]]:
    """``ratios[arm][path]`` (1 where absent) on a level of each block's own, with noise of each run's own."""
    levels = random.lognormal(2, 0.3, (blocks, len(paths)))
    noise = np.exp(random.normal(0, deviation, (len(ratios), blocks, len(paths))))
    return [
        [
            run(f"{arm}-{b}", {p: levels[b, i] * ratio.get(p, 1.0) * noise[arm, b, i] for i, p in enumerate(paths)})
            for b in range(blocks)
        ]
        for arm, ratio in enumerate(ratios)
    ]


def words(comparison: Comparison) -> list[str]:
    return [test.verdict.word for test in comparison.tests]


def of_ratios(*ratios: float, path: str = PRIMARY, same_within: float = 5.0) -> Comparison:
    reference_runs = [run(f"a-{n}", {path: 10.0 + n}) for n in range(len(ratios))]
    compared_runs = [run(f"b-{n}", {path: (10.0 + n) * ratio}) for n, ratio in enumerate(ratios)]
    return compared([reference_runs, compared_runs], [path], same_within)


@pytest.mark.parametrize(("arms", "primary", "blocks"), [(2, (P99,), 7), (3, (P50, P99), 8), (4, (P50, P99, MAX), 9)])
def test_arms_that_do_not_differ_raise_no_more_alarms_than_the_level_says(
    arms: int, primary: tuple[str, ...], blocks: int
) -> None:
    """Of whole comparisons: one with any `better` or `worse` is one false alarm, however many tests it holds."""
    random, times = np.random.default_rng(arms), 100
    alarms = sum(
        bool({"better", "worse"} & set(words(compared(planted(random, blocks, [{}] * arms, primary), primary, 0.0001))))
        for _ in range(times)
    )
    assert stats.binomtest(alarms, times, 0.05, alternative="greater").pvalue > 0.001, alarms


def test_a_difference_taken_as_the_same_makes_alarms_rarer_still() -> None:
    random = np.random.default_rng(3)
    times = 120
    counts = Counter(word for _ in range(times) for word in words(compared(planted(random, 10, [{}, {}]))))
    alarms = counts["worse"] + counts["better"]
    assert stats.binomtest(alarms, times, 0.025, alternative="greater").pvalue > 0.001, alarms


@pytest.mark.parametrize(("effect", "blocks", "power"), [(1.10, 7, 0.83), (1.10, 10, 0.96), (1.20, 7, 0.99)])
def test_a_planted_effect_is_found_with_the_power_that_is_stated(effect: float, blocks: int, power: float) -> None:
    random, times = np.random.default_rng(blocks), 200
    counts = Counter(
        word for _ in range(times) for word in words(compared(planted(random, blocks, [{}, {PRIMARY: effect}])))
    )
    assert counts["worse"] / times == pytest.approx(power, abs=0.06)
    assert counts["better"] == 0


def test_five_percent_more_is_seldom_worse_where_five_percent_count_as_the_same() -> None:
    random, times = np.random.default_rng(5), 120
    counts = Counter(word for _ in range(times) for word in words(compared(planted(random, 10, [{}, {PRIMARY: 1.05}]))))
    assert counts["better"] == 0
    assert 0.2 < counts["worse"] / times < 0.5


def test_an_effect_is_found_in_its_arm_and_its_figure_and_nowhere_else() -> None:
    random, times, primary = np.random.default_rng(20), 100, (P50, P99)
    counts_by_place: dict[tuple[str, str], Counter[str]] = {(arm, path): Counter() for arm in "bc" for path in primary}
    for _ in range(times):
        comparison = compared(planted(random, 10, [{}, {}, {P99: 1.2}], primary), primary)
        for test in comparison.tests:
            counts_by_place[test.figure.arm, test.figure.metric.path][test.verdict.word] += 1
    assert counts_by_place["c", P99]["worse"] / times > 0.97
    elsewhere = sum(
        counts["worse"] + counts["better"] for place, counts in counts_by_place.items() if place != ("c", P99)
    )
    assert stats.binomtest(elsewhere, times, 0.05, alternative="greater").pvalue > 0.001, elsewhere


def test_a_latency_that_falls_is_better_and_a_rate_that_falls_is_worse() -> None:
    ratios = [0.8 + 0.01 * n for n in range(7)]
    assert words(of_ratios(*ratios)) == ["better"]
    assert words(of_ratios(*ratios, path="throughput.received_per_s")) == ["worse"]
    reason = of_ratios(*ratios).tests[0].verdict.reasons[0]
    assert reason.startswith("It is 17 % lower (−19 … −15 %), more than the 5 % that count as the same; p is 0.016")


def test_an_interval_within_the_limit_is_the_same() -> None:
    near = [1.004, 0.997, 1.01, 0.99, 1.002, 0.996, 1.008]
    assert words(of_ratios(*near)) == ["same"]
    assert words(of_ratios(*near, same_within=0.5)) == ["undecided"]


def test_a_difference_that_is_sure_but_smaller_than_the_limit_is_never_worse() -> None:
    small = [1.02 + 0.001 * n for n in range(8)]
    assert words(of_ratios(*small)) == ["same"]
    straddling = of_ratios(1.03, 1.02, 1.045, 1.035, 1.07, 1.08, 1.085, 1.025)
    assert words(straddling) == ["undecided"]
    assert "it may be smaller than 5 %" in straddling.tests[0].verdict.reasons[0]


def test_runs_that_do_not_repeat_are_unstable_and_no_undecided() -> None:
    comparison = of_ratios(0.3, 3.0, 0.5, 2.2, 0.9, 4.0, 0.25, 1.5)
    assert words(comparison) == ["unstable"]
    assert "Find out why the runs do not repeat" in comparison.tests[0].verdict.reasons[0]


@pytest.mark.parametrize(
    ("low", "high", "p", "reason"),
    [
        (-0.2, 0.1, 0.3, "includes both no difference and one of more than 5 %"),
        (-0.12, -0.042, 0.09, "excludes no difference, but the test does not: p is 0.09"),
        (-0.12, -0.042, 0.01, "but it may be smaller than 5 %"),
    ],
)
def test_undecided_says_what_the_test_found(low: float, high: float, p: float, reason: str) -> None:
    """An interval that excludes no difference was once said to include it."""
    ratios = (-0.1, -0.09, -0.045, -0.04, -0.04, -0.04, -0.04)
    question = FigureTest(ratios, higher_is_better=False, tests=2)
    verdict = judge(question, Estimate(-0.0401, low, high, 0.98), p)
    assert verdict.word == UNDECIDED
    assert reason in verdict.reasons[0]


def test_three_blocks_give_no_verdict_but_say_what_could_have_been_told() -> None:
    comparison = of_ratios(1.4, 1.5, 1.45)
    assert words(comparison) == ["undecided"]
    why, effect, forecast = comparison.tests[0].verdict.reasons
    assert why == (
        "3 blocks cannot give a verdict: the smallest p under Holm would be 0.25. "
        "With 1 test at 0.05, a verdict needs 7 blocks."
    )
    assert effect == "Observed: 45 % higher (40 … 50 %, 75 % confidence); 3 of 3 blocks point the same way."
    assert forecast.startswith("With 7 blocks that spread as these do, a difference of 5 % or more would be detected")


def test_one_block_says_what_it_saw_and_forecasts_nothing() -> None:
    assert len(of_ratios(1.3).tests[0].verdict.reasons) == 2


def test_more_tests_need_more_blocks() -> None:
    alike = [
        [run(f"{arm}-{n}", {P50: 10.0 * arm, P99: 10.0 * arm, MAX: 9.0}) for n in range(7)] for arm in (1, 2, 3, 4)
    ]
    comparison = compared(alike, (P50, P99, MAX))
    assert (len(comparison.tests), comparison.needed) == (9, 9)
    assert set(words(comparison)) == {"undecided"}


@pytest.mark.parametrize("verdict", ["invalid", "interrupted"])
def test_an_invalid_run_makes_the_verdicts_of_its_arm_invalid_and_no_others(verdict: str) -> None:
    arms = [[run(f"{arm}-{n}", {PRIMARY: 10.0 + n}) for n in range(7)] for arm in "abc"]
    arms[1][3] = run("b-3", {PRIMARY: 10.0}, verdict)
    comparison = compared(arms)
    assert words(comparison) == ["invalid", "same"]
    assert comparison.tests[0].verdict.reasons[0].startswith(f"b-3 is an {verdict} run: The broker died.")
    arms[0][0] = run("a-0", {PRIMARY: 10.0}, verdict)
    assert words(compared(arms)) == ["invalid", "invalid"]


def test_a_failed_run_is_compared() -> None:
    arms = [[run(f"{arm}-{n}", {PRIMARY: 10.0 + n}, "fail") for n in range(7)] for arm in "ab"]
    assert words(compared(arms)) == ["same"]


def test_doubtful_figures_are_left_out_with_their_block_and_counted() -> None:
    arms = [[run(f"{arm}-{n}", {PRIMARY: 10.0 + n, P50: 3.0}) for n in range(8)] for arm in "ab"]
    arms[1][2] = run("b-2", {PRIMARY: 900.0, P50: 3.0}, doubtful=[PRIMARY])
    arms[0][5] = run("a-5", {PRIMARY: None, P50: 3.0})
    figure = compared(arms).figures[PRIMARY, "b"]
    assert (figure.doubtful, figure.missing, len(figure.used)) == (1, 1, 6)
    assert (figure.log_ratios[2], figure.log_ratios[5]) == (None, None)
    assert compared(arms).figures[P50, "b"].doubtful == 0
    assert words(compared(arms)) == ["undecided"]


def test_no_figure_in_any_block_is_undecided_and_says_so() -> None:
    comparison = compared([[run("a", {PRIMARY: None})], [run("b", {PRIMARY: 0.0})]])
    assert comparison.tests[0].verdict.reasons == ("No block has this figure in both arms.",)


def test_every_figure_is_described_without_a_verdict() -> None:
    comparison = of_ratios(1.2, 1.25, 1.3, 1.22, 1.27, 1.21, 1.24)
    primary, rate = comparison.figures[PRIMARY, "b"], comparison.figures["throughput.received_per_s", "b"]
    assert primary.interval_excludes_1
    assert not rate.interval_excludes_1
    assert primary.against is not None
    assert exp(primary.against.center) == pytest.approx(1.24, abs=0.01)
    assert [test.figure.metric.path for test in comparison.tests] == [PRIMARY]


@pytest.mark.parametrize(
    ("ratio", "text"),
    [(1.62, "62 % higher"), (0.9, "10 % lower"), (1.052, "5.2 % higher"), (1.0, "unchanged"), (4.23, "× 4.2")],
)
def test_a_ratio_is_told_as_a_change(ratio: float, text: str) -> None:
    assert change_text(log(ratio)) == text


def test_an_interval_is_told_in_per_cent_with_its_confidence_if_that_is_low() -> None:
    assert interval_text(Estimate(0.4, log(1.48), log(1.79), 0.953)) == "48 … 79 %"
    assert interval_text(Estimate(0.0, log(0.97), log(1.29), 0.75)) == "−3 … 29 %, 75 % confidence"
    assert percent_text(log(1.2)) == "20 %"


def test_the_timing_figures_are_the_latencies() -> None:
    assert {metric.path for metric in METRICS.values() if metric.timing} >= {PRIMARY, P50}
    assert not METRICS["throughput.received_per_s"].timing
    assert isinstance(METRICS[PRIMARY], Metric)


def held(*rates: bool | str | None, topology: str = "mesh", cpu_ms: float = 2.0) -> list[AnalysedRun]:
    """A run for each: whether its rate was held, or what limited it if it was not; None: it was not judged."""
    runs = []
    for number, rate in enumerate(rates):
        planted_run = run(f"{topology}-{number}", {CPU: cpu_ms + number / 10})
        not_held = isinstance(rate, str)
        judged = {"held": False if not_held else rate, "limited_by": rate if not_held else None}
        runs.append(replace(planted_run, summary=cast(Summary, {**planted_run.summary, "offered_rate": judged})))
    return runs


def test_an_arm_that_did_not_hold_the_rate_is_worse() -> None:
    """The cause is its brokers alone. Its figure is better than the other arm's."""
    slow = compared(
        [held(*[True] * 7), held(*["brokers", "link", "consumers", "unknown"], *["brokers"] * 3, cpu_ms=1)], [CPU]
    )
    (test,) = slow.tests
    assert (test.verdict.word, test.verdict.reasons) == (
        "worse",
        ("It did not hold the offered rate in 7 blocks in which the first arm did.",),
    )
    assert "b is worse than a, as b did not hold the offered rate. Observed:" in answer([slow])


def test_a_first_arm_that_alone_did_not_hold_the_rate_makes_the_other_better() -> None:
    (test,) = compared([held(*["brokers"] * 7), held(*[True] * 7, cpu_ms=3)], [CPU]).tests
    assert (test.verdict.word, test.verdict.by_rate) == ("better", "did not hold the offered rate")


@pytest.mark.parametrize(
    ("reference_held", "compared_held"),
    [
        pytest.param([True] * 7, ["host"] * 7, id="the machine was the limit"),
        pytest.param([True] * 7, ["generator"] * 7, id="the load generator was the limit"),
        pytest.param(["brokers"] * 7, ["brokers"] * 7, id="neither held it"),
        pytest.param([None] * 7, ["brokers"] * 7, id="the first was not judged"),
        pytest.param([True] * 7, [True, *["brokers"] * 6], id="too few blocks"),
        pytest.param([True] * 7 + ["brokers"], ["brokers"] * 7 + [True], id="both ways"),
    ],
)
def test_without_enough_blocks_that_all_point_one_way_the_figure_itself_decides(
    reference_held: Sequence[bool | str | None], compared_held: Sequence[bool | str | None]
) -> None:
    (test,) = compared([held(*reference_held), held(*compared_held)], [CPU]).tests
    assert (test.verdict.word, test.verdict.by_rate) == ("same", "")


def aborted(runs: Sequence[AnalysedRun]) -> list[AnalysedRun]:
    """The same runs, as if --abort-on had ended their loads."""
    condition = {"condition": "messages.failed > 0"}
    return [replace(run, summary=cast(Summary, {**run.summary, "aborted": [condition]})) for run in runs]


def test_an_arm_aborted_in_every_block_is_worse() -> None:
    """Its figures are better, because they cover a different, shorter load."""
    slow = compared([held(*[True] * 7), aborted(held(*[True] * 7, cpu_ms=1))], [CPU])
    (test,) = slow.tests
    assert (test.verdict.word, test.verdict.reasons) == (
        "worse",
        ("It did not hold the offered rate or was aborted in 7 blocks in which the first arm did.",),
    )
    assert "b is worse than a, as b did not hold the offered rate or was aborted." in answer([slow])
    assert "The load of b was aborted in 7 of 7 runs, by --abort-on 'messages.failed > 0'." in unsteady(slow)


def test_an_aborted_arm_wins_no_block() -> None:
    """One block of eight is left out; in it the aborted arm had by far the best figure."""
    best = aborted(held(True, cpu_ms=0.01))
    (test,) = compared([held(*[True] * 8), [*best, *held(*[True] * 8)[1:]]], [CPU]).tests
    assert (test.figure.log_ratios[0], len(test.figure.used), test.figure.doubtful) == (None, 7, 1)
    assert test.verdict.word == "same"


@pytest.mark.parametrize("both", [True, False])
def test_aborted_arms_are_never_better(both: bool) -> None:
    reference = held(*[True] * 7, cpu_ms=3)
    (test,) = compared([aborted(reference) if both else reference, aborted(held(*[True] * 7, cpu_ms=1))], [CPU]).tests
    assert test.verdict.word == ("undecided" if both else "worse")


def test_doubts_count_unsteady_runs_per_arm() -> None:
    """Unsteady runs did not settle or did not hold the offered rate."""
    reference_runs, compared_runs = held(*[True] * 3), held(True, "brokers", "host", topology="tree")
    unsettled = [
        replace(planted_run, summary=cast(Summary, {**planted_run.summary, "warm_up": {"end": "not_settled"}}))
        for planted_run in reference_runs
    ]
    assert unsteady(compared([unsettled[:2] + reference_runs[2:], compared_runs], [CPU])) == (
        "The warm-up of a did not settle in 2 of 3 runs.",
        "b did not hold the offered rate in 2 of 3 runs. The limit: the brokers in 1 and the machine in 1.",
    )
    assert unsteady(compared([held(True, None), held(True, True)], [CPU])) == ()


def test_a_run_whose_rate_was_not_judged_is_said_nothing_of() -> None:
    unjudged = run("one", {CPU: 1.0})
    assert (unjudged.rate_held, unjudged.fell_short, unjudged.warm_up_settled) == (None, False, True)
