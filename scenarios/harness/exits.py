"""Keeps a greenlet of the users from ending the process: `sys.exit()` there would end it with status 0 and no verdict.

gevent hands SystemExit and KeyboardInterrupt of any greenlet to the main one. Of a greenlet they are a problem of the
run instead, which ends and says so. Those of the main greenlet and of signal handlers end the process as ever.
"""

import logging
import traceback
from pathlib import Path
from types import TracebackType
from typing import Any

import gevent
from locust import User

from drivers.users.broker_user import in_words
from drivers.users.session import session_of

log = logging.getLogger("brokerbench")


def report_exits(environment: Any) -> None:
    """From now on, in this process: while it takes part in a run, a greenlet that wants to end it is a problem."""
    hub = gevent.get_hub()
    as_ever = hub.handle_error

    def handle_error(
        context: Any, kind: type[BaseException], error: BaseException | None, trace: TracebackType | None
    ) -> None:
        session = session_of(environment)
        is_exit = isinstance(context, gevent.Greenlet) and issubclass(kind, SystemExit | KeyboardInterrupt)
        if session is None or not is_exit:
            as_ever(context, kind, error, trace)
            return
        session.report(exit_problem(error if isinstance(error, BaseException) else kind(), trace))

    hub.handle_error = handle_error


def exit_problem(error: BaseException, trace: TracebackType | None) -> str:
    """The sentence on a greenlet that raised SystemExit or KeyboardInterrupt, and on the user it was part of."""
    frames = list(traceback.walk_tb(trace))
    callers = (value for frame, _ in frames for value in frame.f_locals.values() if isinstance(value, User))
    user = next(callers, None)
    who = type(user).__name__ if user else "a greenlet that a user or a listener spawned"
    place = ""
    if frames:
        last, line = frames[-1]
        place = f" ({Path(last.f_code.co_filename).name}:{line})"
    return f"{who} raised {in_words(error)}{place}, which would end the process without a verdict"
