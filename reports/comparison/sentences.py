"""Puts a comparison into words: the answer, the outcomes of messages, and the runs and figures left out."""

from collections import Counter
from collections.abc import Sequence
from typing import cast

from records.figures.percentiles import LEAST_BEYOND
from reports.comparison.arms import Arm
from reports.comparison.comparison import ArmFigure, Comparison, Test
from reports.comparison.conditions import COMMIT
from reports.comparison.statistics import LEVEL
from reports.comparison.verdicts import BETTER, INVALID, SAME, UNDECIDED, WORSE, change_text, effect_text
from reports.parts.numbers import counted, joined, sentence

LIMITS = {
    "generator": "the load generator",
    "host": "the machine",
    "brokers": "the brokers",
    "link": "a link",
    "consumers": "the consumers",
}
"""Reasons for a rate that was not held, by their names in `records.figures.load.OfferedRate`."""


def answer(comparisons: Sequence[Comparison]) -> str:
    return " ".join(answers(comparisons))


def answers(comparisons: Sequence[Comparison]) -> tuple[str, ...]:
    """Return a line per scenario, with a sentence per primary figure."""
    return tuple(_of_scenario(comparison, several=len(comparisons) > 1) for comparison in comparisons)


def _of_scenario(comparison: Comparison, several: bool) -> str:
    sentences = [_of_figure(comparison, metric.path) for metric in comparison.primary]
    if several:
        return " ".join(f"Under {comparison.scenario}, {text}" for text in sentences)
    return " ".join(f"{text[:1].upper()}{text[1:]}" for text in sentences)


def _of_figure(comparison: Comparison, path: str) -> str:
    tests = [test for test in comparison.tests if test.figure.metric.path == path]
    clauses = [_clause(test, comparison.reference.name, comparison.same_within) for test in tests]
    begins_plainly = ("it is ", "it cannot ", "the ")  # not with the name of an arm
    further = (sentence(text) if text.startswith(begins_plainly) else f"{text}." for text in clauses[1:])
    return " ".join((f"{tests[0].figure.metric.title}: {clauses[0]}.", *further))


def _clause(test: Test, reference: str, same_within: float) -> str:
    """Return a clause such as ``hub-and-spoke is worse than mesh, 62 % higher (48 … 79 %)``."""
    arm, word, ratio = test.figure.arm, test.verdict.word, test.figure.against
    effect = effect_text(ratio) if ratio else ""
    if test.first is not None:
        later, ratio = effect or "not known", test.first.estimate
        first = f"the first {test.first.blocks} blocks, which decided the verdict"
        effect = f"{effect_text(ratio)} by {first} (by all: {later})"
    if test.verdict.by_rate:
        slower_arm = arm if word == WORSE else reference
        observed = effect and f". Observed: {effect}"
        return f"{arm} is {word} than {reference}, as {slower_arm} {test.verdict.by_rate}{observed}"
    if word in (BETTER, WORSE):
        return f"{arm} is {word} than {reference}, {effect}"
    if word == SAME:
        return f"{arm} is the same as {reference} within {same_within:g} %, {effect}"
    if word == INVALID:
        return f"the comparison of {arm} with {reference} is invalid"
    if ratio is None:
        return f"it is not known whether {arm} differs from {reference}: no block has the figure in both arms"
    if word == UNDECIDED:
        return f"it is undecided whether {arm} differs from {reference}. Observed: {effect}"
    return (
        f"it cannot be determined whether {arm} differs from {reference}: the runs do not repeat (unstable). "
        f"Observed: {effect}"
    )


def lead(comparisons: Sequence[Comparison]) -> str:
    """Return the line below the title: how the comparison was made."""
    leading = comparisons[0]
    return " · ".join(
        (
            *(_how_often(comparison) for comparison in comparisons),
            f"{counted(len(leading.design.arms), 'arm')} by {leading.design.field}",
            *(_primary(comparison, several=len(comparisons) > 1) for comparison in comparisons),
            f"{counted(leading.together, 'test')}, Holm at {LEVEL:g}, {leading.needed} blocks needed",
            f"brokerbench {leading.reference.runs[0].info.versions.get('brokerbench', 'version unknown')}",
        )
    )


def _how_often(comparison: Comparison) -> str:
    order = "as recorded" if comparison.design.recorded else "by the order of the runs"
    return f"{comparison.scenario} × {counted(len(comparison.design.blocks), 'block')} ({order})"


def _primary(comparison: Comparison, several: bool) -> str:
    figures = joined([metric.title for metric in comparison.primary])
    return f"primary{f' of {comparison.scenario}' if several else ''}: {figures}"


def messages(comparisons: Sequence[Comparison]) -> str:
    """Return a sentence on the outcomes of messages, over all runs of each arm."""
    names = [arm.name for arm in comparisons[0].design.arms]
    lost = {name: count for name in names if (count := total(comparisons, name, "lost"))}
    twice = {name: count for name in names if (count := total(comparisons, name, "duplicated"))}
    unaccounted = sum(total(comparisons, name, "unaccounted") for name in names)
    none_lost = "No acknowledged message is known to be lost" if unaccounted else "No arm lost an acknowledged message"
    told_lost = _by_arm("lost", lost) if lost else none_lost
    told_lost += f"; {counted(unaccounted, 'message')} of all arms unaccounted for" if unaccounted else ""
    told_twice = _by_arm("delivered twice", twice) if twice else "none delivered one twice"
    return f"{told_lost}; {told_twice}."


def _by_arm(outcome: str, counts: dict[str, int]) -> str:
    return f"{outcome.capitalize() if outcome == 'lost' else outcome}: " + ", ".join(
        f"{counted(count, 'message')} by {arm}" for arm, count in counts.items()
    )


