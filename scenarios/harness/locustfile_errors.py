"""Ends a process whose locustfile has an error with status 2, and in one sentence where a rule of ours is broken.

Locust imports a locustfile before it calls any of our code, and lets its exceptions through: Python would show a stack
trace and end with status 1, which means that a check failed.
"""

import sys
import sysconfig
import traceback
from pathlib import Path
from types import TracebackType

from topologies.model.spelling import shortened

CANNOT_RUN = 2
PROJECT = Path(__file__).resolve().parents[2]
OURS = tuple(str(PROJECT / name) for name in ("drivers", "records", "scenarios/harness", "topologies"))
LIBRARIES = tuple(sysconfig.get_paths()[name] for name in ("purelib", "platlib", "stdlib"))


def use_status_of_a_run_that_cannot_be_made() -> None:
    """For all exceptions that nobody catches, from now on."""
    sys.excepthook = _end


def sentence(error: BaseException, trace: TracebackType | None) -> str:
    """``my.py:30: load Hold(for_s=-5): …``; '' for an error that is not about a rule of ours."""
    frames = [frame for frame in traceback.extract_tb(trace) if not frame.filename.startswith("<")]
    if not isinstance(error, ValueError) or not frames or not frames[-1].filename.startswith(OURS):
        return ""
    theirs = [frame for frame in frames if not frame.filename.startswith((*OURS, *LIBRARIES))]
    where = f"{theirs[-1].filename}:{theirs[-1].lineno}: " if theirs else ""
    return shortened(f"{where}{error}")


def _end(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if told := sentence(error, trace):
        print(f"brokerbench: {told}", file=sys.stderr)
    else:
        sys.__excepthook__(kind, error, trace)
    if not isinstance(error, KeyboardInterrupt):
        raise SystemExit(CANNOT_RUN)  # Python takes this status if a hook ends so
