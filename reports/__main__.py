"""Makes a report in a separate process: ``python -m reports RUN``. Exit status: 0, or 2 with a one-sentence error.

Options such as ``--junit FILE`` also write the files of OTHER_FILES.
"""

import sys
from argparse import ArgumentParser
from pathlib import Path

from records.errors import UserError
from reports.build import write_report_measured
from reports.other_files import OTHER_FILES, named_files


def main(arguments: list[str]) -> int:
    """Write the report of a run, and return the exit status. ``arguments``: the run's folder, and the options."""
    parser = ArgumentParser(prog="python -m reports")
    parser.add_argument("run", type=Path)
    for name in OTHER_FILES:
        parser.add_argument(f"--{name}", type=Path)
    wanted = vars(parser.parse_args(arguments))
    try:
        print(write_report_measured(wanted["run"], named_files(wanted)))
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
