"""What is every client of a run to Locust? A user that takes part in the run, and whose errors the run hears of."""

import logging
from collections.abc import Callable
from typing import ClassVar

import gevent
from locust import User
from locust.exception import StopUser

from drivers.contract import DriverError
from drivers.habits import ONE, Seat
from drivers.session import Session, session_of

NS_PER_MS = 1_000_000
LOOK_EVERY_S = 1.0

log = logging.getLogger("brokerbench")


class BrokerUser(User):
    """A client of one group. ``fixed_count`` (Locust's own) says how many of a class there are.

    ``connections``: the habit by which it holds them (`drivers.habits`); ``pool_size``: how many the users of its group
    share in each process, where they do. ``may_fail``: an error of one ends this user alone, with a warning, and the
    load goes on for the others; without it, the load ends.
    """

    abstract = True
    may_fail: ClassVar[bool] = False
    connections: ClassVar[str] = ONE
    pool_size: ClassVar[int] = 1
    role: ClassVar[str] = ""
    group: ClassVar[str] = ""
    destination: ClassVar[str] = "queue://brokerbench"
    _ready = False

    def enter(self) -> Session:
        """The run that this user belongs to; ends the user when there is none."""
        session = session_of(self.environment)
        if session is None:
            raise StopUser
        return session

    def guard(self, work: Callable[[Session], None]) -> None:
        """Do a user's work. What goes wrong ends this user and is told by the run; Locust would begin the task anew."""
        session = self.enter()
        try:
            work(session)
        except DriverError as error:
            if self.may_fail and not self.is_owed():
                session.do_without(type(self).__name__, str(error))
                self.leave(session)
            else:
                session.report(f"{type(self).__name__}: {error}")
            raise StopUser from error
        except Exception as error:
            log.exception("%s", type(self).__name__)
            session.report(f"{type(self).__name__} failed by a fault of brokerbench's own: {error!r}")
            raise StopUser from error

    def be_ready(self, session: Session) -> None:
        """The load begins when all users are, those that failed too."""
        if not self._ready:
            self._ready = True
            session.ready(type(self).__name__)

    def is_owed(self) -> bool:
        """Whether messages sent from now on are counted as its own, so that a load without it would miss them."""
        return False

    def leave(self, session: Session) -> None:
        """This user has failed, and may; its connection is closed. See that nobody waits for it."""
        self.be_ready(session)

    def stay(self, seat: Seat | None) -> None:
        """Until Locust stops the users. Raises DriverError when the client gives up, as its failover URI says."""
        while True:
            gevent.sleep(LOOK_EVERY_S)
            if seat:
                seat.usable()

    def fire(self, kind: str, latency_ns: int | None, body_bytes: int, error: Exception | None) -> None:
        """Tell Locust's statistics; milliseconds, or none where this process cannot know the latency."""
        self.environment.events.request.fire(
            request_type=kind,
            name=self.destination,
            response_time=None if latency_ns is None else latency_ns / NS_PER_MS,
            response_length=body_bytes,
            exception=error,
            context={},
        )
