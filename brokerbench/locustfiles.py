"""Finds locustfiles, and lists the scenarios and the options of a run of one.

Scenarios and their questions are read from the files: nothing of Locust is loaded for them.
"""

import ast
import inspect
import shutil
from argparse import SUPPRESS, ArgumentParser, HelpFormatter
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

import scenarios

WIDEST = 120
INDENT = 28  # columns before what an option does


def locustfile_of(scenario: str, asked_by: str = "--scenario") -> Path:
    """The file of a scenario that is named, or a user's own. ``asked_by`` begins the error if there is neither."""
    files = {path.stem: path for path, _ in questions()}
    if scenario in files:
        return files[scenario]
    with suppress(OSError):  # longer than any file's name
        if Path(scenario).is_file():
            return Path(scenario)
    raise ValueError(f"{asked_by} {scenario}: no such file, and none of {', '.join(files)}")


def as_typed(path: Path) -> str:
    """A path as one would type it here, for a command that is shown: in run.json, on a page, in a help."""
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


def scenario_list() -> str:
    """Return two lines per scenario: the file and the events, then its question."""
    return "\n".join(f"{path.parent.name}/{path.name}  {text}" for path, text in questions())


def questions() -> Iterator[tuple[Path, str]]:
    """Each scenario's file and docstring, the second line indented. In the order of their names."""
    for path in sorted(Path(next(iter(scenarios.__path__))).glob("*.py")):
        module = ast.parse(path.read_text(encoding="utf-8"))
        if any(map(_hands_over, module.body)):
            yield path, _text_of(module)


def description(locustfile: Path) -> str:
    """Return the docstring of a locustfile, with events and question, the second line indented."""
    return _text_of(ast.parse(locustfile.read_text(encoding="utf-8")))


def _text_of(module: ast.Module) -> str:
    docstring = ast.get_docstring(module) or "It has no docstring."
    return "\n    ".join(line for line in inspect.cleandoc(docstring).split("\n") if line)


def _hands_over(statement: ast.stmt) -> bool:
    """Whether it is the last line of a locustfile, ``run(Scenario(…))``."""
    called = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(called, ast.Call) and isinstance(called.func, ast.Name) and called.func.id == "run"


def option_list(locustfile: Path) -> str:
    """Each option with its help and this scenario's default, in sections; the first line is a command that takes them.

    ``locust --help`` cannot list them, because Locust prints it before it reads the locustfile. Loads the locustfile as
    Locust does. Raises ValueError if the file hands over no scenario.
    """
    from locust import events
    from locust.util.load_locustfile import load_locustfile

    width = min(WIDEST, shutil.get_terminal_size().columns)
    formatter = partial(HelpFormatter, max_help_position=INDENT, width=width)
    parser = ArgumentParser(usage=SUPPRESS, add_help=False, formatter_class=formatter)
    load_locustfile(str(locustfile))
    events.init_command_line_parser.fire(parser=parser)
    options = parser.format_help().strip()
    if not options:
        raise ValueError(f"{locustfile}: hands over no scenario; end it with run(Scenario(…)), see docs/scenarios.md")
    return (
        f"locust -f {as_typed(locustfile)} --headless [-t 30s] [OPTION …]\n"
        "-t is the length of the load. docs/options.md explains each option. locust --help lists Locust's options.\n\n"
        f"{options}"
    )
