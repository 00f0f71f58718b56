"""The commands of ``brokerbench COMMAND``. A run itself is started with ``locust -f scenarios/….py``.

Each command imports its modules when it is called: ``brokerbench doctor`` must work even if other parts are broken.
"""

import os
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from brokerbench.errors import CommandOfRuns, OneLineErrors
from brokerbench.up_options import NumberRange, UpCommand


class RunsFolder(click.Path):
    """A folder with runs on this machine."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from records.analysis_command import is_uri

        if is_uri(str(value)):
            self.fail(f"{value}: must be a folder; only single runs by locust are stored at a URI", param, ctx)
        return super().convert(value, param, ctx)


RUNS = click.option(
    "--runs",
    type=RunsFolder(),
    default=Path("runs"),
    show_default=True,
    help="Folder with the runs.",
)
TO = ("broker", "compose", "amazon-mq", "diagram")
MOST_BLOCKS = 1_000
DEFAULT = "latency p99; the longest outage if faults cut clients off"
FORMS = ("hdr", "csv")
FOLDER = click.Path(path_type=Path, file_okay=False)
FILE = click.Path(path_type=Path, dir_okay=False)
SAME_WITHIN = NumberRange(min=0, max=100, min_open=True)  # percent
RUN = click.argument("run", metavar="RUN")


@click.group(cls=OneLineErrors, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="brokerbench")
@click.option("--debug", is_flag=True, help="Show the stack trace of an error.")
def main(debug: bool) -> None:
    """Benchmarks of networks of message brokers.

    \b
    Start a run:      locust -f scenarios/steady.py --headless --topology mesh -t 30s
    List its options: brokerbench options

    The commands below list topologies, scenarios and options, make series of runs, and read stored runs.
    """
    from records.environment import escape_unprintable

    escape_unprintable()


@main.command()
@click.argument("name", required=False)
def topologies(name: str | None) -> None:
    """List the topologies, or show one with its links and paths.

    Details of a topology: picture, links, paths, and the effect of adding a broker.

    NAME: mesh, 'mesh(brokers=5)', or the path of a YAML file.
    """
    from brokerbench import showing
    from brokerbench.failover_options import built_for_clients
    from brokerbench.restart_impact import restart_impacts
    from topologies.catalogue.lookup import arguments, build, entries, entry_call
    from topologies.catalogue.yaml_topology import is_file

    if name is None:
        click.echo(showing.catalogue(entries()))
    elif is_file(name):
        click.echo(showing.topology(built_for_clients(name), restart_impacts(name)))
    else:
        built, called = build(name), entry_call(name).name.replace("_", "-")
        entry = next(entry for entry in entries() if entry.name == called)
        click.echo(showing.entry(entry, arguments(name), build(called), built, restart_impacts(name)))


@main.command("scenarios")
@click.argument("name", required=False)
def list_scenarios(name: str | None) -> None:
    """List the scenarios, or show one with its options.

    Details of a scenario: events, question, command line and defaults.

    NAME: steady, or the path of a locustfile.
    """
    from brokerbench.locustfiles import description, locustfile_of, option_list, scenario_list

    if name is None:
        click.echo(scenario_list())
    else:
        path = locustfile_of(name, "scenarios")
        options = option_list(path)
        click.echo(f"{description(path)}\n\n{options}")


@main.command("options")
@click.argument("scenario", default="steady")
def list_options(scenario: str) -> None:
    """List the options of a run, with a scenario's defaults.

    SCENARIO: a name, or the path of a locustfile [default: steady].
    """
    from brokerbench.locustfiles import locustfile_of, option_list

    click.echo(option_list(locustfile_of(scenario, "options")))


@main.command()
@click.argument("name")
@click.option("--to", type=click.Choice(TO), default="broker", show_default=True, help="What to render.")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), required=True, help="Folder to write into.")
@click.option("--base-port", type=click.IntRange(1024, 65000), default=61616, show_default=True, help="The first port.")
@click.option("--overlay", help="YAML file with settings that override the topology's.")
@click.option("--unset-defaults", is_flag=True, help="Write only topology and overlay settings. For broker, compose.")
@click.option("--broker-version", default="", help="Version that reads the files, such as 5.16.6. For broker only.")
def render(name: str, to: str, out: Path, overlay: str | None, **wishes: Any) -> None:
    """Write a topology as files for brokers, Compose or AWS.

    No broker is started. NAME: see brokerbench topologies.

    \b
    broker     the configuration files of every broker, one folder per broker
    compose    a folder to start with Docker Compose
    amazon-mq  a CloudFormation template for each region
    diagram    an SVG with the drawing of the reports
    """
    from brokerbench.failover_options import built_for_clients
    from brokerbench.rendering import notes, rendered, write_files
    from topologies.catalogue.overlay import apply_overlay

    topology, _ = apply_overlay(built_for_clients(name), overlay)
    _warn(topology.warnings)
    files = rendered(topology, to, **wishes)
    for path in write_files(files, out):
        click.echo(path)
    for note in notes(files):
        click.echo(f"not as measured: {note}", err=True)


@main.command(cls=UpCommand)
@click.argument("name")
@RUNS
def up(name: str, **chosen: Any) -> None:
    """Start the brokers of a topology, without a run.

    Proves the links, shows how to connect, and stops all brokers at Ctrl-C. NAME: see brokerbench topologies.
    """
    from brokerbench.up import request, up
    from harness.machine import memory_bytes

    wanted, reason = request(name, **chosen)
    click.echo(f"topology {name} on {wanted.wanted.runtime}: {reason}", err=True)
    _warn((*wanted.topology.warnings, *wanted.wanted.warnings(wanted.topology, memory_bytes())))
    sys.exit(up(wanted, lambda line: click.echo(line, err=True), click.echo))


@main.command()
@click.argument("names", metavar="RUN …", nargs=-1, required=True)
@click.option("--master", default=None, help="Spark master, such as local[4] or spark://host:7077.")
@RUNS
def analyse(names: tuple[str, ...], master: str | None, runs: Path) -> None:
    """Recompute the results and the verdict of stored runs.

    RUN: a folder, its name, `latest`, or the URI of a folder such as s3a://BUCKET/RUN, which Spark reads and writes.
    Several runs share one Spark session. The worst verdict determines the exit status.
    """
    from brokerbench.stored_runs import analyse, find_runs

    sys.exit(analyse(find_runs(names, runs), master))


@main.command()
@RUN
@click.argument("address", metavar="S3")
@RUNS
def store(run: str, address: str, runs: Path) -> None:
    """Copy a stored run to S3, and print its URI.

    RUN: a folder, its name, or `latest`. S3: s3://BUCKET/PREFIX. Credentials are read from AWS_ACCESS_KEY_ID,
    AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN. See docs/running.md.
    """
    import os

    from brokerbench.stored_runs import find_run
    from records.errors import UserError, about, without_user_info
    from records.store.run_store import StoreAddress, open_store, reason, store_run

    directory = find_run(run, runs)
    with about(f"{without_user_info(address)}: "):
        to = StoreAddress.parse(address)
        try:
            click.echo(store_run(directory, to, open_store(to, os.environ)))
        except UserError:
            raise
        except OSError as error:
            raise UserError(reason(error, to, os.environ)) from None


class ReportCommand(click.Command):
    """A command with an option for each file that can be written in addition to a report."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        from reports.other_files import OTHER_FILES

        options = [click.Option([f"--{name}"], type=FILE, help=file.help) for name, file in OTHER_FILES.items()]
        return [*options, *super().get_params(ctx)]


