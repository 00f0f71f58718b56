"""Prevents user code from ending the process: `sys.exit()` in a user class would end it with status 0 and no verdict.

gevent passes SystemExit and KeyboardInterrupt from any greenlet to the main greenlet. During a run they are reported as
a problem instead, which ends the run. From the main greenlet and from signal handlers they still end the process.

`keep_status` also keeps listeners of Locust's last events from ending a failed run with status 0.
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

from drivers.users.broker_user import describe_error
from drivers.users.session import session_of

log = logging.getLogger("brokerbench")


def report_exits(environment: Any) -> None:
    """Report greenlets that try to end the process, from now on, while this process takes part in a run."""
    hub = gevent.get_hub()
    handle_error_of_gevent = hub.handle_error

    def handle_error(
        context: Any, kind: type[BaseException], error: BaseException | None, trace: TracebackType | None
    ) -> None:
        session = session_of(environment)
        is_exit = isinstance(context, gevent.Greenlet) and issubclass(kind, SystemExit | KeyboardInterrupt)
        if session is None or not is_exit:
            handle_error_of_gevent(context, kind, error, trace)
            return
        session.report(exit_problem(error if isinstance(error, BaseException) else kind(), trace))

    hub.handle_error = handle_error


def exit_problem(error: BaseException, trace: TracebackType | None) -> str:
    """Return the sentence about a greenlet that raised SystemExit or KeyboardInterrupt, with its user class."""
    frames = list(traceback.walk_tb(trace))
    callers = (value for frame, _ in frames for value in frame.f_locals.values() if isinstance(value, User))
    user = next(callers, None)
    who = type(user).__name__ if user else "a greenlet that a user or a listener spawned"
    place = ""
    if frames:
        last, line = frames[-1]
        place = f" ({Path(last.f_code.co_filename).name}:{line})"
    return f"{who} raised {describe_error(error)}{place}, which would end the process without a verdict"


def keep_status(environment: Any, status: Callable[[], int | None]) -> None:
    """End the process with ``status`` from now on, if it is neither 0 nor None (no run).

    Otherwise a status from the user's code stays. Listeners of `quitting` and `quit` run after the run is over, so a
    status that they set or raise would override the status of the run.
    """
    quitting, quit_hook = environment.events.quitting, environment.events.quit

    def fire_quitting(*, reverse: bool = False, **arguments: Any) -> None:
        asked = _fire_all(quitting, "quitting", arguments, reverse=reverse)
        theirs = environment.process_exit_code if asked is None else asked
        own = status()
        if own and theirs != own:
            log.warning("a listener set exit status %s, which is ignored: the run's status is %s", theirs, own)
        environment.process_exit_code = own or (own if theirs is None else theirs)

    def fire_quit(*, reverse: bool = False, **arguments: Any) -> None:
        asked = _fire_all(quit_hook, "quit", arguments, reverse=reverse)
        if asked is not None and not status():
            raise SystemExit(asked)

    quitting.fire, quit_hook.fire = fire_quitting, fire_quit


def _fire_all(hook: EventHook, name: str, arguments: Mapping[str, Any], *, reverse: bool) -> int | None:
    """Call every listener, also after one that raised SystemExit. Returns the last status that was raised, or None."""
    asked = None
    for listener in list(reversed(hook._handlers) if reverse else hook._handlers):
        alone = EventHook()  # Locust's hook handles other exceptions
        alone.add_listener(listener)
        try:
            alone.fire(**arguments)
        except SystemExit as error:
            log.warning("a listener of %s raised %s", name, describe_error(error))
            asked = error.code if isinstance(error.code, int) else int(error.code is not None)
    return asked
