"""The command `brokerbench`. Ctrl-C ends it without a stack trace, even while Python still imports its modules."""

import sys
from types import TracebackType

STOPPED = 130  # also the status of an interrupted run: see records.verdicts


def _end(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if not issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)
        return
    print("brokerbench: stopped by Ctrl-C", file=sys.stderr)
    raise SystemExit(STOPPED)  # Python exits with this status


sys.excepthook = _end  # before the imports of a command


def main() -> None:
    from brokerbench.cli import main as command

    command()


if __name__ == "__main__":
    main()
