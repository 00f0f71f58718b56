"""Adds the options of `harness.options.declarations` to Locust's command line; the web UI's form shows them too.

`harness.options.run_options.read` converts the parsed arguments to a frozen `Options`.
"""

from argparse import Action, ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from harness.faults.planning import kinds_in_words
from harness.options.declarations import KINDS_OF_FAULTS, OPTIONS, SCENARIOS_OWN, SECTIONS
from harness.scenario import WARM_UP_AT_LEAST_S, WARM_UP_AT_MOST_S, Scenario

REPEATED = {option.dest for option in OPTIONS.values()} | {"locustfile", "headless", "run_time", "processes"}
"""Options that belong to the command that repeats a run."""


class Joined(Action):
    """Joins the values of a repeated option with ``;``, the separator of several values in one option."""

    def __call__(
        self, parser: ArgumentParser, namespace: Namespace, values: Any, option_string: str | None = None
    ) -> None:
        before = getattr(namespace, self.dest)
        setattr(namespace, self.dest, f"{before};{values}" if before else values)


class JoinedByName(Joined):
    """Joins the values of a repeated option that have the form ``NAME=VALUE``. Another value replaces earlier ones."""

    def __call__(
        self, parser: ArgumentParser, namespace: Namespace, values: Any, option_string: str | None = None
    ) -> None:
        if "=" not in str(values) or "=" not in str(getattr(namespace, self.dest)):
            setattr(namespace, self.dest, None)
        super().__call__(parser, namespace, values, option_string)


def add_arguments(parser: Any, scenario: Scenario) -> None:
    """Add brokerbench's arguments to Locust's parser. The web form shows them in the same order."""
    _refuse_endless_run_time(parser)
    groups = {title: parser.add_argument_group(title) for title in SECTIONS}
    defaults = {
        "--topology": scenario.default_topology.replace("%", "%%"),
        "--protocol": scenario.default_protocol,
        "--warm-up": _warm_up(scenario),
    }
    kinds = kinds_in_words()
    for option in OPTIONS.values():
        if option.section not in groups:
            continue
        help = option.help.replace(SCENARIOS_OWN, defaults.get(option.name, "")).replace(KINDS_OF_FAULTS, kinds)
        help = help.replace("%(default)s", str(option.default))  # the web form would show it as it is
        settings: dict[str, Any] = {"help": help}
        if option.kind is bool:
            settings["action"] = "store_true"
        else:
            settings["default"] = option.parser_default
        if option.kind in (int, float):
            settings["type"] = option.kind
        if option.choices:  # '' means that the option is not given, so the help text does not list it
            settings |= {"choices": ("", *option.choices), "metavar": "{" + ",".join(option.choices) + "}"}
        if option.repeats:
            settings["action"] = Joined
        if option.repeats_by_name:
            settings["action"] = JoinedByName
        settings["env_var"] = f"LOCUST_{option.dest.upper()}"
        action = groups[option.section].add_argument(option.name, **settings)
        action.include_in_web_ui = option.in_form and not option.beside_report
        action.is_secret = action.is_required = action.is_multiple = False  # as Locust's own add_argument sets them
    parser.set_defaults(topology=scenario.default_topology)


def options_set_elsewhere(parser: Any, command: Sequence[str]) -> list[str]:
    """Return the options from environment variables or locust.conf, as words to append to ``command``.

    Only options that repeat the run are returned. Other options may contain secrets, such as LOCUST_WEB_LOGIN.
    """
    words: list[str] = []
    typed = {word.partition("=")[0] for word in command}
    sources = parser.get_source_to_settings_dict() if parser else {}
    for source, found in sources.items():
        if source in ("command_line", "defaults"):
            continue
        for action, value in found.values():
            if action is None or action.dest not in REPEATED or typed & {*action.option_strings}:
                continue
            words += [action.option_strings[-1], *([] if action.nargs == 0 else [str(value)])]
            typed |= {*action.option_strings}
    return words


def _warm_up(scenario: Scenario) -> str:
    if scenario.warm_up_s is not None:
        return f"{scenario.warm_up_s:g}"
    return f"until the median latency settles, at least {WARM_UP_AT_LEAST_S} and at most {WARM_UP_AT_MOST_S:g}"


def _refuse_endless_run_time(parser: Any) -> None:
    """Report a run time that is too long as an argument error. Locust's ``-t`` raises Python's OverflowError."""
    for action in parser._actions:
        if action.dest == "run_time" and action.type is not None:
            action.type = partial(_run_time_s, action.type)


def _run_time_s(timespan: Callable[[str], int], text: str) -> int:
    """Parse a run time in seconds. ``timespan``: Locust's parser."""
    try:
        return timespan(text)
    except (OverflowError, ValueError, ArgumentTypeError) as error:
        raise ArgumentTypeError(f"{text!r}; write a time of at most 31 days, such as 30s, 5m or 1h20m") from error