@main.command(cls=ReportCommand)
@RUN
@RUNS
def report(run: str, runs: Path, **files: Path | None) -> None:
    """Redraw the report of a stored run, and print its path.

    RUN: a folder, its name, or `latest`. The run must be analyzed.
    """
    from brokerbench.stored_runs import find_run
    from reports.build import write_report
    from reports.inputs import why_changed
    from reports.other_files import named_files

    directory = find_run(run, runs)
    click.echo(write_report(directory.path, named_files(files)))
    _warn(filter(None, [why_changed(directory)]))


@main.command()
@RUN
@click.option("--to", type=click.Choice(FORMS), required=True, help="Format of the files.")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), required=True, help="Folder to write into.")
@RUNS
def export(run: str, to: str, out: Path, runs: Path) -> None:
    """Write the results of a stored run as CSV or HdrHistogram log.

    RUN: a folder, its name, or `latest`. The run must be analyzed. Prints the path of each file.

    \b
    hdr  due_to_received.hlog: latency as an HdrHistogram log, one interval per second of the load
    csv  latency.csv and rates.csv: latency in buckets, and messages per second
    """
    from brokerbench.stored_runs import find_run
    from reports.export import export

    for path in export(find_run(run, runs), to, out):
        click.echo(path)


@main.command(cls=CommandOfRuns)
@click.argument("words", metavar="[RUN RUN …] [-- OPTION …]", nargs=-1)
@click.option("--scenario", metavar="A,B:3,…", help="Make the runs first: scenarios or locustfiles; :3 means 3 blocks.")
@click.option("--topologies", metavar="A,B,…", help="Make runs on each topology.")
@click.option("--vary", multiple=True, metavar="OPTION=A,B,…", help="Make runs with each value of an option.")
@click.option(
    "--blocks", type=click.IntRange(1, MOST_BLOCKS), help="Runs of each arm [default: the number that a verdict needs]."
)
@click.option("--control", is_flag=True, help="Run the first arm twice per block, to measure noise (A/A).")
@click.option("-t", "--run-time", help="Duration of each run's load, such as 30s [default: the scenario's].")
@click.option("--session", help="Name of the runs' folder [default: derived from the options].")
@click.option("--primary", multiple=True, metavar="FIGURE", help=f"A figure to judge, at most 3 [default: {DEFAULT}].")
@click.option("--same-within", type=SAME_WITHIN, default=5, show_default=True, help="Percent that count as equal.")
@click.option("--out", type=FILE, default=Path("comparison.html"), show_default=True, help="Page to write.")
@click.option("--markdown", type=FILE, help="Also write a summary in Markdown.")
@click.option("--json", "json_file", type=FILE, help="Also write the figures as JSON: docs/comparison.schema.json.")
@click.option(
    "--gate", is_flag=True, help="Exit status 1 if a primary figure is worse in any arm, or a run failed a check."
)
@click.option(
    "--strict", is_flag=True, help="Exit status 4 if a verdict is undecided or unstable, or a run's verdict unknown."
)
@click.option("--allow-unlike", is_flag=True, help="Compare runs that differ in several conditions; the page notes it.")
@RUNS
def compare(
    words: tuple[str, ...],
    scenario: str | None,
    topologies: str | None,
    vary: tuple[str, ...],
    blocks: int | None,
    control: bool,
    run_time: str | None,
    session: str | None,
    gate: bool,
    strict: bool,
    runs: Path,
    **wanted: Any,
) -> None:
    """Compare topologies or settings: which is better?

    The page shows by how much, and how certain the answer is.

    With --scenario, the runs are made first: --scenario steady --topologies 'mesh(brokers=5),hub-and-spoke' --blocks 7.
    Each block has one run of every arm, in random order. After an interruption, the same command continues. You can
    raise --blocks while there are too few for a verdict; later blocks do not change the first verdict. Options after --
    are Locust options for every run: -- --protocol amqp --rate 200. Several scenarios make one page: --scenario
    steady:7,failover:3.

    Without --scenario, finished runs are compared. RUN: a folder, or its name. Runs that differ in one condition form
    the arms. Each arm is compared with the arm of the first run. The first run of each arm belongs to block 1, the
    second to block 2, etc., unless the runs recorded their blocks. Runs that never began are listed and left out. See
    docs/comparing.md.

    \b
    Exit status: 0 done, 1 worse or a failed check (--gate), 2 cannot be compared or made, 3 invalid run,
    4 undecided (--strict), 130 stopped.
    """
    from brokerbench.compare.answer import comparison_input, describe, exit_status, runs_that_began
    from brokerbench.compare.command import make_missing_runs
    from brokerbench.compare.equal_arms import nearest_equal
    from brokerbench.compare.kept_verdicts import keep, kept_verdicts
    from brokerbench.compare.session import ComparisonRequest
    from brokerbench.restart_impact import restarts_of
    from brokerbench.stored_runs import find_run
    from reports.comparison.build import compare_runs, write

    page = comparison_input(**wanted)
    if scenario is not None:
        request = ComparisonRequest(scenario, topologies, vary, blocks, run_time, session, words, runs, control)
        folders = tuple(make_missing_runs(request, wanted["primary"], click.echo))
    elif any((topologies, vary, blocks, control, run_time, session)):
        raise click.UsageError("options that make runs take --scenario NAME, such as --scenario steady")
    else:
        folders, left_out = runs_that_began(find_run(name, runs) for name in words)
        for sentence in left_out:
            click.echo(sentence, err=True)
    page_request = replace(page, runs=tuple(folders), to_add_a_broker=restarts_of, nearest_equal=nearest_equal)
    page_request = replace(page_request, standing_verdicts=kept_verdicts(folders))
    comparisons = compare_runs(page_request)
    if scenario is not None:
        keep(comparisons, folders)
    written = write(comparisons, page_request)
    click.echo(describe(comparisons, written))
    sys.exit(exit_status(comparisons, gate=gate, strict=strict))


