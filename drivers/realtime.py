"""Requests real-time priority for a thread from Linux, and gives it back.

The threads share a core fairly with each other (SCHED_RR), and their children run normally (SCHED_RESET_ON_FORK): no
broker inherits the priority. Only root may clear that flag again, so it stays.
"""

import os

LEVEL = 1
HOW = "run as root, or let this user have real-time priority (ulimit -r 1, or LimitRTPRIO=1 of a systemd unit)"


def why_refused() -> str:
    """Return why this process cannot have real-time priority; empty if it can. It has none afterwards."""
    if not hasattr(os, "sched_setscheduler"):
        return "real-time priority is for Linux only"
    try:
        raise_priority(0)
        give_back(0)
    except OSError as error:
        return f"real-time priority is not permitted here ({error.strerror}): {HOW}"
    return ""


def raise_priority(thread: int) -> None:
    """Raise the priority of a thread by its number; 0: the calling thread. OSError if not permitted, or the thread
    has ended."""
    os.sched_setscheduler(thread, os.SCHED_RR | os.SCHED_RESET_ON_FORK, os.sched_param(LEVEL))


def give_back(thread: int) -> None:
    """Restore the normal priority. OSError as in `raise_priority`."""
    os.sched_setscheduler(thread, os.SCHED_OTHER | os.SCHED_RESET_ON_FORK, os.sched_param(0))
