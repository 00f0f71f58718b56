"""Checks that messages which cross links while queues are browsed are found, and that each counts once."""

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drivers.contract import Browsed, DriverError
from harness.run.brokers import BrokerEnvironment
from harness.run.leftovers import (
    MOST_PASSES,
    STILL_MOVED,
    BrowseResult,
    DeadLetterQueues,
    Leftover,
    LeftoverSearch,
    SearchDoubts,
    browse_broker,
)
from records.loads.identity import Identity, stamp
from records.run import RunInfo
from records.store.reader import read_events, seal
from records.store.rundir import RunDirectory
from records.store.writer import Recorder
from tests.analysis import oracle
from tests.analysis.rows import QUEUE, send
from topologies.catalogue.lookup import build
from topologies.model.endpoints import Credentials, Endpoint
from topologies.model.management import ManagementFailed

RUN, PRODUCER, FOREIGN = 7, 1, b"of somebody else"
NOBODY = Credentials("u", "p")
ORDERS, DEAD = "orders", "ActiveMQ.DLQ"
MOVING = STILL_MOVED.format(MOST_PASSES)
CUT_LINK = range(173)  # this number was once reported as lost
COUNT, BROWSE, COUNT_AGAIN, BROWSE_DEAD = range(4)

Steps = list[Callable[[], None]]


def body(seq: int, attempt: int = 1) -> bytes:
    return stamp(Identity(RUN, PRODUCER, seq, attempt), 64)


class SimulatedNetwork:
    """The brokers of a search, and the messages on their queues. Messages move just before a request.

    In a pass each broker gets four requests: COUNT and BROWSE, one broker after the other, and then COUNT_AGAIN and
    BROWSE_DEAD, one broker after the other.
    """

    def __init__(self, *brokers: str) -> None:
        self.brokers = brokers
        self.queues: dict[str, dict[str, list[bytes]]] = {broker: defaultdict(list) for broker in brokers}
        self.browsed: list[tuple[str, str]] = []
        self.silent: set[str] = set()  # brokers that do not answer
        self.refused: set[str] = set()  # brokers whose queues cannot be browsed
        self._asked = 0
        self._steps: dict[int, Steps] = defaultdict(list)

    @property
    def passes(self) -> float:
        return self._asked / (4 * len(self.brokers))

    def put(self, broker: str, seqs: Iterable[int], queue: str = ORDERS) -> None:
        self.queues[broker][queue] += map(body, seqs)

    def take(self, broker: str, seqs: Iterable[int], queue: str = ORDERS) -> None:
        for seq in seqs:
            self.queues[broker][queue].remove(body(seq))

    def before(self, number: int, question: int, broker: str, *steps: Callable[[], None]) -> None:
        """Plan an action just before a request of this pass. Passes are counted from 1."""
        half, part = divmod(question, 2)
        place = 2 * len(self.brokers) * half + 2 * self.brokers.index(broker) + part
        self.at((number - 1) * 4 * len(self.brokers) + place, *steps)

    def at(self, question: int, *steps: Callable[[], None]) -> None:
        self._steps[question] += steps

    def cross(self, seqs: Iterable[int], here: str, there: str) -> Callable[[], None]:
        """The messages cross a link."""

        def step() -> None:
            self.take(here, seqs)
            self.put(there, seqs)

        return step

    def _question(self) -> None:
        for step in self._steps.pop(self._asked, ()):
            step()
        self._asked += 1

    # the requests of a search

    def depths(self, broker: str) -> dict[str, int]:
        self._question()
        return self.depths_now(broker)

    def depths_now(self, broker: str) -> dict[str, int]:
        if broker in self.silent:
            raise ManagementFailed("it did not answer")
        return {queue: len(bodies) for queue, bodies in self.queues[broker].items()}

    def look(self, broker: str, depths: Mapping[str, int]) -> Iterator[BrowseResult]:
        self._question()
        here = Endpoint(broker, "stomp", "stomp://127.0.0.1:1")
        to = (NOBODY, RUN, DeadLetterQueues())
        return browse_broker(here, depths, self, *to, lambda: self.depths_now(broker))

    def browse(self, endpoint: Endpoint, credentials: Credentials, queue: str, *, timeout_s: float) -> list[Browsed]:
        if endpoint.broker in self.refused:
            raise DriverError("refused")
        self.browsed.append((endpoint.broker, queue))
        return [Browsed(message, 5) for message in self.queues[endpoint.broker][queue]]


