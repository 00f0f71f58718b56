"""How does a connection end? With a goodbye that is waited for, but not for ever, and with one row: lost, or closed."""

import threading
from collections.abc import Callable

from drivers.contract import DriverError
from drivers.link import Link


class Parting:
    """The ends of one client's links. ``lock`` guards their ``alive`` and ``ended``.

    ``record`` gets event, broker, at_ns and reason; ``dropped`` a link, on which all that is open is in doubt from now
    on. Both are called without the lock.
    """

    def __init__(
        self,
        lock: threading.Condition,
        record: Callable[[str, str, int, str], None],
        dropped: Callable[[Link], None],
        clock: Callable[[], int],
        timeout_s: float,
    ) -> None:
        self._lock = lock
        self._record = record
        self._dropped = dropped
        self._clock = clock
        self._timeout_s = timeout_s

    def leave(self, link: Link) -> str:
        """Close the connection politely, but do not wait for ever; what went wrong, or ''."""
        problems: list[str] = []
        goodbye = _goodbye(link, problems)
        goodbye.join(self._timeout_s)
        if goodbye.is_alive():
            return f"no answer to the goodbye within {self._timeout_s} s"
        return problems[0] if problems else ""

    def drop(self, link: Link, reason: str = "") -> None:
        """``link`` is no more."""
        self.ended(link, reason)
        if not link.gone:  # we noticed first: let go of the connection, without waiting for a goodbye
            _goodbye(link, [])
        self._dropped(link)

    def ended(self, link: Link, reason: str = "") -> None:
        """Record the end of a connection, once: as lost, or as closed by us."""
        with self._lock:
            if link.ended:
                return
            link.ended = True
            closed, link.alive = link.alive, False
        if closed:
            link.gone = True
            link.reason = reason or "closed before the answer came"
            self._record("closed", link.broker, self._clock(), reason)
        else:
            self._record("lost", link.broker, link.lost_ns, link.reason)


def last_words(problem: str, in_doubt: int) -> str:
    """The reason of a client's last row: what went wrong with its goodbye, and how many messages are in doubt."""
    messages = "1 message is" if in_doubt == 1 else f"{in_doubt} messages are"
    return "; ".join(filter(None, (problem, f"{messages} in doubt" if in_doubt else "")))


def _goodbye(link: Link, problems: list[str]) -> threading.Thread:
    thread = threading.Thread(target=_close, args=(link, problems), daemon=True)
    thread.start()
    return thread


def _close(link: Link, problems: list[str]) -> None:
    try:
        link.connection.close()
    except (DriverError, OSError) as error:
        problems.append(str(error))
