"""Checks that a topology's ports are free, used once, and if possible outside the range of outgoing connections."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from records.errors import UserError
from topologies.runtimes import ports
from topologies.runtimes.ports import choose_ports


@pytest.fixture
def taken_port() -> Iterator[int]:
    with socket.create_server((ports.LOOPBACK, 0)) as listener:
        yield listener.getsockname()[1]


def test_every_key_gets_a_port_of_its_own() -> None:
    chosen = choose_ports(range(60))
    assert len(set(chosen.values())) == 60
    assert list(chosen) == list(range(60))


def test_chosen_ports_can_be_bound_at_once() -> None:
    for port in choose_ports(range(10)).values():
        with socket.socket() as listener:
            listener.bind((ports.LOOPBACK, port))


def test_free_ports_lie_below_those_of_outgoing_connections() -> None:
    assert all(port < ports.first_ephemeral_port() for port in choose_ports(range(30)).values())


def test_without_room_below_the_ephemeral_range_any_free_port_will_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    everything = tmp_path / "ip_local_port_range"
    everything.write_text("1024\t65535\n")
    monkeypatch.setattr(ports, "EPHEMERAL_RANGE", everything)
    assert len(set(choose_ports(range(5)).values())) == 5


def test_a_base_port_gives_a_row_of_ports_in_the_order_asked_for() -> None:
    free = choose_ports(["probe"])["probe"]
    assert choose_ports(["a"], base_port=free) == {"a": free}


def test_a_taken_fixed_port_is_named_with_its_holder(taken_port: int) -> None:
    with pytest.raises(UserError) as refused:
        choose_ports(["a"], base_port=taken_port)
    message = str(refused.value)
    assert f"port {taken_port} of 127.0.0.1 is already in use by pid {os.getpid()} (" in message
    assert "choose another base port" in message


def test_nothing_is_held_after_a_refusal(taken_port: int) -> None:
    with pytest.raises(UserError):
        choose_ports(["a", "b"], base_port=taken_port - 1)
    with socket.socket() as listener:
        listener.bind((ports.LOOPBACK, taken_port - 1))


def test_an_unknown_holder_is_left_out_of_the_sentence(monkeypatch: pytest.MonkeyPatch, taken_port: int) -> None:
    monkeypatch.setattr(ports, "holder_of", lambda _port: "")
    assert ports.port_in_use(taken_port) == f"port {taken_port} of 127.0.0.1 is already in use"


def test_a_port_has_to_be_free_on_every_address_that_it_is_for() -> None:
    with socket.create_server(("127.0.0.2", 0)) as listener:
        port = listener.getsockname()[1]
        assert choose_ports(["a"], base_port=port) == {"a": port}
        with pytest.raises(UserError, match=f"port {port} of 127.0.0.2 is already in use"):
            choose_ports(["a"], base_port=port, addresses=("127.0.0.1", "127.0.0.2"))


@pytest.mark.parametrize("base", [0, 80, 65_530, 70_000])
def test_a_base_port_without_room_is_refused(base: int) -> None:
    with pytest.raises(UserError, match=f"base port {base}: 9 consecutive ports"):
        choose_ports(range(9), base_port=base)


def test_when_no_port_is_free_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "_hold", lambda *_: False)
    with pytest.raises(UserError, match="no free port found"):
        choose_ports(["a"])