@main.command()
@click.argument("plan", type=click.Path(path_type=Path))
@click.option("--short", is_flag=True, help="Fewer or shorter runs as set in the plan, to check that it works.")
@click.option("--night", help="Name of this night; the same name continues after a stop [default: today's date].")
@click.option("--history", type=FOLDER, help="Folder of earlier nights [default: nightly-history below --runs].")
@click.option("--junit", type=FILE, help="Write the gates as JUnit XML.")
@click.option("--markdown", type=FILE, help="Write a summary in Markdown.")
@click.option("--strict", is_flag=True, help="Exit status 4 if a gate is undecided.")
@RUNS
def nightly(
    plan: Path,
    short: bool,
    night: str | None,
    history: Path | None,
    junit: Path | None,
    markdown: Path | None,
    strict: bool,
    runs: Path,
) -> None:
    """Make the runs of a plan, and report regressions.

    PLAN: a YAML file. Each of its candidates is compared with the reference.

    Writes nightly.html and nightly.json below --runs, and adds the figures to the history. See docs/nightly.md.

    \b
    Exit status: 0 no gate failed, 1 a gate failed, 2 the plan cannot be run, 3 runs could not be used,
    4 a gate is undecided (--strict), 130 stopped.
    """
    from datetime import date

    from brokerbench.nightly.command import NightRequest, run_night
    from brokerbench.nightly.plan import read

    night_plan = read(plan)
    name = night or f"{date.today():%Y-%m-%d}{'-short' if short else ''}"
    history_folder = history or runs / "nightly-history"
    request = NightRequest(
        plan, night_plan.shortened() if short else night_plan, name, runs, history_folder, junit, markdown
    )
    sys.exit(run_night(request, click.echo).exit_status(strict))


