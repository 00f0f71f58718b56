"""The base class of all clients of a run: a Locust user that takes part in the run, and reports its errors to it."""

import logging
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import ClassVar

import gevent
from gevent import GreenletExit
from locust import User
from locust.env import Environment
from locust.exception import StopUser

from drivers.client.connection_modes import ALL_URIS, ONE, ONE_URI, PooledClient
from drivers.contract import Destination, DriverError
from drivers.users.declared_settings import kind_of, names_taken_by, settings_of
from drivers.users.fixed_settings import SettingsMeta
from drivers.users.session import Session, session_of
from records.loads.client_steps import parse_client_steps
from records.loads.destination_pattern import expand_names, share_of

LOOK_EVERY_S = 1.0
CONNECT_EVERY_S = 0.005
"""If users join in steps, the users of a class that exist before the load connect one after the other too."""

log = logging.getLogger("brokerbench")


class BrokerUser(User, metaclass=SettingsMeta):
    """A client of one group. ``fixed_count`` (Locust's own) is the number of users in a class.

    ``connections``: the connection mode (`connection_modes`). ``pool_size``: the number of connections that the
    users of a group share in each process if the mode is ``pooled``. ``uris``: the brokers in its failover URI: ``all``
    brokers of its group, or ``one``, which the users of a class take in rotation. ``may_fail``: an error of one user
    ends only this user, with a warning, and the load continues. Without it, an error ends the load.

    ``destinations``: the number of destinations. If there are several, ``destination`` has ``{n}`` in place of the
    number. Each user has a share of them: a producer sends to its share in rotation, a consumer subscribes to its
    share.

    ``joins``: how many users of the class there are, in steps of the load, in the syntax of
    `records.loads.client_steps`; empty: all of them from before the load.
    """

    abstract = True
    role: ClassVar[str] = ""
    group: ClassVar[str] = ""
    """a client group of the topology: `producers`, `consumers`, or your own"""
    destination: ClassVar[str] = "queue://brokerbench"
    """`queue://NAME` or `topic://NAME`; see
    [wildcards, virtual topics and lists](#wildcards-virtual-topics-and-lists)"""
    destinations: ClassVar[int] = 1
    """number of destinations; see [several destinations](#several-destinations)"""
    protocol: ClassVar[str] = ""
    """`"stomp"`, `"amqp"`, `"openwire"` or `"core"`; empty: the [`--protocol`](options.md) option. See [several
    protocols](drivers.md#several-protocols-in-one-run)"""
    may_fail: ClassVar[bool] = False
    """whether an error ends only the user in which it occurs: see [drivers.md](drivers.md#outcomes-of-a-send)"""
    connections: ClassVar[str] = ONE
    """`"one"`, `"pooled"` or `"per-message"`: see [drivers.md](drivers.md#connections)"""
    pool_size: ClassVar[int] = 1
    """with `"pooled"`: number of connections that the users of a group share in each process"""
    joins: ClassVar[str] = ""
    uris: ClassVar[str] = ALL_URIS
    """`"all"` or `"one"`: see [drivers.md](drivers.md#clients-with-one-broker-in-their-uri)"""
    _ready = False
    _failed_to_start = False
    _index: int | None = None
    _number: int | None = None  # of the user, once it has one
    _joins_later = False  # in the load

    def __init__(self, environment: Environment) -> None:
        super().__init__(environment)
        self.on_start = partial(self._start, self.on_start)  # type: ignore[method-assign]
        self.on_stop = partial(self._stop, self.on_stop)  # type: ignore[method-assign]

    def __setattr__(self, name: str, value: object) -> None:
        """Raise AttributeError for a setting: a run records the settings of its users from their class.

        The same for a name that our classes use themselves: the user would not work.
        """
        kind, problem = kind_of(type(self)), ""
        if name in settings_of(kind):
            problem = (
                f"self.{name} = {value!r}: {name} is a setting of the class {type(self).__name__}, the same for all of "
                f"its users; write {name} = {value!r} in the class, or self._{name} for an attribute of your own"
            )
        elif name in names_taken_by(kind):
            problem = f"self.{name} = {value!r}: a {kind.__name__} uses {name} itself; write another name"
        if not problem:
            super().__setattr__(name, value)
            return
        session = session_of(self.environment) if vars(self).get("_state") is None else None
        if session is not None:  # in __init__: Locust only logs the error, and the run would wait for the user
            session.report(f"{type(self).__name__}: {problem}")
        raise AttributeError(problem)

    def _keep(self, **values: object) -> None:
        """Set attributes that our classes use themselves."""
        vars(self).update(values)

    @classmethod
    def destination_names(cls) -> tuple[str, ...]:
        """Return all destinations of the class. ValueError for a number or a pattern that makes none."""
        return expand_names(cls.destination, cls.destinations)

    @classmethod
    def takes_turns(cls) -> bool:
        """Whether any of its users has more than one destination."""
        return cls.destinations > max(1, cls.fixed_count)

    def own_destinations(self, index: int) -> tuple[Destination, ...]:
        """Return the share of one user. ``index``: its number within the class, counted from 0."""
        return tuple(map(Destination.parse, share_of(index, max(1, self.fixed_count), self.destination_names())))

    def enter(self) -> Session:
        """Return the run that this user belongs to. Ends the user if there is no run."""
        session = session_of(self.environment)
        if session is None:
            raise StopUser
        return session

    def _start(self, on_start: Callable[[], None]) -> None:
        """Call the class's own `on_start`. An error in it ends this user, as in `guard`."""
        try:
            on_start()
        except GreenletExit as error:
            session = session_of(self.environment)
            if session is not None and session.producing:  # the run stops its users after that
                session.report(
                    f"{type(self).__name__}: on_start raised {describe_error(error)}{_place(error, on_start)}"
                )
            raise
        except BaseException as error:  # StopUser and sys.exit() too: a user that ends here would never be ready
            session = self.enter()
            log.debug("%s.on_start", type(self).__name__, exc_info=error)
            problem = f"on_start raised {describe_error(error)}{_place(error, on_start)}"
            if self.may_fail:
                session.drop_failed_user(type(self).__name__, problem)
                self.leave(session)
            else:
                session.report(f"{type(self).__name__}: {problem}")
            if not isinstance(error, StopUser):
                self.on_stop = lambda: None  # type: ignore[method-assign]  # like Locust: a user that did not start is not stopped
            self._keep(_failed_to_start=True)

    def _stop(self, on_stop: Callable[[], None]) -> None:
        """Call the class's own `on_stop`. Locust would only log an error in it."""
        try:
            on_stop()
        except Exception as error:
            session = session_of(self.environment)
            if session is None:
                raise
            session.report(f"{type(self).__name__}: on_stop raised {describe_error(error)}{_place(error, on_stop)}")

    def guard(self, work: Callable[[Session], None]) -> None:
        """Do a user's work. An error ends this user, and the run reports it. Locust would start the task again.

        The run also reports a user that is stopped before the load is over.
        """
        session = self.enter()
        if self._failed_to_start:
            raise StopUser
        try:
            if self._wait_for_its_turn(session):
                work(session)
            else:
                self.stay(None)
        except DriverError as error:
            if self.may_fail and not self.expects_messages():
                session.drop_failed_user(
                    type(self).__name__, str(error), self._number if self.role == "producer" else None
                )
                self.leave(session)
            else:
                session.report(f"{type(self).__name__}: {error}")
            raise StopUser from error
        except GreenletExit:
            if session.producing:  # the run stops its users after that
                session.report(self.ended_early(session, "was stopped"))
            raise
        except Exception as error:
            log.exception("%s", type(self).__name__)
            session.report(f"{type(self).__name__} failed because of a bug in brokerbench: {error!r}")
            raise StopUser from error
        except BaseException as error:  # sys.exit(), for instance, which would end the process
            log.debug("%s", type(self).__name__, exc_info=error)
            session.report(f"{type(self).__name__}: its task raised {describe_error(error)}")
            raise StopUser from error

    def ended_early(self, session: Session, how: str) -> str:
        """Return the sentence on a user that ended before the load was over. ``how``: for example "was stopped"."""
        load_s = session.load_s()
        when = f"at {load_s:.1f} s of the load" if load_s >= 0 else "before the load"
        number = "" if self._number is None else f" {self._number}"
        return (
            f"{type(self).__name__}: {self.role}{number} {how} {when}, although the scenario did not request it:"
            " find out what ended it, and run again"
        )

    def _wait_for_its_turn(self, session: Session) -> bool:
        """Return when this user should connect: at once, or in its step of the load. Return False if the load ends
        first."""
        if not self.joins:
            return True
        joins_s = parse_client_steps(self.joins).joins_s(self.index(session))
        if joins_s == 0:
            gevent.sleep(self.index(session) * CONNECT_EVERY_S)
            return True
        self._keep(_joins_later=True)
        session.wait_load_known()
        return not session.wait_unless_stopped(max(0.0, joins_s - session.load_s()))

    def index(self, session: Session) -> int:
        """Return 0, 1, 2 … for the users of its class in this process."""
        if self._index is None:
            self._keep(_index=session.next_index(type(self).__name__))
        assert self._index is not None, "it was just set"
        return self._index

    def rotation_index(self, session: Session) -> int:
        """Return the same over all processes, for users that take something in rotation."""
        return session.process_index + self.index(session)

    def only_broker(self, session: Session, place: int | None = None) -> int | None:
        """Return the only broker in its failover URI, by its place in the group's URI; None: its URI lists all.

        ``place``: the place of the broker where it should connect.
        """
        if self.uris != ONE_URI:
            return None
        if place is not None:
            return place
        return session.place_of_turn(self.role, self.group, self.rotation_index(session), type(self).__name__)

    def join(self, session: Session, client: PooledClient) -> None:
        """Record that this user uses that client's connection, and open it. Raises DriverError."""
        self.record_member(session, client.number, client.client.number)
        client.open()

    def record_member(self, session: Session, number: int, connection: int | None) -> None:
        """Record the user and its connection.

        ``number``: the user's number. ``connection``: the client's number; None if each message has a connection.
        """
        self._keep(_number=number)
        session.recorder.member(number, connection, self.group, self.role, type(self).__name__, session.clock())
        if connection is not None and connection != number:
            session.tally.losses.share(number, connection)

    def report_ready(self, session: Session) -> None:
        """Count the user as ready: the load begins once all users are, including failed ones."""
        if not self._ready:
            self._keep(_ready=True)
            session.ready(type(self).__name__)

    def expects_messages(self) -> bool:
        """Whether messages sent from now on are owed to this user. A load without it would then miss them."""
        return False

    def leave(self, session: Session) -> None:
        """Handle the failure of a user that may fail; its connection is closed. Make sure that no code waits for
        this user."""
        if not self._joins_later:
            self.report_ready(session)

    def stay(self, client: PooledClient | None) -> None:
        """Wait until Locust stops the users. Raises DriverError if the client gives up under its failover URI."""
        while True:
            gevent.sleep(LOOK_EVERY_S)
            if client:
                client.usable()


def describe_error(error: BaseException) -> str:
    """Return the type and message of an error on one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}".removesuffix(": ")


def _place(error: BaseException, function: Callable[[], None]) -> str:
    """Return the last line in the function's own file that an error came through; empty if that is not known."""
    file = getattr(getattr(function, "__code__", None), "co_filename", "")
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    return f" ({Path(file).name}:{lines[-1]})" if lines else ""
