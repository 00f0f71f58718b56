"""Lists the options of a run of one scenario.

``locust --help`` cannot list them, because Locust prints it before it reads the locustfile.
"""

import shutil
from argparse import SUPPRESS, ArgumentParser, HelpFormatter
from functools import partial
from pathlib import Path

from locust import events
from locust.util.load_locustfile import load_locustfile

from brokerbench.compare.session import as_typed

WIDEST = 120
INDENT = 28  # columns before what an option does


def listing(locustfile: Path) -> str:
    """Each option with its help and this scenario's default, in sections; the first line is a command that takes them.

    Loads the locustfile as Locust does. Raises ValueError if the file hands over no scenario.
    """
    width = min(WIDEST, shutil.get_terminal_size().columns)
    formatter = partial(HelpFormatter, max_help_position=INDENT, width=width)
    parser = ArgumentParser(usage=SUPPRESS, add_help=False, formatter_class=formatter)
    load_locustfile(str(locustfile))
    events.init_command_line_parser.fire(parser=parser)
    options = parser.format_help().strip()
    if not options:
        raise ValueError(f"{locustfile}: hands over no scenario; end it with run(Scenario(…)), see docs/scenarios.md")
    return f"{_heading(locustfile)}\n\n{options}"


def _heading(locustfile: Path) -> str:
    return (
        f"locust -f {as_typed(locustfile)} --headless [-t 30s] [OPTION …]\n"
        "-t is the length of the load. docs/options.md tells more of each option. locust --help lists Locust's own."
    )
