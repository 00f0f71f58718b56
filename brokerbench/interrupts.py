"""Turns the signals that end a program into one KeyboardInterrupt, so that what it started can be taken down."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def signals_interrupt() -> Iterator[None]:
    """The first signal raises KeyboardInterrupt. Later ones are ignored, so nothing interrupts the shutdown."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        for each in SIGNALS:
            signal.signal(each, signal.SIG_IGN)
        raise KeyboardInterrupt

    _let_gevent_pass_it_on()
    before = {each: signal.signal(each, interrupt) for each in SIGNALS}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def _let_gevent_pass_it_on() -> None:
    """Once Locust is imported, waiting means gevent's hub. It would print a stack trace before it passes errors on."""
    if "gevent" in sys.modules:
        from gevent import get_hub

        hub = get_hub()
        hub.NOT_ERROR = (*hub.NOT_ERROR, KeyboardInterrupt)
