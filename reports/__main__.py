"""How is a report made by a process of its own? ``python -m reports RUN``: exit status 0, or 2 and one sentence."""

import sys
from pathlib import Path

from records.errors import RunUnreadable, RunUnwritable
from reports.build import write_report_measured


def main(arguments: list[str]) -> int:
    """``arguments``: the run's folder."""
    try:
        print(write_report_measured(Path(arguments[0])))
    except (RunUnreadable, RunUnwritable) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
