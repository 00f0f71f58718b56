"""Checks that messages left on queues are found, with dead letters marked and canaries left out."""

from pathlib import Path

import pytest

from drivers.contract import Browsed, DriverError
from harness.run.leftovers import DeadLetterQueues, Leftover, browse_broker
from records.loads.identity import Identity, stamp
from topologies.catalogue.lookup import build
from topologies.catalogue.overlay import apply_overlay
from topologies.model.endpoints import Credentials, Endpoint

HERE, NOBODY, RUN = Endpoint("b", "stomp", "stomp://127.0.0.1:1"), Credentials("u", "p"), 7


class BrowseOnlyConnector:
    """A connector that only browses."""

    protocol = "stomp"

    def __init__(self, **queues: list[bytes]) -> None:
        self._queues = queues

    def connect(self, *_: object, **__: object) -> None:
        raise AssertionError("nothing is sent")

    def browse(self, endpoint: Endpoint, credentials: Credentials, queue: str, *, timeout_s: float) -> list[Browsed]:
        if queue not in self._queues:
            raise DriverError(f"{queue}: refused")
        return [Browsed(body, 5, body == EXPIRED) for body in self._queues[queue]]


def browse(
    shelves: BrowseOnlyConnector, depths: dict[str, int], after: dict[str, int] | None = None
) -> tuple[list[str], list[Leftover]]:
    """Return the doubts, and the messages that were found."""
    looks = list(browse_broker(HERE, depths, shelves, NOBODY, RUN, DeadLetterQueues(), lambda: after or depths))
    return [look.doubt for look in looks if look.doubt], [
        leftover for look in looks for leftover in look.leftovers or ()
    ]


def body(seq: int) -> bytes:
    return stamp(Identity(RUN, 3, seq, 1), 64)


EXPIRED = body(4)


def test_a_message_left_on_a_queue_is_found_by_its_identity() -> None:
    unknowns, rows = browse(BrowseOnlyConnector(q=[body(4)]), {"q": 1})
    assert unknowns == []
    assert [(row.producer, row.seq, row.queue, row.dead_letter) for row in rows] == [(3, 4, "q", False)]


def test_a_message_that_expires_as_it_is_browsed_is_missed_by_nobody() -> None:
    unknowns, rows = browse(BrowseOnlyConnector(q=[body(4)]), {"q": 2}, after={"q": 1})
    assert (unknowns, [row.seq for row in rows]) == ([], [4])
    unknowns, _ = browse(BrowseOnlyConnector(q=[body(4)]), {"q": 3}, after={"q": 2})
    assert unknowns == ["b: queue q holds 2 messages, browsing showed 1"]


def test_a_dead_letter_that_expired_is_told_from_others() -> None:
    shelves = BrowseOnlyConnector(**{"ActiveMQ.DLQ": [EXPIRED, body(5)], "ExpiryQueue": [body(6)], "q": [EXPIRED]})
    _, rows = browse(shelves, {"ActiveMQ.DLQ": 2, "ExpiryQueue": 1, "q": 1})
    expiries = {(row.queue, row.seq): row.expired for row in rows}
    assert expiries == {
        ("ActiveMQ.DLQ", 4): True,
        ("ActiveMQ.DLQ", 5): False,
        ("ExpiryQueue", 6): True,
        ("q", 4): False,  # brokers do not report the reason of a dead letter
    }


def test_a_dead_letter_is_marked_as_one() -> None:
    _, rows = browse(BrowseOnlyConnector(**{"ActiveMQ.DLQ": [body(4)]}), {"ActiveMQ.DLQ": 1})
    assert [row.dead_letter for row in rows] == [True]


def test_a_canary_is_nobodys_message() -> None:
    assert browse(BrowseOnlyConnector(), {"brokerbench.canary.b": 1}) == ([], [])


def test_a_queue_that_cannot_be_browsed_is_unknown_and_not_empty() -> None:
    unknowns, rows = browse(BrowseOnlyConnector(), {"q": 3})
    assert rows == []
    assert unknowns == ["b: queue q holds 3 messages, browsing it failed: q: refused"]


def test_a_queue_that_shows_less_than_it_holds_is_unknown() -> None:
    unknowns, rows = browse(BrowseOnlyConnector(q=[body(1)]), {"q": 2})
    assert len(rows) == 1
    assert unknowns == ["b: queue q holds 2 messages, browsing showed 1"]


@pytest.mark.parametrize("queue", ["ActiveMQ.DLQ", "ActiveMQ.DLQ.Queue.orders", "DLQ.orders"])
def test_dead_letters_and_canaries_keep_no_drain_waiting(queue: str) -> None:
    assert DeadLetterQueues().waiting({queue: 3, "brokerbench.canary.b": 1, "orders": 2}) == 2


def test_only_the_runs_queues_of_external_brokers_are_browsed() -> None:
    """The dead-letter queues are also browsed."""
    depths = {"orders": 1, "theirs": 9, "ActiveMQ.DLQ": 2, "DLQ.orders": 3, "prices": 4}
    own = DeadLetterQueues().select_run_queues(depths, ["queue://orders", "topic://prices"])
    assert own == {"orders": 1, "ActiveMQ.DLQ": 2, "DLQ.orders": 3}


OTHER_NAMES = {
    "mesh": "{policies: [{kind: queue, pattern: '>', dead_letters: {queue: orders.dead}}]}",
    "cluster": "{address_settings: [{match: '#', dead_letter_address: orders.dead, expiry_address: orders.late}]}",
}


@pytest.mark.parametrize("entry", OTHER_NAMES)
def test_dead_letter_queues_have_the_names_that_an_overlay_gives_them(entry: str, tmp_path: Path) -> None:
    file = tmp_path / "names.yaml"
    file.write_text(f"brokers: {{all: {OTHER_NAMES[entry]}}}\n")
    named = DeadLetterQueues.of(apply_overlay(build(entry), str(file))[0])
    assert all(map(named.has, ("orders.dead", "orders.dead.Queue.orders", "ActiveMQ.DLQ")))
    assert ("orders.late" in named.for_expired, named.has("orders.late")) == ((entry == "cluster",) * 2)
    assert named.waiting({"orders.dead": 3, "orders": 2}) == 2


def test_a_queue_for_dead_and_expired_messages_alike_does_not_tell_that_one_expired(tmp_path: Path) -> None:
    file = tmp_path / "names.yaml"
    file.write_text("brokers: {all: {address_settings: [{match: '#', expiry_address: DLQ}]}}\n")
    assert DeadLetterQueues.of(apply_overlay(build("cluster"), str(file))[0]).for_expired == {"ExpiryQueue"}
