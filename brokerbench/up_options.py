"""Makes the options of ``brokerbench up`` from the options of a run that concern brokers.

Types, ranges and defaults are the same as for a run. ``up`` has different help texts, and a few other differences.
"""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from harness.options.declarations import Option

DIFFERENCES: dict[str, dict[str, Any]] = {
    "--link": {"help": "Impairment of links: 'east<->west:delay=40ms'. Can be repeated."},
    "--runtime": {
        "help": "Where the brokers run; by default in containers, if possible.",
        "type": click.Choice(("containers", "processes", "external")),
    },
    "--brokers-file": {"help": "YAML file with the URIs of running brokers."},
    "--ca-file": {"help": "PEM file with trusted authorities for TLS."},
    "--image": {"help": "Image of the brokers' containers."},
    "--broker-version": {"help": "Version of brokers that run as processes, such as 5.16.6."},
    "--distribution": {"help": "Broker distribution to run as processes."},
    "--overlay": {
        "help": "YAML file with settings that override the topology's.",
        "type": str,  # the value none means no file
    },
    "--unset-defaults": {"help": "Write only settings of topology and overlay."},
    "--protocol": {
        "help": "Protocol of the test messages, or PRODUCERS:CONSUMERS.",
        "default": "stomp",
        "show_default": True,
    },
    "--failover": {"help": "Options of the failover URIs, such as 'randomize=false&timeout=3000'."},
    "--broker-memory": {"help": "Heap of each broker in MiB.", "type": click.IntRange(64)},
    "--broker-cpus": {"help": "Cores that each broker may use, such as 0.5.", "default": None},
    "--start-timeout": {"help": "Seconds that the brokers have to start."},
    "--base-port": {"help": "First port of a fixed range."},
    "--bind-host": {"help": "Address where the brokers listen.", "show_default": True},
    "--keep-data": {"help": "Keep the brokers' message stores and logs."},
}
"""The settings for click that differ from the declaration, by option, in the order of the help."""


class NumberRange(click.FloatRange):
    """A range that rejects ``nan``, which fails every comparison."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"{value} is not in the range {self._describe_range()}.", param, ctx)
        return number


class UpCommand(click.Command):
    """A command that also has these options. The declarations are imported when it is called."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        from harness.options.declarations import OPTIONS

        declared = {option.name: _settings(option) for option in OPTIONS.values()}
        options = [click.Option([name], **declared[name] | own) for name, own in DIFFERENCES.items()]
        return [*options, *super().get_params(ctx)]


def _settings(option: "Option") -> dict[str, Any]:
    """Convert the declaration of an option to click's settings."""
    if option.kind is bool:
        return {"is_flag": True}
    if option.repeats:
        return {"multiple": True}
    if option.kind is Path:
        return {"type": click.Path(path_type=Path)}
    if option.bounds and option.kind is int:
        bounds = click.IntRange(int(option.bounds.least), int(option.bounds.most))
        return {"type": bounds, "default": option.default}
    if option.bounds:
        seconds = NumberRange(option.bounds.least, option.bounds.most, min_open=option.bounds.above_least)
        return {"type": seconds, "default": option.default}
    return {"default": option.default}
