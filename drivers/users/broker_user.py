"""The Locust user that is the base of all clients of a run: it takes part in the run, and reports its errors to it."""

import logging
from collections.abc import Callable
from typing import ClassVar

import gevent
from locust import User
from locust.exception import StopUser

from drivers.client.connection_modes import ONE, PooledClient
from drivers.contract import DriverError
from drivers.users.session import Session, session_of

LOOK_EVERY_S = 1.0

log = logging.getLogger("brokerbench")


class BrokerUser(User):
    """A client of one group. ``fixed_count`` (Locust's own) says how many of a class there are.

    ``connections``: how it holds connections (`connection_modes`). ``pool_size``: the number of connections that the
    users of a group share in each process, if they share. ``may_fail``: an error of one user ends only this user, with
    a warning, and the load goes on. Without it an error ends the load.
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
        """The run that this user belongs to. Ends the user if there is no run."""
        session = session_of(self.environment)
        if session is None:
            raise StopUser
        return session

    def guard(self, work: Callable[[Session], None]) -> None:
        """Do a user's work. An error ends this user, and the run reports it. Locust would start the task again."""
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

    def join(self, session: Session, client: PooledClient) -> None:
        """Put on record that this user has that client's connection, and open it. Raises DriverError."""
        self.record_member(session, client.number, client.client.number)
        client.open()

    def record_member(self, session: Session, number: int, connection: int | None) -> None:
        """``number``: the user's. ``connection``: the client's; None if each message has a connection."""
        session.recorder.member(number, connection, self.group, self.role, type(self).__name__, session.clock())

    def be_ready(self, session: Session) -> None:
        """The load begins when all users are, those that failed too."""
        if not self._ready:
            self._ready = True
            session.ready(type(self).__name__)

    def is_owed(self) -> bool:
        """Whether messages sent from now on count as its own. A load without it would then miss them."""
        return False

    def leave(self, session: Session) -> None:
        """This user has failed, and may; its connection is closed. Make sure that no one waits for this user."""
        self.be_ready(session)

    def stay(self, client: PooledClient | None) -> None:
        """Until Locust stops the users. Raises DriverError when the client gives up under its failover URI."""
        while True:
            gevent.sleep(LOOK_EVERY_S)
            if client:
                client.usable()
