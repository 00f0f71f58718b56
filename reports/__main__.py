"""Makes a report in a process of its own: ``python -m reports RUN``, exit status 0, or 2 and one sentence.

``--junit FILE`` and ``--markdown FILE`` write these files too.
"""

import sys
from argparse import ArgumentParser
from pathlib import Path

from records.errors import UserError
from reports.build import OtherFiles, write_report_measured


def main(arguments: list[str]) -> int:
    """``arguments``: the run's folder, and the options."""
    parser = ArgumentParser(prog="python -m reports")
    parser.add_argument("run", type=Path)
    parser.add_argument("--junit", type=Path)
    parser.add_argument("--markdown", type=Path)
    wanted = parser.parse_args(arguments)
    try:
        print(write_report_measured(wanted.run, OtherFiles(wanted.junit, wanted.markdown)))
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
