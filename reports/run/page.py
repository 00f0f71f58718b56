"""Computes everything that the template prints: a list of sections, each with charts and tables."""

import dataclasses
import json
from dataclasses import dataclass, replace

import pyarrow.compute as pc

from reports.clients.areas import client_charts
from reports.clients.consumers import consumers_chart
from reports.clients.moves import balance_table, moves_table
from reports.faults import outage_chart, recovery_table, survival_charts, unplanned_bands
from reports.inputs import Results
from reports.latency.by_label import by_label_chart, by_label_table, has_labels
from reports.latency.main_measure import DUE, main_measure
from reports.latency.over_time import heatmap_chart, latency
from reports.latency.places import paths_table, regions_table
from reports.latency.spectrum import (
    NOTHING_RECEIVED,
    by_distance,
    by_measure,
    percentiles_table,
    reliance_of,
    spectrum_chart,
)
from reports.load import connections_table, load_charts, steps_chart
from reports.messages import (
    accounting_table,
    anomalies_table,
    destinations_table,
    kinds_table,
    left_behind_table,
    reordered_table,
)
from reports.network.brokers import broker_charts
from reports.network.drawing import clients_table, network, network_chart
from reports.network.links import backlog_table, links_table
from reports.parts.formats import safe_in_script
from reports.parts.over_time import Backdrop, FaultBand, backdrop, chart_over_time
from reports.parts.values import Chart, Column, KeyFigure, Table, transpose
from reports.profiles import PAUSES_DRAWN, pause_marks, profile_tables
from reports.run.doubts import doubts, load_length_s
from reports.run.headline import Headline, checks_table, headline, key_figures
from reports.run.provenance import command, facts, groups, in_a_line, named, phases, rendered_files, users

SHOWN_IN = {
    "faults": "recovery",
    "moves": "recovery",
    "steps": "load",
    "rate": "load",
    "connections": "brokers",
    "shares": "brokers",
    "latency": "latency",
    "regions": "latency",
    "destinations": "latency",
    "fate": "accounting",
    "kinds": "accounting",
}
"""By what answers a question (`records.run.ANSWERS`): the section that shows it."""


@dataclass(frozen=True)
class Section:
    """A section of the page. ``files``: files in the run's folder, next to the report, that the section links to."""

    anchor: str
    title: str
    charts: tuple[Chart, ...] = ()
    narrow: tuple[Table, ...] = ()
    tables: tuple[Table, ...] = ()
    files: tuple[str, ...] = ()


@dataclass(frozen=True)
class Page:
    title: str
    meta: str
    results: Results
    headline: Headline
    figures: tuple[KeyFigure, ...]
    checks: Table
    doubts: tuple[str, ...]
    faults: Table
    sections: tuple[Section, ...]
    provenance: Section
    command: str
    rendered: tuple[tuple[str, str], ...]
    left_out: int
    data: str


def page(results: Results) -> Page:
    """Return everything on the page of one run."""
    run, summary, tables = results.run, results.summary, results.tables
    load_s = load_length_s(run, summary)
    behind = backdrop(tables, run, load_s, results.faults, unplanned_bands(summary["unplanned"]))
    sections = (
        recovery_section(results, behind),
        topology_section(results, load_s),
        latency_section(results, behind),
        load_section(results, behind),
        brokers_section(results, behind),
        profile_section(results),
        accounting_section(results),
    )
    answering = next((SHOWN_IN[name] for name in run.answered_by if name in SHOWN_IN), "")
    rendered, left_out = rendered_files(run)
    return Page(
        title=f"{run.scenario} on {run.topology}",
        meta=in_a_line(run, summary),
        results=results,
        headline=headline(run, summary),
        figures=key_figures(summary),
        checks=checks_table(summary),
        doubts=doubts(run, summary, tables),
        faults=faults_table(behind.faults),
        sections=tuple(sorted(filter(None, sections), key=lambda section: section.anchor != answering)),
        provenance=provenance_section(results),
        command=command(run),
        rendered=rendered,
        left_out=left_out,
        data=embedded(results),
    )


def recovery_section(results: Results, behind: Backdrop) -> Section | None:
    """Return the section; None if no fault had an effect and no client moved."""
    recovery, rebalance = results.summary["recovery"], results.summary["rebalance"]
    if not recovery["faults"] and not rebalance["moves"]:
        return None
    charts = client_charts(results, behind)
    balance = tuple(balance_table(group, rebalance["faults"]) for group in rebalance["groups"])
    if recovery["faults"]:
        outages = (*survival_charts(results.tables["survival"], behind), outage_chart(results.tables["outages"]))
        of_outages, of_moves = (recovery_table(recovery),), (moves_table(rebalance), *balance)
        if "moves" in results.run.answered_by:
            return Section("recovery", "Recovery", (*charts, *outages), tables=of_moves + of_outages)
        return Section("recovery", "Recovery", (*outages, *charts), tables=of_outages + of_moves)
    return Section("recovery", "Moves of clients", charts, tables=balance)


def topology_section(results: Results, load_s: float) -> Section:
    """Return the section with a table of proxied links if the run had any."""
    run, tables = results.run, results.tables
    net = network(run, tables["links"], tables["connections"], load_s)
    proxied = links_table(run, tables["resources"])
    net_tables = (*((proxied,) if proxied else ()), backlog_table(tables["link_backlog"]), clients_table(run, net))
    return Section("topology", "Topology", (network_chart(net),), tables=net_tables)