def search(network: SimulatedNetwork, **how: Any) -> tuple[list[str], list[Leftover]]:
    """Return the doubts, and the messages that were found."""
    how = {"linked": True, "pause_s": 0.0, **how}
    leftover_search = LeftoverSearch(network.brokers, network.depths, network.look, DeadLetterQueues(), **how)
    return leftover_search.run(), list(leftover_search.leftovers())


def places(leftovers: Sequence[Leftover]) -> Counter[tuple[str, str, int]]:
    return Counter((leftover.broker, leftover.queue, leftover.seq) for leftover in leftovers)


def account(sent: Iterable[int], unknowns: Sequence[str], leftovers: Sequence[Leftover]) -> dict[str, int]:
    """Count the outcomes of acked messages that were not received, as the analysis does."""
    sends, leftovers = [send(seq, producer=PRODUCER) for seq in sent], [leftover._asdict() for leftover in leftovers]
    counts = oracle.accounting(sends, [], [], leftovers, searched=not unknowns)[QUEUE, ORDERS]
    return {name: counts[name] for name in ("lost", "stranded", "dead_lettered", "unaccounted") if counts[name]}


# -- messages that no pass could find


def test_messages_that_cross_a_link_between_the_looks_at_its_ends_are_found() -> None:
    network = SimulatedNetwork("a", "b")
    network.put("b", CUT_LINK)
    network.before(1, COUNT, "b", network.cross(CUT_LINK, "b", "a"))
    unknowns, leftovers = search(network)
    assert (unknowns, places(leftovers)) == ([], Counter(("a", ORDERS, seq) for seq in CUT_LINK))
    assert account(CUT_LINK, unknowns, leftovers) == {"stranded": 173}


def test_messages_that_cross_one_link_in_each_pass_are_found_at_the_end_of_their_way() -> None:
    network = SimulatedNetwork("a", "b", "c")
    network.put("c", [1, 2])
    network.put("b", [3])
    network.before(1, COUNT, "c", network.cross([1, 2], "c", "b"))
    network.before(2, COUNT, "b", network.cross([1, 2], "b", "a"))
    unknowns, leftovers = search(network)
    assert (unknowns, network.passes) == ([], 4)
    assert places(leftovers) == Counter([("a", ORDERS, 1), ("a", ORDERS, 2), ("b", ORDERS, 3)])


def test_movement_in_the_last_pass_leaves_missing_messages_unaccounted() -> None:
    """The movement is reported."""
    network = SimulatedNetwork("a", "b")
    network.put("b", range(9))  # 9 is nowhere
    for number in range(1, MOST_PASSES + 1):
        network.before(number, COUNT, "a", network.cross([number], "b", "a"))
    unknowns, leftovers = search(network)
    assert (unknowns, network.passes) == ([MOVING], MOST_PASSES)
    assert account(range(10), unknowns, leftovers) == {"stranded": 9, "unaccounted": 1}


def test_without_movement_a_message_that_is_nowhere_is_lost() -> None:
    network = SimulatedNetwork("a", "b")
    network.put("b", range(9))
    unknowns, leftovers = search(network)
    assert account(range(10), unknowns, leftovers) == {"stranded": 9, "lost": 1}


# -- each message counts once, and each copy where it is


def test_a_message_that_was_seen_at_both_ends_counts_where_it_was_seen_last() -> None:
    network = SimulatedNetwork("a", "b")
    network.put("b", [1, 2])
    network.before(2, COUNT, "a", network.cross([1], "b", "a"))
    unknowns, leftovers = search(network)
    assert (unknowns, network.passes) == ([], 3)
    assert places(leftovers) == Counter([("a", ORDERS, 1), ("b", ORDERS, 2)])


def test_a_message_that_two_brokers_have_is_found_twice() -> None:
    network = SimulatedNetwork("a", "b")
    network.put("a", [1])
    network.put("b", [1, 1, 2])
    unknowns, leftovers = search(network)
    assert (unknowns, network.passes) == ([], 2)
    assert places(leftovers) == Counter([("a", ORDERS, 1), *[("b", ORDERS, 1)] * 2, ("b", ORDERS, 2)])
    assert account([1, 2], unknowns, leftovers) == {"stranded": 2}


