"""Checks that brokers can listen only on addresses of this machine, which the error for other addresses lists."""

import pytest

from topologies.runtimes.ports import addresses_here, why_not_bindable

HERE = ["127.0.0.1", "10.0.0.5", "172.17.0.1"]


@pytest.mark.parametrize("host", HERE)
def test_an_address_of_this_machine_will_do(host: str) -> None:
    assert why_not_bindable(host, HERE) == ""


@pytest.mark.parametrize("host", ["10.0.0.6", "myhost", "fe80::1", "10.0.0", "127.0.0.1 ", ""])
def test_anything_else_is_refused_with_those_that_there_are(host: str) -> None:
    refusal = why_not_bindable(host, HERE)
    assert refusal == "not an IPv4 address of this machine; write one of 127.0.0.1, 10.0.0.5, 172.17.0.1"


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "*"])
def test_all_addresses_are_none_that_a_client_could_be_told(host: str) -> None:
    refusal = why_not_bindable(host, HERE)
    assert refusal == "all addresses at once, so clients would get none; write one of 127.0.0.1, 10.0.0.5, 172.17.0.1"


def test_loopback_is_the_first_of_those_that_are_here() -> None:
    assert addresses_here()[0] == "127.0.0.1"