def arm_of(comparison: Comparison, name: str) -> Arm:
    """Return the arm by name: scenarios have the same arms, but perhaps in another order."""
    return next(arm for arm in comparison.design.rows if arm.name == name)


def total(comparisons: Sequence[Comparison], arm: str, count: str) -> int:
    runs = [run for comparison in comparisons for run in arm_of(comparison, arm).runs]
    return sum(int(cast(dict[str, int], run.summary["messages"])[count]) for run in runs)


def noise(comparison: Comparison) -> tuple[str, ...]:
    """Return a sentence per primary figure about the difference between the first arm and its control."""
    control, reference = comparison.design.control, comparison.reference.name
    if control is None:
        return ()
    return tuple(_of_noise(comparison.figures[metric.path, control.name], reference) for metric in comparison.primary)


def _of_noise(figure: ArmFigure, reference: str) -> str:
    """Describe the noise.

    The estimate should be near 0; the largest difference shows the reliability of a single pair.
    """
    if figure.against is None:
        return f"Noise of {figure.metric.title}: no block has the figure in both runs of {reference}."
    largest = max(figure.used, key=abs)
    return (
        f"Noise of {figure.metric.title}: {reference} against itself is {effect_text(figure.against)} "
        f"over {counted(len(figure.used), 'block')}; "
        f"the block that differs most: {change_text(largest)}."
    )


def left_out(comparison: Comparison) -> tuple[str, ...]:
    """Return a sentence for each group of figures that were left out."""
    sentences = []
    for test in comparison.tests:
        figure, blocks = test.figure, counted(len(comparison.design.blocks), "block")
        where = f"left out of {figure.metric.title} of {figure.arm}"
        if figure.doubtful:
            were = "was" if figure.doubtful == 1 else "were"
            sentences.append(f"{figure.doubtful} of {blocks} {were} {where}: the timing is doubtful.")
        if figure.missing:
            were = "was" if figure.missing == 1 else "were"
            sentences.append(
                f"{figure.missing} of {blocks} {were} {where}: in one of their runs the figure is missing or 0."
            )
    return tuple(sentences)


def unsteady(comparison: Comparison) -> tuple[str, ...]:
    """Return, for each arm, the runs that missed the offered rate, were aborted, or whose warm-up did not settle."""
    sentences = []
    for arm in comparison.design.rows:
        runs = counted(len(arm.runs), "run")
        limits = Counter(LIMITS.get(run.rate_limited_by, "unknown") for run in arm.runs if run.rate_held is False)
        if limits:
            why = joined([f"{limit} in {count}" for limit, count in limits.most_common()])
            sentences.append(
                f"{arm.name} did not hold the offered rate in {limits.total()} of {runs}. The limit: {why}."
            )
        if aborted := sum(bool(run.aborted) for run in arm.runs):
            conditions = joined(
                [f"'{condition}'" for condition in dict.fromkeys(run.aborted for run in arm.runs) if condition]
            )
            sentences.append(f"The load of {arm.name} was aborted in {aborted} of {runs}, by --abort-on {conditions}.")
        if unsettled := sum(not run.warm_up_settled for run in arm.runs):
            sentences.append(f"The warm-up of {arm.name} did not settle in {unsettled} of {runs}.")
    return tuple(sentences)


def doubts(comparisons: Sequence[Comparison]) -> tuple[str, ...]:
    """Return the reasons for doubt: unlike runs, failed runs, and omitted runs and figures."""
    return tuple(dict.fromkeys(doubt for comparison in comparisons for doubt in doubts_of(comparison)))


def doubts_of(comparison: Comparison) -> tuple[str, ...]:
    unlike = [sentence(f"unlike runs: {difference}") for difference in comparison.design.unlike]
    odd = [
        f"{run.name} ({arm.name}) ended as {run.summary['verdict']}: {' '.join(run.summary['reasons']) or 'no reason'}"
        for arm in comparison.design.rows
        for run in arm.runs
        if run.summary["verdict"] != "pass"
    ]
    further = (*map(sentence, odd), *_commits(comparison), *_thin(comparison), *_one_machine(comparison))
    return (*unlike, *unsteady(comparison), *noise(comparison), *left_out(comparison), *further)


def _commits(comparison: Comparison) -> tuple[str, ...]:
    """Return a sentence if the harness changed between runs, which may have changed figures."""
    runs = [run.info for arm in comparison.design.arms for run in arm.runs]
    commits = list(dict.fromkeys(run.versions[COMMIT] for run in runs if COMMIT in run.versions))
    if len(commits) < 2:
        return ()
    return (f"The runs were made by several commits of brokerbench: {joined([str(commit) for commit in commits])}.",)


def _thin(comparison: Comparison) -> tuple[str, ...]:
    """Return a sentence about percentiles in the table that are based on fewer than ten messages."""
    runs = [run for arm in comparison.design.arms for run in arm.runs]
    sentences = []
    for metric in comparison.shown():
        beyond = metric.share_beyond
        thin = [run for run in runs if beyond and run.latency.count * beyond < LEAST_BEYOND]
        if thin:
            where = f"in {len(thin)} of {counted(len(runs), 'run')}"
            sentences.append(
                f"Fewer than ten messages lie beyond {metric.title} {where}: a reliable figure needs a longer load."
            )
    return tuple(sentences)


def _one_machine(comparison: Comparison) -> tuple[str, ...]:
    runs = [run.info for arm in comparison.design.arms for run in arm.runs]
    if not all(run.on_one_machine for run in runs):
        return ()
    return (
        "The brokers and clients of a run shared one machine: if its cores are busy, the figures measure the cores.",
    )
