"""The command `brokerbench`. Ctrl-C ends it without a stack trace, even while Python still imports its modules."""

import sys
from types import TracebackType

STOPPED = 130  # the status of an interrupted run too: see records.summary


def _end(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if not issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)
        return
    print("brokerbench: stopped by Ctrl-C", file=sys.stderr)
    raise SystemExit(STOPPED)  # Python takes this status if a hook ends so


sys.excepthook = _end  # before the imports of a command


def main() -> None:
    from brokerbench.cli import main as command

    command()


if __name__ == "__main__":
    main()
