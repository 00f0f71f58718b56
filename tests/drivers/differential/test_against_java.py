"""Checks that our clients act like ActiveMQ's Java client, at the same times, for the same URI and ports.

The Java client is right by definition. All clients play each case at once, twice or more, on separate ports. The
order of events has to agree in most rounds, and so has the shortest pause before each event. While a case does not
agree, there is another round: a busy machine rarely disturbs all clients in the same way.
"""

import re
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path

import pytest

from drivers.failover.uri import OPTION_NAMES, BadFailoverUriError, FailoverUri
from tests.drivers.differential.cases import (
    OTHERS,
    OUR_WORDS,
    REFUSED,
    ROUND_S,
    SLOW,
    SLOW_ROUND_S,
    TELLING,
    TELLING_NAMES,
    DifferentialCase,
)
from tests.drivers.differential.events import Event
from tests.drivers.differential.ports import DEAD
from tests.drivers.differential.rounds import JavaSide, RoundResult, play_java, play_ours

pytestmark = pytest.mark.brokers

PROTOCOLS = tuple(OUR_WORDS)
ROUNDS = range(2, 8)
TOLERANCE_MS = 60.0
"""Neither client is ever early, and both sleep a few ms too long on a busy machine; the nearest wrong delay of any case
is 100 ms away."""
SEND_TOLERANCE_MS = 160.0  # the Java client checks its timeout every 100 ms

NESTED = "nestedExtraQueryOptions"  # the transport's field for options with ``nested.``
LETTERS = "ABCD"
PASSES = 5_000
CHI_SQUARE = {3: 25.90, 23: 63.97}
"""By degrees of freedom, the value that chi-square exceeds once in 100,000 times if both distributions are equal."""


class Both:
    """Return the actions of Java's and our clients in each case. Plays more rounds while they disagree."""

    def __init__(
        self,
        java: JavaSide,
        folder: Path,
        cases: tuple[DifferentialCase, ...],
        rounds: range,
        for_s: float,
        protocols: tuple[str, ...] = PROTOCOLS,
    ) -> None:
        self.java = {case.name: RoundResult() for case in cases}
        self.ours = {protocol: {case.name: RoundResult() for case in cases} for protocol in protocols}
        with ThreadPoolExecutor(1 + len(protocols)) as at_once:
            for number in range(rounds.stop - 1):
                playing = [at_once.submit(play_java, java, cases, for_s, folder, self.java)]
                for protocol, seen in self.ours.items():
                    playing.append(at_once.submit(play_ours, protocol, cases, for_s, folder, seen, number))
                for each in playing:
                    each.result()
                if number + 1 in rounds and not self._any_difference(cases):
                    return

    def differences(self, case: DifferentialCase, protocol: str) -> list[str]:
        return differences(case, self.java[case.name], self.ours[protocol][case.name])

    def _any_difference(self, cases: tuple[DifferentialCase, ...]) -> bool:
        return any(self.differences(case, protocol) for case in cases for protocol in self.ours)


@pytest.fixture(scope="module")
def java(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JavaSide]:
    with JavaSide(tmp_path_factory.mktemp("java")) as side:
        yield side


@pytest.fixture(scope="module")
def telling(java: JavaSide, tmp_path_factory: pytest.TempPathFactory) -> Both:
    return Both(java, tmp_path_factory.mktemp("files"), TELLING, ROUNDS, ROUND_S)


@pytest.fixture(scope="module")
def others(java: JavaSide, tmp_path_factory: pytest.TempPathFactory) -> Both:
    return Both(java, tmp_path_factory.mktemp("files"), OTHERS, ROUNDS, ROUND_S)


@pytest.fixture(scope="module")
def slow(java: JavaSide, tmp_path_factory: pytest.TempPathFactory) -> Both:
    return Both(java, tmp_path_factory.mktemp("slow"), SLOW, ROUNDS, SLOW_ROUND_S)


def differences(case: DifferentialCase, java: RoundResult, ours: RoundResult) -> list[str]:
    """Return the cases where the two clients behaved differently, or at different times."""
    expected, did = java.sequence(case.events), ours.sequence(case.events)
    if len(expected) < case.events:
        return [f"the Java client did not do the same each time: {java.rounds}"]
    if did != expected:
        return [f"Java: {', '.join(expected)}; ours: {', '.join(did) or ours.rounds}"]
    lengths = {len(events) for events in (*java.alike(case.events), *ours.alike(case.events))}
    if "give up" in expected and lengths != {case.events}:
        return [f"a client continued after giving up: {sorted(lengths)} events"]
    pauses = zip(expected[1:], java.pauses_ms(case.events), ours.pauses_ms(case.events), strict=True)
    return [
        f"before {event}: Java {theirs:.0f} ms, ours {mine:.0f} ms"
        for event, theirs, mine in pauses
        if abs(theirs - mine) > TOLERANCE_MS
    ]


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("case", TELLING, ids=lambda case: case.name)
def test_the_attempts_are_those_of_the_java_client(case: DifferentialCase, protocol: str, telling: Both) -> None:
    assert telling.differences(case, protocol) == []


