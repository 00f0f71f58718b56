"""Ends a process whose locustfile has an error with status 2. A broken rule of brokerbench is reported in one sentence.

This includes calls of the brokerbench API with missing or unknown arguments.

Locust imports a locustfile before it calls our code, and does not catch its exceptions. Python would print a stack
trace and end with status 1, which means that a check failed.
"""

import inspect
import re
import sys
import sysconfig
import traceback
from pathlib import Path
from types import TracebackType

from topologies.model.spelling import nearest, shortened

CANNOT_RUN = 2
WRONG_CALL = re.compile(r"(?P<name>\w+)(\.__init__)?\(\) (?P<problem>(missing|got|takes) .*)", re.DOTALL)
"""Python's message for wrong arguments of a call."""
PROJECT = Path(__file__).resolve().parents[1]
OURS = tuple(str(PROJECT / name) for name in ("brokerbench", "drivers", "harness", "records", "topologies"))
API = "brokerbench.api"
UNKNOWN_NAME = re.compile(r"cannot import name '(?P<name>\w+)' from 'brokerbench'")
LIBRARIES = tuple(sysconfig.get_paths()[name] for name in ("purelib", "platlib", "stdlib"))


def install_exception_hook() -> None:
    """Handle all uncaught exceptions from now on."""
    sys.excepthook = _end


def sentence(error: BaseException, trace: TracebackType | None) -> str:
    """Return ``my.py:30: load Hold(for_s=-5): …``; '' for an error that is not about a rule of brokerbench."""
    frames = [frame for frame in traceback.extract_tb(trace) if not frame.filename.startswith("<")]
    if not frames:
        return ""
    ours = frames[-1].filename.startswith(OURS)
    problem = str(error) if isinstance(error, ValueError) and ours else _wrong_call(error) or _wrong_import(error)
    if not problem:
        return ""
    theirs = [frame for frame in frames if not frame.filename.startswith((*OURS, *LIBRARIES))]
    where = f"{theirs[-1].filename}:{theirs[-1].lineno}: " if theirs else ""
    return shortened(f"{where}{problem}")


def _wrong_call(error: BaseException) -> str:
    """Return which arguments of an API call are wrong, and which are accepted; '' for any other error."""
    call = WRONG_CALL.match(str(error)) if isinstance(error, TypeError) else None
    called = vars(sys.modules[API]).get(call["name"]) if call and API in sys.modules else None
    if call is None or called is None:
        return ""
    parameters = inspect.signature(called).parameters.values()
    needed = [parameter.name for parameter in parameters if parameter.default is inspect.Parameter.empty]
    optional = [parameter.name for parameter in parameters if parameter.default is not inspect.Parameter.empty]
    takes = f"required: {', '.join(needed) or 'nothing'}" + (f"; optional: {', '.join(optional)}" if optional else "")
    return f"{call['name']}(…): {call['problem']}; {takes}"


def _wrong_import(error: BaseException) -> str:
    """Return the unknown API name and the nearest known one; '' for any other error."""
    unknown = UNKNOWN_NAME.match(str(error)) if isinstance(error, ImportError) else None
    if unknown is None or API not in sys.modules:
        return ""
    hint = nearest(unknown["name"], sys.modules[API].__all__) or "; docs/api.md lists its names"
    return f"brokerbench has no name {unknown['name']}{hint}"


def _end(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if text := sentence(error, trace):
        print(f"brokerbench: {text}", file=sys.stderr)
    else:
        sys.__excepthook__(kind, error, trace)
    if not isinstance(error, KeyboardInterrupt):
        raise SystemExit(CANNOT_RUN)  # Python exits with this status if a hook raises it
