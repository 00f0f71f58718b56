"""Checks the log lines about disconnected clients, and about the return of all clients."""

from types import SimpleNamespace

import pytest

from drivers.users.connection_losses import ConnectionLosses, Loss
from drivers.users.session import Tally
from harness.distributed import messages
from harness.run.load import ClientsOff

S = 1_000_000_000
FAULT_NS = 10 * S


def connected(clients: int) -> ConnectionLosses:
    losses = ConnectionLosses()
    for client in range(clients):
        losses.note(client, "connected", 1 * S)
    return losses


def clients_off(*faults_ns: int) -> ClientsOff:
    return ClientsOff(lambda by_ns: max((at_ns for at_ns in faults_ns if at_ns <= by_ns), default=None))


def change(losses: ConnectionLosses, event: str, clients: range, at_s: float) -> None:
    for client in clients:
        losses.note(client, event, round(at_s * S))


def lines(off: ClientsOff, losses: ConnectionLosses, *at_s: float) -> list[str]:
    return [off.line(losses, round(moment_s * S)) for moment_s in at_s]


def test_users_of_a_shared_connection_disconnect_and_return_together() -> None:
    losses, off = connected(1), clients_off(FAULT_NS)
    losses.share(10, 9)
    losses.share(11, 9)
    losses.note(9, "connected", 2 * S)
    losses.share(12, 9)  # it arrives when the connection is already open
    assert losses.connected == 4
    losses.note(9, "lost", round(10.1 * S))
    assert lines(off, losses, 10.2, 11.2) == ["", "clients: 3 of 4 off"]
    assert losses.by_client == dict.fromkeys((10, 11, 12), Loss(round(10.1 * S)))
    losses.note(9, "connected", round(13.4 * S))
    assert lines(off, losses, 13.7) == ["clients: all 3 back 3.4 s after the fault began"]


def test_nothing_is_told_while_no_client_loses_its_connection() -> None:
    losses = connected(8)
    change(losses, "closed", range(2), 11)
    off = clients_off(FAULT_NS)
    assert lines(off, losses, 11, 12, 13) == ["", "", ""]
    assert off.last_line(losses) == ""


def test_clients_are_told_off_once_and_back_by_when_the_last_one_was_connected() -> None:
    losses, off = connected(8), clients_off(FAULT_NS)
    change(losses, "lost", range(6), 10.1)
    assert lines(off, losses, 10.2, 11.2, 11.4, 13.0) == ["", "clients: 6 of 8 off", "", ""]
    change(losses, "connected", range(5), 13.1)
    change(losses, "connected", range(5, 6), 13.4)
    assert lines(off, losses, 13.5, 13.7) == ["clients: all 6 back 3.4 s after the fault began", ""]
    assert off.last_line(losses) == ""


def test_no_line_comes_within_a_second_of_another() -> None:
    losses, off = connected(8), clients_off(FAULT_NS)
    change(losses, "lost", range(6), 10.1)
    assert lines(off, losses, 10.2, 11.2) == ["", "clients: 6 of 8 off"]
    change(losses, "connected", range(2), 11.3)
    assert lines(off, losses, 11.4, 12.2) == ["", "clients: 4 of 8 off"]
    change(losses, "connected", range(2, 6), 12.3)
    assert lines(off, losses, 12.4, 13.2) == ["", "clients: all 6 back 2.3 s after the fault began"]


def test_clients_that_are_back_within_a_second_are_told_in_one_line() -> None:
    losses, off = connected(8), clients_off(FAULT_NS)
    change(losses, "lost", range(1), 10.1)
    change(losses, "connected", range(1), 10.3)
    assert lines(off, losses, 10.4, 11.4, 11.6) == ["", "clients: 1 back 0.3 s after the fault began", ""]


def test_later_losses_without_a_further_fault_are_timed_from_the_first_of_them() -> None:
    losses, off = connected(2), clients_off(FAULT_NS, 90 * S)
    for lost_s in (10.5, 40.0, 91.0):
        change(losses, "lost", range(2), lost_s)
        change(losses, "connected", range(2), lost_s + 0.5)
        assert off.line(losses, round((lost_s + 1) * S)) == ""
        line = off.line(losses, round((lost_s + 2) * S))
        after = {10.5: "1.0 s after the fault began", 40.0: "0.5 s after the first loss"}
        assert line == f"clients: all 2 back {after.get(lost_s, '1.5 s after the fault began')}"


def test_losses_before_any_fault_are_timed_from_the_first_of_them() -> None:
    losses, off = connected(2), clients_off(FAULT_NS)
    change(losses, "lost", range(1), 5.0)
    change(losses, "lost", range(1, 2), 5.1)
    change(losses, "connected", range(2), 5.4)
    assert lines(off, losses, 5.5, 6.5) == ["", "clients: all 2 back 0.4 s after the first loss"]


@pytest.mark.parametrize("event", ["", "closed"])
def test_the_last_line_tells_who_never_came_back(event: str) -> None:
    losses, off = connected(8), clients_off(FAULT_NS)
    change(losses, "lost", range(6), 10.1)
    change(losses, "connected", range(2, 6), 12.0)
    change(losses, event, range(2), 13.0)
    assert off.last_line(losses) == "clients: 2 of the 6 that were cut off were not back when the load ended"


def test_the_last_line_tells_who_came_back_and_was_not_told_yet() -> None:
    losses, off = connected(8), clients_off(FAULT_NS)
    change(losses, "lost", range(6), 10.1)
    change(losses, "connected", range(6), 10.2)
    assert off.line(losses, round(10.3 * S)) == ""
    assert off.last_line(losses) == "clients: all 6 back 0.2 s after the fault began"


def test_the_losses_of_workers_are_added_up_on_the_masters_clock() -> None:
    here, ahead = Tally(), Tally()
    for tally, client, at_s in ((here, 0, 3), (ahead, 1_000_000, 103)):
        for event in ("connected", "lost", "connected"):
            tally.losses.note(client, event, at_s * S)
    ahead.losses.note(1_000_000, "lost", 104 * S)
    reports = [messages.progress_of(session(tally)) for tally in (here, ahead)]  # type: ignore[arg-type]
    total = messages.tally_in(reports, (0, 100 * S)).losses
    assert total.connected == 1
    assert total.by_client == {0: Loss(3 * S, 3 * S), 1_000_000: Loss(4 * S)}


def session(tally: Tally) -> SimpleNamespace:
    recorder = SimpleNamespace(failure=None, late_rows=0)
    return SimpleNamespace(tally=tally, connected=dict, problems=[], recorder=recorder)
