"""Guards Locust's runner during a run: only the harness may end a load early or change the number of users.

A locustfile, a listener or a library may call the runner, too. Locust would then stop or start users, and no result
would show that the load was cut short or changed. These calls are skipped and reported instead, with their location.
"""

import inspect
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import gevent
from locust import runners

CHANGE_USERS = ("start", "spawn_users", "stop_users")
"""Methods that the runner calls itself to begin and to end a run."""


def cut_short_by(what: str, load_s: float = -1.0, of_s: float | None = None) -> str:
    """Return the sentence about a load that ended early.

    ``load_s``: seconds into the load, negative before it began. ``of_s``: the planned length; None if it is not fixed.
    """
    when = "before it began" if load_s < 0 else f"after {load_s:.1f} s" + (f" of {of_s:g} s" if of_s else "")
    return (
        f"the load was ended {when} by {what}, which is not part of the scenario: find the caller, remove the call, "
        "and run again"
    )


def guard_runner(runner: Any, is_own: Callable[[], bool], report: Callable[[str], None]) -> None:
    """Skip and report each call, other than the harness's, that ends or changes the runner's users.

    ``report`` receives the call, such as ``environment.runner.quit() (orders.py:31)``.
    """
    stopping: set[gevent.Greenlet] = set()  # greenlets inside the runner's `stop`

    def guarded(name: str) -> Callable[..., None]:
        act = getattr(runner, name)

        def call(*arguments: Any, **options: Any) -> None:
            current = gevent.getcurrent()
            if current in stopping:  # a listener of `test_stopping` or `test_stop`: the users are being stopped
                return
            if not is_own():
                report(f"environment.runner.{name}(){_place(inspect.currentframe())}")
                return
            if name == "stop":
                stopping.add(current)
            try:
                act(*arguments, **options)
            finally:
                stopping.discard(current)

        return call

    def unchanged_by_others(name: str) -> Callable[..., Any]:
        act = getattr(runner, name)

        def call(*arguments: Any, **options: Any) -> Any:
            frame = inspect.currentframe()
            if _is_locusts(frame) or is_own():
                return act(*arguments, **options)
            report(f"environment.runner.{name}(){_place(frame)}")
            return []  # the users that it spawned

        return call

    runner.stop, runner.quit = guarded("stop"), guarded("quit")
    for name in CHANGE_USERS:
        setattr(runner, name, unchanged_by_others(name))


def _is_locusts(guarded: FrameType | None) -> bool:
    """Whether the runner itself makes a guarded call."""
    caller = guarded.f_back if guarded else None
    return caller is not None and caller.f_code.co_filename == runners.__file__


def _place(guarded: FrameType | None) -> str:
    """Return the location of a guarded call; '' if the call is the greenlet's entry function."""
    caller = guarded.f_back if guarded else None
    return f" ({Path(caller.f_code.co_filename).name}:{caller.f_lineno})" if caller else ""
