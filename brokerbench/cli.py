"""What can be done around a run? ``brokerbench COMMAND``; a run itself is made by ``locust -f scenarios/….py``.

Each command imports its room when it is called: ``brokerbench doctor`` must work where something else is broken.
"""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from brokerbench.errors import OneLineErrors

RUNS = click.option(
    "--runs",
    type=click.Path(path_type=Path),
    default=Path("runs"),
    show_default=True,
    help="The folder that keeps runs.",
)
UP_RUNTIMES = ("containers", "processes", "external")
TO = ("broker", "compose", "amazon-mq", "diagram")
RUN = click.argument("run", metavar="RUN")


@click.group(cls=OneLineErrors)
@click.version_option(package_name="brokerbench")
@click.option("--debug", is_flag=True, help="Show the stack trace of an error.")
def main(debug: bool) -> None:
    """Benchmarks of networks of message brokers. Make a run with: locust -f scenarios/steady.py --topology mesh"""


@main.command()
@click.argument("name", required=False)
def topologies(name: str | None) -> None:
    """List the topologies, or show one: picture, links, paths, what a broker more would change.

    NAME: mesh, 'mesh(brokers=5)', or a YAML file of your own.
    """
    from brokerbench import showing
    from brokerbench.failover_options import built_for_clients
    from brokerbench.growth import growths
    from topologies.catalogue import arguments, build, entries
    from topologies.own_topology import is_file
    from topologies.parse import parse_call

    if name is None:
        click.echo(showing.catalogue(entries()))
    elif is_file(name):
        click.echo(showing.topology(built_for_clients(name), growths(name)))
    else:
        built, called = build(name), parse_call(name).name.replace("_", "-")
        entry = next(entry for entry in entries() if entry.name == called)
        click.echo(showing.entry(entry, arguments(name), build(called), built, growths(name)))


@main.command()
@click.argument("name")
@click.option("--to", type=click.Choice(TO), default="broker", show_default=True, help="What to render.")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), required=True, help="Folder to write into.")
@click.option("--base-port", type=click.IntRange(1024, 65000), default=61616, show_default=True, help="The first port.")
def render(name: str, to: str, out: Path, base_port: int) -> None:
    """Write a topology in a form that others read. Nothing is started. NAME as for topologies.

    \b
    broker     the configuration files of every broker, a folder each
    compose    a folder that Docker Compose brings up
    amazon-mq  a CloudFormation template for each region
    diagram    an SVG, the drawing of the reports
    """
    from brokerbench.failover_options import built_for_clients
    from brokerbench.rendering import rendered, write_files

    topology = built_for_clients(name)
    _warn(topology.warnings)
    for path in write_files(rendered(topology, to, base_port), out):
        click.echo(path)


@main.command()
@click.argument("name")
@click.option("--link", multiple=True, help="What links are like: 'east<->west:delay=40ms'. May be given again.")
@click.option("--runtime", type=click.Choice(UP_RUNTIMES), help="Where the brokers run: containers if possible.")
@click.option("--brokers-file", type=click.Path(path_type=Path), help="YAML file: where brokers run already.")
@click.option("--ca-file", type=click.Path(path_type=Path), help="Authorities to trust for TLS, in PEM.")
@click.option("--image", help="Image of the brokers' containers.")
@click.option("--protocol", default="stomp", show_default=True, help="What the canaries speak; or TO:FROM the network.")
@click.option("--failover", help="Options of the failover URIs, such as 'randomize=false&timeout=3000'.")
@click.option("--broker-memory", "broker_memory_mb", type=click.IntRange(64), default=512, help="Heap of each in MiB.")
@click.option("--base-port", type=click.IntRange(1024, 65000), help="First port of a fixed range.")
@click.option("--bind-host", default="127.0.0.1", show_default=True, help="Address where the brokers listen.")
@click.option("--keep-data", is_flag=True, help="Keep the brokers' message stores and logs.")
@RUNS
def up(name: str, **chosen: Any) -> None:
    """Bring a topology up, prove it, say how to reach it, and take all of it down at Ctrl-C. NAME as for topologies."""
    from brokerbench.up import request, up

    wanted, reason = request(name, **chosen)
    click.echo(f"topology {name} on {wanted.wanted.runtime}: {reason}", err=True)
    _warn(wanted.topology.warnings)
    sys.exit(up(wanted, lambda line: click.echo(line, err=True), click.echo))


@main.command()
@RUN
@click.option("--master", default=None, help="Spark master, such as local[4] or spark://host:7077.")
@RUNS
def analyse(run: str, master: str | None, runs: Path) -> None:
    """Compute the results and the verdict of a RUN again: a folder, its name, or `latest`. Exit status by verdict."""
    from brokerbench import jobs
    from brokerbench.runs import find_run

    sys.exit(jobs.analyse(find_run(run, runs), master))


@main.command()
@RUN
@RUNS
def report(run: str, runs: Path) -> None:
    """Draw the report of an analysed RUN again: a folder, its name, or `latest`. Prints where it is."""
    from brokerbench.runs import find_run
    from reports.build import write_report

    click.echo(write_report(find_run(run, runs).path))


@main.command()
@RUNS
def doctor(runs: Path) -> None:
    """Say whether this machine can run a benchmark, and what to do where it cannot. Exit status 1 if it cannot."""
    from brokerbench.doctor import examine, necessary_is_missing, table
    from brokerbench.facts import gather

    findings = examine(gather(runs))
    click.echo(table(findings))
    sys.exit(1 if necessary_is_missing(findings) else 0)


def _warn(warnings: Iterable[str]) -> None:
    for warning in warnings:
        click.echo(f"warning: {warning}", err=True)
