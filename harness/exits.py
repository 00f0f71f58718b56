"""Keeps a greenlet of the users from ending the process: `sys.exit()` there would end it with status 0 and no verdict.

gevent hands SystemExit and KeyboardInterrupt of any greenlet to the main one. Of a greenlet they are a problem of the
run instead, which ends and says so. Those of the main greenlet and of signal handlers end the process as ever.

Nor does a listener of Locust's last events make a run that failed end with status 0: see `keep_status`.
"""

import logging
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import gevent
from locust import User
from locust.event import EventHook

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


def keep_status(environment: Any, status: Callable[[], int | None]) -> None:
    """From now on the process ends with ``status``, unless that is 0 or None (no run) and the user's code has another.

    For listeners of `quitting` and `quit`: they come after the run, so what they set or raise would have the last word.
    """
    quitting, quit_hook = environment.events.quitting, environment.events.quit

    def fire_quitting(*, reverse: bool = False, **arguments: Any) -> None:
        asked = _fire_all(quitting, "quitting", arguments, reverse=reverse)
        theirs = environment.process_exit_code if asked is None else asked
        own = status()
        if own and theirs != own:
            log.warning("a listener asks for exit status %s: it stays %s, which is the run's", theirs, own)
        environment.process_exit_code = own or (own if theirs is None else theirs)

    def fire_quit(*, reverse: bool = False, **arguments: Any) -> None:
        asked = _fire_all(quit_hook, "quit", arguments, reverse=reverse)
        if asked is not None and not status():
            raise SystemExit(asked)

    quitting.fire, quit_hook.fire = fire_quitting, fire_quit


def _fire_all(hook: EventHook, name: str, arguments: Mapping[str, Any], *, reverse: bool) -> int | None:
    """Call every listener, also after one that raised SystemExit; the status of the last of these, None without one."""
    asked = None
    for listener in list(reversed(hook._handlers) if reverse else hook._handlers):
        alone = EventHook()  # for Locust's own way with other exceptions
        alone.add_listener(listener)
        try:
            alone.fire(**arguments)
        except SystemExit as error:
            log.warning("a listener of %s raised %s", name, in_words(error))
            asked = error.code if isinstance(error.code, int) else int(error.code is not None)
    return asked
