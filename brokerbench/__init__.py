"""The command `brokerbench`. Ctrl-C ends it without a stack trace, while Python still imports it too."""

import sys
from types import TracebackType

STOPPED = 130  # as records.summary.EXIT_STATUS has it for a run that was interrupted


def _end(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if not issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)
        return
    print("brokerbench: stopped by Ctrl-C", file=sys.stderr)
    raise SystemExit(STOPPED)  # Python takes this status if a hook ends so


sys.excepthook = _end  # here, as it comes before all other imports of a command
