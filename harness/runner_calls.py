"""Guards Locust's runner during a run: only the harness ends a load early, and its users are those of the plan.

A locustfile, a listener or a library may call the runner too. Locust would then stop users or start more, and nothing
would show that the load was cut short, or was another one. Such a call is reported instead, with its place in the code.
"""

import inspect
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import gevent
from locust import runners

CHANGE_USERS = ("start", "spawn_users", "stop_users")
"""Methods of the runner that it calls itself, to begin a run and to end it."""


def cut_short_by(what: str, load_s: float = -1.0, of_s: float | None = None) -> str:
    """The sentence on a load that ended before its time.

    ``load_s``: seconds of the load by then, negative before it. ``of_s``: how many it has; None if that is not fixed.
    """
    when = "before it began" if load_s < 0 else f"after {load_s:.1f} s" + (f" of {of_s:g} s" if of_s else "")
    return (
        f"the load was ended {when} by {what}, and the scenario did not ask for that: find out what calls it, and run "
        "again"
    )


def guard_runner(runner: Any, is_own: Callable[[], bool], report: Callable[[str], None]) -> None:
    """Report each call of the runner that ends or changes its users, and is not the harness' own, and skip it.

    ``report`` gets the call, such as ``environment.runner.quit() (orders.py:31)``.
    """
    stopping: set[gevent.Greenlet] = set()  # greenlets inside the runner's own `stop`

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
    """Where a guarded call comes from; empty if a greenlet does nothing else."""
    caller = guarded.f_back if guarded else None
    return f" ({Path(caller.f_code.co_filename).name}:{caller.f_lineno})" if caller else ""