def latency_section(results: Results, behind: Backdrop) -> Section:
    """Return the section, with tables of regions, destinations and consumer classes if the run had several."""
    summary, table = results.summary, results.tables["latency"]
    measure = main_measure(summary)
    paused = replace(behind, pauses=pause_marks(results.profiles, results.run.phases.load_began_ns))
    charts = (
        spectrum_chart(
            "spectrum",
            "Latency from the fastest to the slowest message",
            by_measure(table),
            reliance_of(table, summary),
        ),
        spectrum_chart("distance", "Latency by brokers crossed", by_distance(table, measure)),
        chart_over_time(
            "latency-time",
            "Latency over time",
            (
                "Due → received, by the second when the message was due."
                if measure == DUE
                else "Sent → received, by the second when the message was sent."
            )
            + (f" {PAUSES_DRAWN}" if paused.pauses else ""),
            latency(table, paused, measure),
            NOTHING_RECEIVED,
        ),
        heatmap_chart(results, behind),
        *((by_label_chart(summary),) if has_labels(summary) else ()),
    )
    several_regions = len({broker.region for broker in results.run.brokers}) > 1 and measure == DUE
    tables = (
        percentiles_table(summary),
        *((by_label_table(summary),) if has_labels(summary) else ()),
        *((regions_table(summary["regions"]),) if several_regions else ()),
        *((destinations_table(summary["destinations"]),) if summary["destinations"]["count"] > 1 else ()),
        paths_table(results.tables["paths"], table, measure),
    )
    return Section("latency", "Latency", charts, tables=tables)


def load_section(results: Results, behind: Backdrop) -> Section:
    """Return the section with a chart of the steps if the rate of the load was not constant."""
    steps = (steps_chart(results),) if results.run.rate_steps else ()
    return Section("load", "Load", (*steps, *load_charts(results, behind)))


def brokers_section(results: Results, behind: Backdrop) -> Section:
    """Return the section with a table of the steps if the number of clients grew during the load."""
    charts = (consumers_chart(results), *broker_charts(results, behind))
    tables = (connections_table(results.summary["connections"]),) if results.run.client_steps else ()
    return Section("brokers", "Brokers and clients", charts, tables=tables)


def profile_section(results: Results) -> Section | None:
    """Return the section; None without ``--jfr``."""
    phases = results.run.phases
    if not results.profiles or phases.load_began_ns is None:
        return None
    load_ended_ns = phases.load_ended_ns or phases.load_began_ns
    tables = profile_tables(results.profiles, phases.load_began_ns, load_ended_ns)
    has_clients = any(profile.is_of_clients for profile in results.profiles)
    files = tuple(file for profile in results.profiles for file in profile.files)
    title = "Profiles of the brokers" + (" and the Java clients" if has_clients else "")
    return Section("profile", title, tables=tables, files=files)


def accounting_section(results: Results) -> Section:
    """Return the section with a table of message kinds if the run had several."""
    tables, summary = results.tables, results.summary
    return Section(
        "accounting",
        "Accounting",
        tables=(
            *((transpose(kinds_table(summary)),) if len(summary["kinds"]) > 1 else ()),
            accounting_table(summary, tables["accounting"]),
            *((left_behind_table(summary["left_behind"]),) if summary["left_behind"] else ()),
            anomalies_table(tables["anomalies"]),
            reordered_table(tables["reordered"]),
        ),
    )


def provenance_section(results: Results) -> Section:
    run, summary = results.run, results.summary
    narrow = (
        facts(run, summary),
        named("Settings", run.options),
        named("Machine", run.machine),
        named("Versions", run.versions),
        phases(run, summary),
    )
    return Section("run", "What was run", narrow=narrow, tables=(users(run), groups(run)))


def faults_table(bands: tuple[FaultBand, ...]) -> Table:
    columns = (
        Column("Fault"),
        Column("What"),
        Column("Began (s of load)", 1),
        Column("Ended (s of load)", 1),
        Column("Applied"),
    )
    rows = tuple((b.label, b.description, b.began_s, b.ended_s, b.error or "yes") for b in bands)
    return Table("Faults", columns, rows, "No fault was injected.")


WHOLE = ("accounting", "anomalies", "paths", "links", "outages")


def embedded(results: Results) -> str:
    """Return the data for programs as one JSON document, safe inside a <script> element.

    It has the summary, the run without the rendered files, the small result tables, and the latency histogram of the
    load: counts by measure and bucket, over all seconds and paths.
    """
    run = dataclasses.asdict(results.run)
    del run["rendered"]
    for process in run["processes"]:
        del process["host"]  # a report may be published
    load = results.tables["latency"].filter(pc.equal(results.tables["latency"]["phase"], "load"))
    counts = load.group_by(["measure", "bucket"]).aggregate([("count", "sum")])
    histogram = counts.rename_columns(["measure", "bucket", "count"])
    document = {
        "summary": results.summary,
        "run": run,
        "tables": {name: results.tables[name].to_pydict() for name in WHOLE},
        "latency_of_the_load": histogram.sort_by([("measure", "ascending"), ("bucket", "ascending")]).to_pydict(),
    }
    return safe_in_script(json.dumps(document, separators=(",", ":"), ensure_ascii=False, sort_keys=True))
