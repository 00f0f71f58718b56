"""Checks the sentences about the queues at both ends of a mirror."""

from pathlib import Path

import pytest

from topologies.catalogue.lookup import build
from topologies.catalogue.overlay import Overlay
from topologies.management.mirrored_queues import queue_names, removal_wait_s, sentence

(LINK,) = build("mirror").links
OWN = f"$ACTIVEMQ_ARTEMIS_MIRROR_{LINK.name}"


def test_queues_are_listed_by_the_broker_that_has_them() -> None:
    ends = ({"orders": 12, "DLQ": 0, OWN: 3}, {"orders": 9, "DLQ": 0, "more": 1})
    assert sentence(LINK, ends, "after the load") == (
        "mirror broker-1-to-broker-2 after the load: queues on both brokers, with their messages: DLQ (0 and 0), "
        f"orders (12 and 9); only on broker-1: {OWN} (3); only on broker-2: more (1)"
    )
    assert sentence(LINK, ({"a": 0}, {"a": 0}), "then").endswith(
        "a (0 and 0); only on broker-1: none; only on broker-2: none"
    )


def test_a_broker_without_an_answer_is_named() -> None:
    assert sentence(LINK, (None, {"orders": 7}), "then") == (
        "mirror broker-1-to-broker-2 then: broker-1 did not answer; broker-2 had the queues orders (7)"
    )


def test_only_names_of_queues_count_as_a_change() -> None:
    first, later = ({LINK.name: ({"a": 1}, {"a": count})} for count in (0, 5))
    assert queue_names(first, LINK) == queue_names(later, LINK)
    assert queue_names(first, LINK) != queue_names({LINK.name: ({"a": 1}, None)}, LINK)
    assert queue_names({}, LINK) == ()


@pytest.mark.parametrize(
    ("entry", "settings", "wait_s"),
    [
        ("mirror", "{}", 0.0),
        (
            "mirror",
            "{address_settings: [{match: '#', auto_delete_queues: true}], address_queue_scan_period_ms: 500}",
            1.5,
        ),
        ("mirror", "{address_settings: [{match: '#', auto_delete_queues: true}]}", 0.0),  # 60 s is too long
        (
            "senders",
            "{address_settings: [{match: '#', auto_delete_queues: true}], address_queue_scan_period_ms: 500}",
            0.0,
        ),
    ],
)
def test_a_run_waits_for_two_scans_for_unused_queues(entry: str, settings: str, wait_s: float) -> None:
    topology = Overlay(Path("o.yaml"), f"brokers: {{all: {settings}}}").apply(build(entry))
    assert removal_wait_s(topology) == wait_s