def test_a_second_copy_that_comes_to_a_queue_is_new_there() -> None:
    network = SimulatedNetwork("a", "b")
    network.put("a", [1])
    network.put("b", [1])
    network.before(2, COUNT, "b", network.cross([1], "a", "b"))
    unknowns, leftovers = search(network)
    assert (unknowns, network.passes) == ([], 3)
    assert places(leftovers) == Counter([("b", ORDERS, 1)] * 2)


def test_a_message_that_is_gone_counts_where_it_was_seen() -> None:
    network = SimulatedNetwork("a", "b")
    network.put("b", [1, 2])
    network.before(2, COUNT, "a", lambda: network.take("b", [1]))
    unknowns, leftovers = search(network)
    assert (unknowns, network.passes) == ([], 2)
    assert places(leftovers) == Counter([("b", ORDERS, 1), ("b", ORDERS, 2)])


def test_a_message_of_two_subscriptions_counts_for_each() -> None:
    """Even if one queue no longer shows it."""
    network = SimulatedNetwork("a", "b")
    for name in ("c-1.one", "c-2.two"):
        network.put("b", [1], name)
    network.before(2, COUNT, "a", lambda: network.take("b", [1], "c-1.one"))
    _, leftovers = search(network)
    assert places(leftovers) == Counter([("b", "c-1.one", 1), ("b", "c-2.two", 1)])


def test_a_message_expiring_between_passes_is_not_movement() -> None:
    network = SimulatedNetwork("a", "b")
    network.put("b", [1, 2])
    network.before(2, COUNT, "a", lambda: network.take("b", [1]), lambda: network.put("b", [1], DEAD))
    unknowns, leftovers = search(network)
    assert (unknowns, network.passes) == ([], 2)
    assert places(leftovers) == Counter([("b", DEAD, 1), ("b", ORDERS, 2)])
    assert account([1, 2], unknowns, leftovers) == {"dead_lettered": 1, "stranded": 1}


def test_messages_of_others_count_once_and_are_no_sign_of_movement() -> None:
    network = SimulatedNetwork("a", "b")
    network.queues["a"][DEAD] += [FOREIGN, FOREIGN]
    network.queues["b"][ORDERS] += [FOREIGN]
    network.put("b", [1])
    unknowns, leftovers = search(network)
    assert (unknowns, network.passes) == ([], 2)
    assert Counter((leftover.broker, leftover.is_ours) for leftover in leftovers) == {
        ("a", False): 2,
        ("b", False): 1,
        ("b", True): 1,
    }


# -- duration ----------------------------------------------------------------------------------------------------------


def test_where_nothing_is_left_each_broker_is_counted_and_nothing_is_browsed() -> None:
    network = SimulatedNetwork("a", "b")
    network.put("b", [], ORDERS)
    assert search(network) == ([], [])
    assert (network.passes, network.browsed) == (1, [])


def test_what_rests_is_browsed_twice_without_a_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "sleep", lambda _: pytest.fail("it waited"))
    network = SimulatedNetwork("a", "b")
    network.put("b", [1])
    assert search(network, pause_s=1.0)[0] == []
    assert network.browsed == [("b", ORDERS)] * 2


def test_between_passes_that_show_movement_there_is_a_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    waited = list[float]()
    monkeypatch.setattr(time, "sleep", waited.append)
    network = SimulatedNetwork("a", "b")
    network.put("b", [1])
    network.before(1, COUNT, "b", network.cross([1], "b", "a"))
    assert search(network, pause_s=1.0)[0] == []
    assert (waited, network.passes) == ([1.0, 1.0], 3)


def test_brokers_without_links_are_browsed_once() -> None:
    network = SimulatedNetwork("a", "b")
    network.put("b", [1])
    network.before(1, COUNT_AGAIN, "a", lambda: network.put("a", [2]))
    unknowns, leftovers = search(network, linked=False)
    assert (unknowns, places(leftovers), network.passes) == ([], Counter([("b", ORDERS, 1)]), 1)


@pytest.mark.parametrize(("crosses", "unknown"), [(False, []), (True, [STILL_MOVED.format(1)])])
def test_when_the_time_is_up_the_counts_say_whether_messages_moved(crosses: bool, unknown: list[str]) -> None:
    network = SimulatedNetwork("a", "b")
    network.put("b", [1, 2])
    if crosses:
        network.before(1, COUNT, "b", network.cross([1], "b", "a"))
    unknowns, leftovers = search(network, again_within_s=0.0)
    assert (unknowns, network.passes) == (unknown, 1)
    assert account([1, 2], unknowns, leftovers) == ({"stranded": 1, "unaccounted": 1} if crosses else {"stranded": 2})


