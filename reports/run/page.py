"""Computes everything that the template prints: a list of sections, each of charts and tables."""

from collections.abc import Sequence
from dataclasses import dataclass

from reports.clients.areas import client_charts
from reports.clients.consumers import consumers_chart
from reports.clients.moves import balance_table, moves_table
from reports.faults import outage_chart, recovery_table, unplanned_bands
from reports.inputs import Results
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
from reports.network.drawing import NetworkDrawing, clients_table, network, network_chart
from reports.network.links import backlog_table, links_table
from reports.parts.over_time import Backdrop, Band, backdrop, chart_over_time
from reports.parts.values import Chart, Column, Figure, Table, turned
from reports.run.doubts import doubts, load_length_s, warm_up_length_s
from reports.run.embedded import embedded
from reports.run.headline import Headline, checks_table, headline, key_figures
from reports.run.provenance import command, facts, groups, in_a_line, named, phases, rendered_files, users


def latency_charts(results: Results, backdrop: Backdrop) -> tuple[Chart, ...]:
    table = results.tables["latency"]
    reliance = reliance_of(table, results.summary)
    return (
        spectrum_chart("spectrum", "Latency from the fastest to the slowest message", by_measure(table), reliance),
        spectrum_chart("distance", "Latency by brokers crossed", by_distance(table)),
        chart_over_time(
            "latency-time",
            "Latency over time",
            "Due → received, by the second in which the message was due.",
            latency(table, backdrop),
            NOTHING_RECEIVED,
        ),
        heatmap_chart(results, backdrop),
    )


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
    anchor: str
    title: str
    charts: tuple[Chart, ...] = ()
    narrow: tuple[Table, ...] = ()
    tables: tuple[Table, ...] = ()


@dataclass(frozen=True)
class Page:
    title: str
    meta: str
    results: Results
    headline: Headline
    figures: tuple[Figure, ...]
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
    """The view of one run."""
    run, summary, tables = results.run, results.summary, results.tables
    load_s = load_length_s(run, summary)
    over_s = load_s + warm_up_length_s(run, summary)
    behind = backdrop(tables, run, load_s, results.faults, unplanned_bands(summary["unplanned"]))
    net = network(run, tables["links"], tables["connections"], over_s, load_s)
    rendered, left_out = rendered_files(run)
    latency_tables = (percentiles_table(summary), *regions_tables(results), *destinations_tables(results))
    latency_tables += (paths_table(tables["paths"], tables["latency"]),)
    return Page(
        title=f"{run.scenario} on {run.topology}",
        meta=in_a_line(run, summary),
        results=results,
        headline=headline(run, summary),
        figures=key_figures(summary),
        checks=checks_table(summary),
        doubts=doubts(run, summary, tables),
        faults=faults_table(behind.faults),
        sections=in_order(
            run.answered_by,
            recovery_section(results, behind),
            Section("topology", "Topology", (network_chart(net),), tables=network_tables(results, net)),
            Section("latency", "Latency", latency_charts(results, behind), tables=latency_tables),
            Section("load", "Load", (*steps_charts(results), *load_charts(results, behind))),
            brokers_section(results, behind),
            accounting_section(results),
        ),
        provenance=provenance_section(results),
        command=command(run),
        rendered=rendered,
        left_out=left_out,
        data=embedded(results),
    )


def in_order(answered_by: Sequence[str], *sections: Section | None) -> tuple[Section, ...]:
    """First the section whose charts answer the scenario's question."""
    answering_section = next((SHOWN_IN[name] for name in answered_by if name in SHOWN_IN), "")
    there = [section for section in sections if section is not None]
    return tuple(sorted(there, key=lambda section: section.anchor != answering_section))


def network_tables(results: Results, net: NetworkDrawing) -> tuple[Table, ...]:
    clients, links = clients_table(results.run, net), links_table(results.run, results.tables["resources"])
    backlogs = backlog_table(results.tables["link_backlog"])
    return (links, backlogs, clients) if links else (backlogs, clients)


def recovery_section(results: Results, behind: Backdrop) -> Section | None:
    """None without a fault that had an effect, if no client moved either."""
    recovery, rebalance = results.summary["recovery"], results.summary["rebalance"]
    if not recovery["faults"] and not rebalance["moves"]:
        return None
    charts = client_charts(results, behind)
    balance = tuple(balance_table(group, rebalance["faults"]) for group in rebalance["groups"])
    if recovery["faults"]:
        outages = (outage_chart(results.tables["outages"]),)
        of_outages, of_moves = (recovery_table(recovery),), (moves_table(rebalance), *balance)
        if "moves" in results.run.answered_by:
            return Section("recovery", "Recovery", (*charts, *outages), tables=of_moves + of_outages)
        return Section("recovery", "Recovery", (*outages, *charts), tables=of_outages + of_moves)
    return Section("recovery", "Moves of clients", charts, tables=balance)


def steps_charts(results: Results) -> tuple[Chart, ...]:
    """None if the rate of the load was constant."""
    return (steps_chart(results),) if results.run.rate_steps else ()


def regions_tables(results: Results) -> tuple[Table, ...]:
    """None unless brokers of a run are of several regions."""
    several = len({broker.region for broker in results.run.brokers}) > 1
    return (regions_table(results.summary["regions"]),) if several else ()


def destinations_tables(results: Results) -> tuple[Table, ...]:
    """None for a run with one destination."""
    found = results.summary["destinations"]
    return (destinations_table(found),) if found["count"] > 1 else ()


def brokers_section(results: Results, behind: Backdrop) -> Section:
    """With a table of the steps if the clients of the load became more."""
    charts = (consumers_chart(results), *broker_charts(results, behind))
    tables = (connections_table(results.summary["connections"]),) if results.run.client_steps else ()
    return Section("brokers", "Brokers and clients", charts, tables=tables)


def accounting_section(results: Results) -> Section:
    """What each kind of messages lost stands there if the run had several."""
    tables, summary = results.tables, results.summary
    left = summary["left_behind"]
    found = (
        accounting_table(summary, tables["accounting"]),
        *((left_behind_table(left),) if left else ()),
        anomalies_table(tables["anomalies"]),
        reordered_table(tables["reordered"]),
    )
    several = len(summary["kinds"]) > 1
    return Section("accounting", "Accounting", tables=((turned(kinds_table(summary)),) if several else ()) + found)


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


def faults_table(bands: tuple[Band, ...]) -> Table:
    columns = (
        Column("Fault"),
        Column("What"),
        Column("Began (s of load)", 1),
        Column("Ended (s of load)", 1),
        Column("Applied"),
    )
    rows = tuple((b.label, b.description, b.began_s, b.ended_s, b.error or "yes") for b in bands)
    return Table("Faults", columns, rows, "No fault was injected.")
