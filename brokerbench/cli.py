"""What can be done around a run? ``brokerbench COMMAND``; a run itself is made by ``locust -f scenarios/….py``.

Each command imports its room when it is called: ``brokerbench doctor`` must work where something else is broken.
"""

import sys
from pathlib import Path

import click

from brokerbench.errors import OneLineErrors

RUNS = click.option(
    "--runs",
    type=click.Path(path_type=Path),
    default=Path("runs"),
    show_default=True,
    help="The folder that keeps runs.",
)
RUN = click.argument("run", metavar="RUN")


@click.group(cls=OneLineErrors)
@click.version_option(package_name="brokerbench")
@click.option("--debug", is_flag=True, help="Show the stack trace of an error.")
def main(debug: bool) -> None:
    """Benchmarks of networks of message brokers. Make a run with: locust -f scenarios/steady.py --topology mesh"""


@main.command()
@click.argument("name", required=False)
def topologies(name: str | None) -> None:
    """List the topologies, or show one: its picture, links, client groups and paths. NAME: mesh, 'mesh(brokers=5)'."""
    from brokerbench import showing
    from topologies.catalogue import build, entries
    from topologies.parse import parse_call

    if name is None:
        click.echo(showing.catalogue(entries()))
        return
    built = build(name)
    called = parse_call(name).name.replace("_", "-")
    click.echo(showing.topology(next(entry for entry in entries() if entry.name == called), built))


@main.command()
@click.argument("name")
@click.option("--to", type=click.Choice(["broker"]), default="broker", help="What to render: the brokers' own files.")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), required=True, help="Folder to write into.")
@click.option("--base-port", type=click.IntRange(1024, 65000), default=61616, show_default=True, help="The first port.")
def render(name: str, to: str, out: Path, base_port: int) -> None:
    """Write the configuration files of every broker of a topology, a folder each. Nothing is started."""
    from brokerbench.rendering import broker_files, write_files
    from topologies.catalogue import build

    for path in write_files(broker_files(build(name), base_port), out):
        click.echo(path)


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
