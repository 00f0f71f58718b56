"""Waits in calls that may come from anywhere: a thread, a greenlet, or a signal handler.

Under gevent a plain signal handler runs in the hub, between greenlets, where no switch is possible. There the patched
sleep raises, and gevent's Popen does not notice the end of a child. `close` must work there too.
"""

import sys
import time

import psutil

POLL_S = 0.05


def pause(seconds: float = POLL_S) -> None:
    """Sleep, letting other greenlets run where that is possible."""
    if _in_the_hub():
        sys.modules["gevent.monkey"].get_original("time", "sleep")(seconds)
    else:
        time.sleep(seconds)


def has_ended(pid: int) -> bool:
    """Whether a child of ours is over, be it reaped or not; asks the system, not a Popen."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def _in_the_hub() -> bool:
    gevent, monkey = sys.modules.get("gevent"), sys.modules.get("gevent.monkey")
    if gevent is None or monkey is None or not monkey.is_module_patched("time"):
        return False
    return gevent.getcurrent() is gevent.get_hub()
