"""What came of trying a broker once? A link that has a connection, or why not, and whether to try again at all.

What a refusal means: a broker that says no before this client was ever connected ends the client at once, since trying
again will not help. Later the same credentials were good, so a refusal is a failed attempt like any other and the
schedule's limits decide: a broker that is coming up refuses only for a while. But once each broker of the list shows a
certificate that is not to be believed, there is nobody left to wait for.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from drivers import reconnect
from drivers.broker_words import too_large
from drivers.contract import Connection, DriverError, OnLost, Redirected, Refused, Untrusted
from drivers.failover import FailoverOptions, FailoverUri, ServerUri
from drivers.link import Link


class UnwelcomeError(Exception):
    """What no further attempt will change: a refusal before the first connection, or of what would be sent again."""


@dataclass(frozen=True)
class Failure:
    """Why an attempt gave no connection; ``redirected_to``: the host:port that the broker named instead of itself."""

    reason: str = ""
    redirected_to: str = ""


class Attempts:
    """Those of one client, whose ``name`` begins its errors. All of them are made by one thread.

    ``connect`` raises DriverError or OSError; ``record`` gets event, broker, at_ns and reason; ``went`` is called by a
    link's connection once it is lost, with the reason.
    """

    def __init__(
        self,
        name: str,
        broker_of: Callable[[ServerUri], str],
        connect: Callable[[ServerUri, OnLost], Connection],
        record: Callable[[str, str, int, str], None],
        went: Callable[[Link, str], None],
        clock: Callable[[], int],
    ) -> None:
        self._name = name
        self._broker_of = broker_of
        self._connect = connect
        self._record = record
        self._went = went
        self._clock = clock
        self._doubted: dict[str, str] = {}  # by address: why its certificate was not believed when it was last tried

    def make(self, server: ServerUri, *, ever_connected: bool) -> tuple[Link | None, Failure]:
        """One attempt: a link, or None and why not. Raises `UnwelcomeError` for a refusal that is the end."""
        link, began_ns, failure = Link(self._broker_of(server)), self._clock(), Failure()
        self._doubted.pop(server.address, None)
        try:
            link.carry(self._connect(server, partial(self._went, link)))
            return link, failure
        except Untrusted as error:
            failure = Failure(str(error))
            self._doubted[server.address] = failure.reason
            if not ever_connected:
                raise UnwelcomeError(f"{self._name}: {failure.reason}") from error
        except Refused as error:
            failure = Failure(str(error))
            if not ever_connected:
                raise UnwelcomeError(failure.reason) from error
        except Redirected as error:
            failure = Failure(str(error), error.address)
        except (DriverError, OSError) as error:
            failure = Failure(str(error) or type(error).__name__)
        finally:
            self._record("attempt", link.broker, began_ns, failure.reason)
        return None, failure

    def require_trust(self, uri: FailoverUri) -> None:
        """Raises `UnwelcomeError` once no broker of the list was believed when it was last tried."""
        doubts = [self._doubted.get(server.address, "") for server in reconnect.listed(uri)]
        if all(doubts):
            raise UnwelcomeError(f"{self._name}: no broker of {uri} is to be trusted any more: {doubts[0]}")

    def refuse_to_repeat(self, lost: Link) -> None:
        """A message that was too large for one connection would end each one that it is sent again by."""
        if too_large(lost.reason):
            raise UnwelcomeError(
                f"{self._name}: broker {lost.broker} ended the connection, as a message was larger than it takes in a "
                f"frame: {lost.reason}; send smaller bodies (--body-bytes), or raise the broker's maxFrameSize"
            )


def passes_to_tell(options: FailoverOptions, before: int, now: int) -> str:
    """How many passes have failed by ``now``, in words, where one more did and that is worth a warning; else ''."""
    interval = options.warn_after_reconnect_attempts
    if now > before and interval > 0 and (now == 1 or now % interval == 0):
        return "1 pass" if now == 1 else f"{now} passes"
    return ""
