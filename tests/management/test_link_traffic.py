"""Checks the rows of each link's bytes and round trips, and that links without a reply are reported."""

import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from topologies.catalogue.lookup import build
from topologies.management.link_traffic import (
    AMQP_SASL,
    KEEP_ALIVE_WANTED,
    RoundTrip,
    describe,
    report_round_trips,
    round_trip,
    round_trip_rows,
    round_trips,
    whole_run_rows,
)
from topologies.management.sampling import Row
from topologies.model.link import Link
from topologies.runtimes.proxies.link_proxies import Carried

GREETING = struct.pack(">I", 3) + b"\x01hi"
KEEP_ALIVE = struct.pack(">IBIB", 6, 10, 0, 0)


class FakeProxies:
    def __init__(self, door: tuple[str, int] | None = None) -> None:
        self._door = door

    def proxy_endpoint_of(self, link: Link) -> tuple[str, int] | None:
        return self._door


@contextmanager
def broker(greeting: bytes, question: bytes, answer: bytes, delay_s: float = 0.0) -> Iterator[tuple[str, int]]:
    """Run a broker that sends a greeting, and answers only this question, each time after ``delay_s``."""

    def serve(client: socket.socket) -> None:
        with client:
            client.sendall(greeting)
            while client.recv(len(question), socket.MSG_WAITALL) == question:
                time.sleep(delay_s)
                client.sendall(answer)

    def listen() -> None:
        while True:
            try:
                client, _ = server.accept()
            except OSError:
                return
            threading.Thread(target=serve, args=(client,), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=listen, daemon=True).start()
        yield server.getsockname()
        server.shutdown(socket.SHUT_RDWR)


def test_a_bridges_broker_is_asked_to_repeat_a_keep_alive() -> None:
    (link,) = build("source-and-sink").links
    with broker(GREETING, KEEP_ALIVE_WANTED, KEEP_ALIVE, delay_s=0.02) as door:
        trip = round_trip(link, door)
    assert trip is not None
    assert 20_000_000 <= trip.least_ns <= trip.median_ns <= trip.most_ns


def test_an_amqp_connections_broker_is_asked_for_its_header() -> None:
    (link,) = build("senders").links
    with broker(b"", AMQP_SASL, AMQP_SASL) as door:
        assert round_trip(link, door) is not None


@pytest.mark.parametrize("transport", ["ssl", "http"])
def test_what_cannot_be_asked_without_a_login_is_not_asked(transport: str) -> None:
    (link,) = build(f"source-and-sink(transport={transport!r})").links
    assert round_trip(link, ("127.0.0.1", 1)) is None


def test_a_link_that_hangs_up_is_told_by_its_name_and_the_others_are_measured() -> None:
    (link,) = build("source-and-sink").links
    with broker(GREETING, b"something else", b"") as door:
        trips, silent = round_trips(FakeProxies(door), [link])
    assert trips == {}
    assert len(silent) == 1
    assert silent[0].startswith("link 'source-to-sink': no round trip could be measured (")


def test_what_was_measured_is_told_in_a_line_before_those_that_did_not_answer() -> None:
    one, silent_link = build("two-one-way").links
    lines: list[str] = []
    with broker(GREETING, KEEP_ALIVE_WANTED, KEEP_ALIVE) as door:

        class Half(FakeProxies):
            def proxy_endpoint_of(self, link: Link) -> tuple[str, int] | None:
                return door if link is one else ("127.0.0.1", 1)

        rows = report_round_trips(Half(), [one, silent_link], lines.append)
    assert [row.object for row in rows] == [one.name] * 3
    assert [line.partition(":")[0] for line in lines] == [
        "round trips over links measured",
        f"link {silent_link.name!r}",
    ]


@pytest.mark.parametrize("transport", ["ssl", "http"])
def test_a_topology_whose_links_cannot_be_asked_has_neither_rows_nor_a_line(transport: str) -> None:
    links = build(f"source-and-sink(transport={transport!r})").links
    lines: list[str] = []
    assert report_round_trips(FakeProxies(("127.0.0.1", 1)), links, lines.append) == []
    assert lines == []


def test_brokers_that_went_down_meanwhile_are_told_link_by_link() -> None:
    links = build("two-one-way").links
    lines: list[str] = []
    assert report_round_trips(FakeProxies(("127.0.0.1", 1)), links, lines.append) == []
    assert [line.partition(":")[0] for line in lines] == sorted(f"link {link.name!r}" for link in links)


def test_links_without_a_proxy_are_not_asked() -> None:
    assert round_trips(FakeProxies(), build("mesh").links) == ({}, [])


def test_what_a_link_carried_is_two_rows_without_a_broker() -> None:
    assert whole_run_rows({"a-to-b": Carried(100, 7)}, lambda: 5) == [
        Row("", 5, "link", "a-to-b", "whole_run_forth_bytes", 100),
        Row("", 5, "link", "a-to-b", "whole_run_back_bytes", 7),
    ]


def test_round_trips_are_three_rows_and_all_of_them_one_line() -> None:
    trips = {"a-to-b": RoundTrip(1_000_000, 2_000_000, 3_000_000), "b-to-c": RoundTrip(1, 80_000_000, 90_000_000)}
    rows = round_trip_rows(trips, lambda: 5)
    assert [(row.object, row.metric, row.value) for row in rows][:3] == [
        ("a-to-b", "round_trip_least_ns", 1_000_000),
        ("a-to-b", "round_trip_median_ns", 2_000_000),
        ("a-to-b", "round_trip_most_ns", 3_000_000),
    ]
    assert describe(trips) == "round trips over links measured: 2, of 2.0 to 80.0 ms"