def test_every_telling_case_is_played() -> None:
    assert {case.name for case in TELLING} == TELLING_NAMES


@pytest.mark.nightly
@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("case", OTHERS, ids=lambda case: case.name)
def test_further_attempts_are_those_of_the_java_client(case: DifferentialCase, protocol: str, others: Both) -> None:
    assert others.differences(case, protocol) == []


@pytest.mark.nightly
@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("case", SLOW, ids=lambda case: case.name)
def test_slow_attempts_are_those_of_the_java_client(case: DifferentialCase, protocol: str, slow: Both) -> None:
    assert slow.differences(case, protocol) == []


@pytest.mark.nightly
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_send_without_a_broker_is_blocked_as_long_as_in_the_java_client(others: Both, protocol: str) -> None:
    name = "a send without a broker"
    javas, our_own = min(others.java[name].blocked_ms), min(others.ours[protocol][name].blocked_ms)
    assert our_own >= 500
    assert javas >= 500
    assert abs(javas - our_own) < SEND_TOLERANCE_MS


@pytest.mark.parametrize("option", REFUSED)
def test_what_the_java_client_refuses_is_refused(option: str, java: JavaSide) -> None:
    assert java.refuses(f"failover:(tcp://127.0.0.1:1)?{option}")
    with pytest.raises(BadFailoverUriError, match=option.partition("=")[0]):
        FailoverUri.parse(f"failover:(stomp://127.0.0.1:1)?{option}")


def test_the_options_are_those_that_the_java_client_can_be_told(java: JavaSide) -> None:
    assert java.settable() - {NESTED} == set(OPTION_NAMES)


def test_what_is_accepted_here_the_java_client_accepts(java: JavaSide) -> None:
    assert not java.refuses("failover:(tcp://127.0.0.1:1)?reconnectDelayExponent=2&Randomize=FALSE")


def passes_of(events: list[Event]) -> list[str]:
    """Return the order of each pass over the ports, such as ``CABD``."""
    attempts = [event.told.split()[1] for event in events if event.told.startswith("attempt")]
    return ["".join(attempts[at : at + len(LETTERS)]) for at in range(0, len(attempts), len(LETTERS))]


def chi_square(one: Counter[str], other: Counter[str]) -> float:
    """Test two samples for the hypothesis that they have the same distribution."""
    total = one.total() + other.total()
    result = 0.0
    for value in one | other:
        for sample in (one, other):
            expected = (one[value] + other[value]) * sample.total() / total
            result += (sample[value] - expected) ** 2 / expected
    return result


def shuffled(java: JavaSide, folder: Path, passes: int, for_s: float) -> tuple[list[str], list[str]]:
    """Return the orders of ``passes`` passes over four ports, by the Java client and by ours."""
    uri = "failover:({A},{B},{C},{D})?initialReconnectDelay=0&warnAfterReconnectAttempts=0&maxReconnectAttempts=" + str(
        passes
    )
    case = DifferentialCase("at random", uri, dict.fromkeys(LETTERS, DEAD), 4 * passes + 1)
    both = Both(java, folder, (case,), range(1, 2), for_s, ("stomp",))
    return passes_of(both.java[case.name].rounds[0]), passes_of(both.ours["stomp"][case.name].rounds[0])


def first_picks() -> dict[str, float]:
    """Return how often the biased shuffle puts each of four first, over all equally likely draws of four places."""
    counts: Counter[str] = Counter()
    for draws in product(range(len(LETTERS)), repeat=len(LETTERS)):
        order = list(LETTERS)
        for here, there in enumerate(draws):
            order[here], order[there] = order[there], order[here]
        counts[order[0]] += 1
    return {letter: count / counts.total() for letter, count in counts.items()}


def compare_distributions(javas: list[str], our_own: list[str], passes: int) -> None:
    assert len(javas) == len(our_own) == passes
    assert all(re.fullmatch(r"(?!.*(.).*\1)[ABCD]{4}", order) for order in (*javas, *our_own))
    assert chi_square(Counter(javas), Counter(our_own)) < CHI_SQUARE[23]
    for sample in (javas, our_own):
        first = Counter(order[0] for order in sample)
        expected = {letter: share * passes for letter, share in first_picks().items()}
        assert sum((first[at] - count) ** 2 / count for at, count in expected.items()) < CHI_SQUARE[3]


@pytest.mark.nightly
def test_brokers_are_picked_with_the_frequencies_of_the_java_client(java: JavaSide, tmp_path: Path) -> None:
    compare_distributions(*shuffled(java, tmp_path, PASSES, for_s=35.0), PASSES)