@main.command()
@click.argument("options", metavar="[-- OPTION …]", nargs=-1)
@click.option("--only", multiple=True, metavar="PART,PART,…", help="Only cells with these parts, such as single,never.")
@click.option("--rounds", type=click.IntRange(1, 1_000), default=5, show_default=True, help="Rounds of each cell.")
@click.option("--list", "list_cells", is_flag=True, help="List the cells without making runs.")
@click.option("--out", type=FILE, default=Path("durability.md"), show_default=True, help="Table to write.")
@RUNS
def durability(
    options: tuple[str, ...], only: tuple[str, ...], rounds: int, list_cells: bool, out: Path, runs: Path
) -> None:
    """Measure which messages survive a power failure.

    A cell is a product, a topology, a setting of the journal and a fault. Each round is a run of the scenario
    durability, whose fault begins at a different time. A cell ends after --rounds rounds with a result, or after twice
    that number of rounds. After an interruption, the same command continues, and --rounds can be raised. Options after
    -- are Locust options for every run.

    \b
    Exit status: 0 done, 1 some cells have no result, 2 cannot be made, 130 stopped.
    """
    from brokerbench.durability.cells import chosen
    from brokerbench.durability.making import make
    from brokerbench.durability.table import DECIDED, table
    from brokerbench.interrupts import signals_interrupt
    from records.verdicts import EXIT_STATUS
    from topologies.runtimes.processes.disks import why_no_disks

    cells = chosen(only)
    if list_cells:
        click.echo("\n".join(map(str, cells)))
        return
    if not os.access(out.parent, os.W_OK):
        raise ValueError(f"--out {out}: {out.parent} is not a folder that can be written to; choose another file")
    if why := why_no_disks("processes"):
        raise ValueError(f"durability: {why}")
    try:
        with signals_interrupt():
            rounds_by_cell = make(cells, rounds, runs, options, click.echo)
    except KeyboardInterrupt:
        click.echo("stopped; the same command continues from here")
        sys.exit(EXIT_STATUS["interrupted"])
    out.write_text(f"{table(rounds_by_cell)}\n", encoding="utf-8")
    click.echo(out)
    short = [its for its in rounds_by_cell.values() if sum(r.outcome in DECIDED for r in its) < rounds]
    sys.exit(1 if short else 0)


@main.command()
@RUNS
def doctor(runs: Path) -> None:
    """Check whether this machine can run benchmarks.

    Shows the next step for each problem. Exits with status 1 if the machine cannot run benchmarks.
    """
    from brokerbench.doctor import answer, examine, necessary_is_missing, table
    from brokerbench.facts import gather

    findings = examine(gather(runs))
    click.echo(f"{table(findings)}\n{answer(findings)}")
    sys.exit(1 if necessary_is_missing(findings) else 0)


def _warn(warnings: Iterable[str]) -> None:
    for warning in warnings:
        click.echo(f"warning: {warning}", err=True)
