"""Finds locustfiles, and lists the scenarios and their run options.

Scenarios and their questions are read from the files, without loading Locust.
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
INDENT = 28  # column where the description of an option begins


def locustfile_of(scenario: str, asked_by: str = "--scenario") -> Path:
    """Return the file of a scenario, given by name or path. ``asked_by``: the beginning of the error message."""
    files = {path.stem: path for path, _ in questions()}
    if scenario in files:
        return files[scenario]
    with suppress(OSError):  # the name is too long for a file
        if Path(scenario).is_file():
            return Path(scenario)
    raise ValueError(f"{asked_by} {scenario}: neither a file nor one of {', '.join(files)}")


def as_typed(path: Path) -> str:
    """Return a path as a user would type it in the current folder, for commands that are shown."""
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


def scenario_list() -> str:
    """Return two lines per scenario: the file and the events, then its question."""
    return "\n".join(f"{path.parent.name}/{path.name}  {text}" for path, text in questions())


def questions() -> Iterator[tuple[Path, str]]:
    """Yield each scenario's file and docstring, with the second line indented, ordered by name."""
    for path in sorted(Path(next(iter(scenarios.__path__))).glob("*.py")):
        module = ast.parse(path.read_text(encoding="utf-8"))
        if any(map(_hands_over, module.body)):
            yield path, _text_of(module)


def description(locustfile: Path) -> str:
    """Return the docstring of a locustfile, with events and question. The second line is indented."""
    return _text_of(ast.parse(locustfile.read_text(encoding="utf-8")))


def _text_of(module: ast.Module) -> str:
    docstring = ast.get_docstring(module) or "It has no docstring."
    return "\n    ".join(line for line in inspect.cleandoc(docstring).split("\n") if line)


def _hands_over(statement: ast.stmt) -> bool:
    """Whether it is the statement ``run(Scenario(…))`` of a locustfile."""
    called = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(called, ast.Call) and isinstance(called.func, ast.Name) and called.func.id == "run"


def option_list(locustfile: Path) -> str:
    """List each option with help and this scenario's default, in sections, below a sample command.

    ``locust --help`` cannot list them, because Locust prints it before it reads the locustfile. Loads the locustfile
    like Locust. Raises ValueError if the file does not run a scenario.
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
        raise ValueError(f"{locustfile}: does not run a scenario; end it with run(Scenario(…)), see docs/scenarios.md")
    return (
        f"locust -f {as_typed(locustfile)} --headless [-t 30s] [OPTION …]\n"
        "-t is the load's duration. docs/options.md explains each option. locust --help lists Locust's options.\n\n"
        f"{options}"
    )