# -- brokers and queues that do not answer


def test_a_queue_that_a_later_pass_shows_is_not_in_doubt() -> None:
    network = SimulatedNetwork("a", "b")
    network.put("a", [1])
    network.put("b", [2])
    network.refused.add("b")
    network.before(2, COUNT, "b", network.refused.clear)
    unknowns, leftovers = search(network)
    assert (unknowns, network.passes) == ([], 3)
    assert places(leftovers) == Counter([("a", ORDERS, 1), ("b", ORDERS, 2)])


def test_a_queue_that_no_pass_shows_is_told_once() -> None:
    network = SimulatedNetwork("a", "b")
    network.put("a", [1])
    network.put("b", [2])
    network.refused.add("b")
    unknowns, leftovers = search(network)
    assert unknowns == ["b: queue orders holds 1 messages, browsing it failed: refused"]
    assert account([1, 2], unknowns, leftovers) == {"stranded": 1, "unaccounted": 1}


def test_what_a_queue_showed_stays_when_it_cannot_be_browsed_again() -> None:
    network = SimulatedNetwork("a", "b")
    network.put("b", [1])
    network.before(2, COUNT, "b", lambda: network.refused.add("b"))
    unknowns, leftovers = search(network)
    assert unknowns == ["b: queue orders holds 1 messages, browsing it failed: refused"]
    assert places(leftovers) == Counter([("b", ORDERS, 1)])


def test_a_broker_that_does_not_answer_is_told_and_what_it_showed_before_stays() -> None:
    network = SimulatedNetwork("a", "b")
    network.put("b", [1])
    network.before(2, COUNT, "b", lambda: network.silent.add("b"))
    unknowns, leftovers = search(network)
    assert unknowns == ["what is left on b is not known: it did not answer"]
    assert places(leftovers) == Counter([("b", ORDERS, 1)])


# -- a whole run's browse


def test_a_run_records_each_message_once_and_says_that_messages_still_moved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "sleep", lambda _: None)
    network = SimulatedNetwork("broker-1", "broker-2")
    network.put("broker-2", range(5))
    for number in range(1, MOST_PASSES + 1):
        network.before(number, COUNT, "broker-2", network.cross([number], "broker-2", "broker-1"))
    options: Any = SimpleNamespace(runtime="memory", protocol="memory", built_topology=build("mesh(brokers=2)"))
    directory = RunDirectory.create(tmp_path, "run")
    directory.write_run(RunInfo("run", "s", "t", "memory", "memory"))
    recorder = Recorder(directory, "main")
    brokers = BrokerEnvironment(options, directory, recorder, "main", None, ())
    brokers._watch = SimpleNamespace(depths=network.depths)  # type: ignore[assignment]
    brokers._look = lambda _, *arguments: network.look(*arguments)  # type: ignore[method-assign]
    assert brokers.browse(RUN, expires=False) == SearchDoubts([MOVING])
    recorder.close()
    seal(directory)
    rows = read_events(directory, "leftovers").to_pylist()
    assert sorted((row["broker"], row["seq"]) for row in rows) == [
        ("broker-1", 1),
        ("broker-1", 2),
        ("broker-1", 3),
        ("broker-2", 0),
        ("broker-2", 4),
    ]


# -- any way


@st.composite
def crossings(draw: st.DrawFn) -> tuple[SimulatedNetwork, int]:
    """Draw a network with messages that cross a link at most once during a search, and the number of messages."""
    network = SimulatedNetwork(*"abcd"[: draw(st.integers(2, 4))])
    of_pass = 4 * len(network.brokers)
    messages = draw(st.integers(0, 6))
    for seq in range(messages):
        here = draw(st.sampled_from(network.brokers))
        network.put(here, [seq])
        there = draw(st.sampled_from(network.brokers))
        network.at(draw(st.integers(0, MOST_PASSES * of_pass)), network.cross([seq], here, there))
    return network, messages


@given(crossings())
def test_a_message_that_crosses_a_link_is_found_whenever_it_does(planted: tuple[SimulatedNetwork, int]) -> None:
    network, messages = planted
    unknowns, leftovers = search(network)
    assert unknowns in ([], [MOVING])
    times = Counter(leftover.seq for leftover in leftovers)
    assert times.keys() == set(range(messages))
    if not unknowns:
        assert set(times.values()) <= {1}, "nothing moved in the last pass, so no message was seen at two brokers"
