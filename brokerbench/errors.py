"""Makes a command fail with one sentence on stderr and status 2. Only ``--debug`` shows the stack trace."""

import sys
from typing import Any

import click

from records.verdicts import EXIT_STATUS
from topologies.model.spelling import shortened

ROOMS = ("analysis", "brokerbench", "drivers", "harness", "records", "reports", "scenarios", "topologies")
UNUSABLE = 2  # the same as for a run that could not be made: see records/verdicts.py

A_RUN = "(Locust makes a run: locust -f scenarios/NAME.py --headless)"


class CommandFailed(click.ClickException):
    """Shown as ``brokerbench: sentence``."""

    exit_code = UNUSABLE

    def __init__(self, message: str) -> None:
        super().__init__(shortened(message))

    def show(self, file: Any = None) -> None:
        click.echo(f"brokerbench: {self.message}", file=file or sys.stderr)


class Stopped(CommandFailed):
    """The user stopped a command that had nothing to shut down or report."""

    exit_code = EXIT_STATUS["interrupted"]


def sentence(error: Exception) -> str:
    """Return the message for an error. Expected errors are sentences. An unexpected error is shown with its type."""
    if isinstance(error, ModuleNotFoundError):
        return f"{error}: run make install to install missing packages"
    if isinstance(error, KeyError) and error.args:
        return str(error.args[0])  # str() would show the quotes
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename or type(error).__name__}: {error.strerror}"
    foreseen = isinstance(error, ValueError) or type(error).__module__.partition(".")[0] in ROOMS
    if foreseen and str(error):
        return str(error)
    return f"{type(error).__name__}: {error} (unexpected error: run brokerbench --debug COMMAND for the stack trace)"


class CommandOfRuns(click.Command):
    """A command that passes options after ``--`` on to its runs. Explains this if a run's option is before ``--``."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(context, args)
        except click.NoSuchOption as error:
            from harness.options.declarations import OPTIONS  # imported only here, so that commands start faster

            if error.option_name not in {option.name for option in OPTIONS.values()}:
                raise
            how = f"write it after --, as in {self.name} … -- {error.option_name} VALUE"
            message = f"{error.message} It is an option of a run: {how}"
            raise click.NoSuchOption(error.option_name, message, ctx=error.ctx) from None


class OneLineErrors(click.Group):
    """A command group that shows exceptions of its commands in one line. With the option ``debug`` it raises them."""

    def resolve_command(self, context: click.Context, args: list[str]) -> Any:
        try:
            return super().resolve_command(context, args)
        except click.UsageError as error:
            if "Did you mean" in error.format_message():
                raise
            raise click.UsageError(f"{error.message} {A_RUN}", error.ctx) from None

    def invoke(self, context: click.Context) -> Any:
        try:
            return super().invoke(context)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except KeyboardInterrupt:
            raise Stopped(f"{context.invoked_subcommand} was stopped by Ctrl-C") from None
        except Exception as error:
            if context.params["debug"]:
                raise
            raise CommandFailed(sentence(error)) from None
