"""Checks how the AMQP driver handles brokers that name other brokers, by a scripted broker and by values."""

from typing import Any

import pytest
from proton import Condition, symbol

from drivers.amqp.addresses import address_of, successors
from drivers.amqp.connection import NOT_WELCOME, AmqpConnection
from drivers.amqp.connector import AmqpConnector
from drivers.contract import Redirected
from tests.support.fake_amqp import NOBODY, FakeAmqpBroker, Script
from tests.support.waiting import until

REDIRECT = "amqp:connection:redirect"
ELSEWHERE = {symbol("network-host"): "10.0.0.7", symbol("port"): 5_673}


def connect(broker: FakeAmqpBroker, lost: list[str]) -> AmqpConnection:
    return AmqpConnector().connect(
        broker.endpoint(), NOBODY, client_id="c", timeout_s=5, on_settled=print, on_lost=lost.append
    )


def send_on(script: Script, connection: Any) -> None:
    """Close the connection with a redirect, as Artemis's routers do."""

    def close() -> None:
        connection.condition = Condition(REDIRECT, "router r redirected this connection", ELSEWHERE)
        connection.close()

    script.later.append(close)


def test_a_broker_that_sends_its_clients_on_is_told_with_the_address() -> None:
    class RedirectingRouter(Script):
        def on_connection_opening(self, event: Any) -> None:
            event.connection.properties = {symbol(NOT_WELCOME): True}
            event.connection.open()
            send_on(self, event.connection)

    with FakeAmqpBroker(RedirectingRouter()) as broker, pytest.raises(Redirected) as caught:
        connect(broker, [])
    assert caught.value.address == "10.0.0.7:5673"
    assert str(caught.value).startswith("broker b at 127.0.0.1:")
    assert str(caught.value).endswith(" redirects its clients to 10.0.0.7:5673")


def test_a_connection_that_is_sent_on_later_is_lost_and_knows_where_to() -> None:
    class Moving(Script):
        def on_link_opening(self, event: Any) -> None:
            send_on(self, event.connection)

    lost: list[str] = []
    with FakeAmqpBroker(Moving()) as broker:
        connection = connect(broker, lost)
        assert connection.redirected_to == ""
        with pytest.raises(ConnectionError):
            connection.begin()
        until(lambda: bool(lost))
        assert connection.redirected_to == "10.0.0.7:5673"
    assert lost == [f"the broker closed the connection: {REDIRECT}: router r redirected this connection"]


def test_a_redirect_without_an_address_is_a_broker_that_turns_its_clients_away() -> None:
    class Lost(Script):
        def on_connection_opening(self, event: Any) -> None:
            event.connection.properties = {symbol(NOT_WELCOME): True}
            self.end(event.connection, REDIRECT, "somewhere")

    with FakeAmqpBroker(Lost()) as broker, pytest.raises(Exception, match="somewhere") as caught:
        connect(broker, [])
    assert not isinstance(caught.value, Redirected)


def test_the_brokers_that_take_over_are_told_by_the_open() -> None:
    class Backed(Script):
        def on_connection_opening(self, event: Any) -> None:
            event.connection.properties = {
                symbol("failover-server-list"): [ELSEWHERE, {symbol("network-host"): "other"}, ELSEWHERE]
            }

    with FakeAmqpBroker(script := Backed()) as broker:
        connection = connect(broker, [])
        assert connection.successors == ("10.0.0.7:5673", f"other:{script.port}")
        connection.close()


def test_a_broker_that_names_none_has_no_successors() -> None:
    with FakeAmqpBroker(Script()) as broker:
        connection = connect(broker, [])
        assert (connection.successors, connection.redirected_to) == ((), "")
        connection.close()


@pytest.mark.parametrize("odd", [None, "10.0.0.7", {}, {"network-host": ""}, {"network-host": "h", "port": "x"}, [1]])
def test_what_names_no_host_is_no_address(odd: object) -> None:
    assert address_of(odd, 5_672) == ""
    assert successors({"failover-server-list": [odd]}, 5_672) == ()


def test_an_address_of_numbers_with_colons_gets_its_brackets() -> None:
    assert address_of({"network-host": "::1"}, 5_672) == "[::1]:5672"


@pytest.mark.parametrize("odd", ["10.0.0.7", {"network-host": "h"}, None, 7])
def test_a_list_that_is_none_names_nobody(odd: object) -> None:
    assert successors({"failover-server-list": odd}, 5_672) == ()
