"""Tells in lines how many clients lost their connection, and when all of them were connected again."""

from collections.abc import Callable, Mapping

from drivers.users.connection_losses import ConnectionLosses, Loss
from records.units import NS_PER_S

EVERY_NS = NS_PER_S  # so long after the first loss, every client and worker has had the time to tell of its own


class ClientsOff:
    """At most one line a second, and none while the number of clients that are off stays the same.

    ``last_fault_ns``: when the last fault that had begun by a time (ns) began; None without one. Its first losses are
    timed from there. Later losses without a further fault are timed from the first of them.
    """

    def __init__(self, last_fault_ns: Callable[[int], int | None]) -> None:
        self._last_fault_ns = last_fault_ns
        self._fault_ns: int | None = None  # the last one that losses were timed from
        self._over: dict[int, int] = {}  # by client: when it lost its connection, of losses that are told and over
        self._told_off = 0
        self._next_line_ns: int | None = None  # None: all clients are back

    def line(self, losses: ConnectionLosses, now_ns: int) -> str:
        """The line that is due; '' if none is."""
        found = self._not_over(losses)
        if not found:
            return ""
        if self._next_line_ns is None:
            self._next_line_ns = now_ns + EVERY_NS
        off = _off(found)
        if now_ns < self._next_line_ns or 0 < off == self._told_off:
            return ""
        self._next_line_ns, self._told_off = now_ns + EVERY_NS, off
        return f"clients: {off} of {losses.connected + off} off" if off else self._all_back(found)

    def last_line(self, losses: ConnectionLosses) -> str:
        """At the load's end: who is off still, or is back and was not told; '' if there is nobody."""
        found = self._not_over(losses)
        if off := _off(found):
            return f"clients: {off} of the {len(found)} that were cut off were not back when the load ended"
        return self._all_back(found) if found else ""

    def _not_over(self, losses: ConnectionLosses) -> dict[int, Loss]:
        return {
            client: loss for client, loss in list(losses.by_client.items()) if self._over.get(client) != loss.lost_ns
        }

    def _all_back(self, found: Mapping[int, Loss]) -> str:
        self._next_line_ns = None
        self._over.update({client: loss.lost_ns for client, loss in found.items()})
        began_ns, beginning = self._beginning(min(loss.lost_ns for loss in found.values()))
        last_ns = max(loss.back_ns for loss in found.values() if loss.back_ns is not None)
        how_many = "1" if len(found) == 1 else f"all {len(found)}"
        return f"clients: {how_many} back {(last_ns - began_ns) / NS_PER_S:.1f} s after {beginning}"

    def _beginning(self, first_lost_ns: int) -> tuple[int, str]:
        """When what cut the clients off began, and what that was."""
        fault_ns = self._last_fault_ns(first_lost_ns)
        if fault_ns is None or fault_ns == self._fault_ns:
            return first_lost_ns, "the first loss"
        self._fault_ns = fault_ns
        return fault_ns, "the fault began"


def _off(losses: Mapping[int, Loss]) -> int:
    return sum(loss.back_ns is None for loss in losses.values())
