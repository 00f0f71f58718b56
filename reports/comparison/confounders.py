"""Describes what differs besides the arms: brokers on shared cores, links on a path, and where clients connect.

Arms of different sizes do not compare two shapes fairly: on shared cores each additional broker costs all of them time,
and each link that a message crosses is an additional hop in any topology.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from records.run import CONSUMER, PRODUCER, RunInfo
from reports.comparison.comparison import Comparison
from reports.parts.numbers import counted, joined, significant

TOPOLOGY = "topology"


@dataclass(frozen=True)
class Shape:
    """The brokers of one arm, and how its clients are spread over them.

    ``standbys``: the number of ``brokers`` that are standbys. ``pairs_by_links``: the number of pairs of a producer's
    and a consumer's broker that are 0, 1, 2, … links apart; empty if unknown. ``producers_at``, ``consumers_at``: the
    brokers where they enter.
    """

    name: str
    brokers: int
    standbys: int
    pairs_by_links: tuple[int, ...]
    producers_at: frozenset[str]
    consumers_at: frozenset[str]

    @property
    def broker_text(self) -> str:
        """Return ``5``, or ``6, including 3 standbys``."""
        return f"{self.brokers}, including {counted(self.standbys, 'standby')}" if self.standbys else str(self.brokers)

    @property
    def link_text(self) -> str:
        """0 or 1, on average 0.80; 1 to 3, on average 2.0: over all pairs, as if clients were spread evenly."""
        crossed = [links for links, pairs in enumerate(self.pairs_by_links) if pairs]
        if not crossed:
            return "not known"
        if len(crossed) == 1:
            return str(crossed[0])
        mean = sum(links * pairs for links, pairs in enumerate(self.pairs_by_links)) / sum(self.pairs_by_links)
        separator = " or " if len(crossed) == 2 else " to "
        return f"{crossed[0]}{separator}{crossed[-1]}, on average {significant(mean, 2)}"

    @property
    def entry_text(self) -> str:
        """Producers and consumers at the same 3 brokers; producers at 3 brokers, consumers at 1 other."""
        producing, consuming = counted(len(self.producers_at), "broker"), counted(len(self.consumers_at), "broker")
        if self.producers_at == self.consumers_at:
            return f"producers and consumers at the same {producing}"
        if self.producers_at & self.consumers_at:
            shared = len(self.producers_at & self.consumers_at)
            return f"producers at {producing}, consumers at {consuming}, both at {shared} of them"
        return f"producers at {producing}, consumers at {counted(len(self.consumers_at), 'other', 'others')}"


def shape_of(name: str, run: RunInfo) -> Shape:
    """Return the shape recorded in run.json."""
    standbys = sum(bool(broker.standby_of) for broker in run.brokers)
    enter_at = run.enter_at(PRODUCER), run.enter_at(CONSUMER)
    return Shape(name, len(run.brokers), standbys, run.pairs_by_links, *enter_at)


def confounding_differences(field: str, shapes: Sequence[Shape], cores: int, nearest: str = "") -> tuple[str, ...]:
    """Return a sentence for each difference in brokers, links and entry points, and one for the equal ones.

    The result is empty if arms of the same topology are equal. ``field``: the condition that makes the arms. ``cores``:
    the cores that all brokers of a run share; 0 if they share none. ``nearest``: a sentence that proposes arms with
    equal numbers of brokers.
    """
    on = f" on the same {counted(cores, 'core')}" if cores else ""
    kinds = (
        (f"Brokers{on}", [shape.broker_text for shape in shapes], "Each additional broker takes time on these cores."),
        ("Links that a message crosses", [shape.link_text for shape in shapes], "Each link adds a hop."),
        ("Where clients enter", [shape.entry_text for shape in shapes], ""),
    )
    different = [(subject, texts, effect) for subject, texts, effect in kinds if len(set(texts)) > 1]
    alike = [
        f"{subject[:1].lower()}{subject[1:]} ({texts[0]}{' each' if subject.startswith('Brokers') else ''})"
        for subject, texts, _ in kinds
        if len(set(texts)) == 1
    ]
    if not different and field != TOPOLOGY:
        return ()
    sentences = []
    for subject, texts, effect in different:
        by_arm = "; ".join(f"{shape.name}: {text}" for shape, text in zip(shapes, texts, strict=True))
        sentences.append(
            f"{subject}: {by_arm}.{f' {effect}' if effect and (cores or not subject.startswith('Brokers')) else ''}"
        )
    if alike:
        sentences.append(f"Equal: {joined(alike)}." if different else f"None of these differ: {joined(alike)}.")
    if nearest and len({shape.brokers for shape in shapes}) > 1:
        sentences.append(nearest)
    return tuple(sentences)


def confounder_lines(comparisons: Sequence[Comparison]) -> tuple[str, ...]:
    """Return the sentences of all scenarios on a page without repetitions."""
    sentences_by_scenario = [_of_one(comparison) for comparison in comparisons]
    if len(set(sentences_by_scenario)) == 1:
        return sentences_by_scenario[0]
    return tuple(
        f"Under {comparison.scenario}: {line}"
        for comparison, lines in zip(comparisons, sentences_by_scenario, strict=True)
        for line in lines
    )


def _of_one(comparison: Comparison) -> tuple[str, ...]:
    arms, field = comparison.design.arms, comparison.design.field
    shapes = [shape_of(arm.name, arm.runs[0].info) for arm in arms]
    cores = shared_cores(run.info for arm in arms for run in arm.runs)
    return confounding_differences(field, shapes, cores, comparison.nearest)


def shared_cores(runs: Iterable[RunInfo]) -> int:
    """Return the cores of the one machine on which brokers and clients ran; 0 if they ran on several."""
    cores = set()
    for run in runs:
        if not run.on_one_machine:
            return 0
        cores.add(int(run.machine.get("cores", 0)))
    return cores.pop() if len(cores) == 1 else 0
