"""Computes everything that the template prints."""

from dataclasses import dataclass

from reports.charts import (
    broker_charts,
    client_charts,
    consumers_chart,
    latency_charts,
    load_charts,
    network_chart,
    outage_chart,
    steps_chart,
)
from reports.embedded import embedded
from reports.inputs import Results
from reports.values import Backdrop, Band, Chart, Column, Figure, Table
from reports.views import counts, farlinks, keyfigures, provenance, spans
from reports.views.backdrop import backdrop
from reports.views.connections import connections_table
from reports.views.destinations import destinations_table
from reports.views.doubts import doubts
from reports.views.headline import Headline, headline
from reports.views.leftbehind import left_behind_table
from reports.views.network import NetworkDrawing, backlog_table, clients_table, network
from reports.views.rebalance import balance_table, moves_table
from reports.views.recovery import recovery_table
from reports.views.regions import regions_table
from reports.views.unplanned import unplanned_bands


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
    recovery: Section | None
    network: Section
    latency: Section
    load: Section
    brokers: Section
    accounting: Section
    provenance: Section
    command: str
    rendered: tuple[tuple[str, str], ...]
    left_out: int
    data: str


def page(results: Results) -> Page:
    """The view of one run."""
    run, summary, tables = results.run, results.summary, results.tables
    load_s = spans.load_s(run, summary)
    over_s = load_s + spans.warm_up_s(run, summary)
    behind = backdrop(tables, run, load_s, results.faults, unplanned_bands(summary["unplanned"]))
    net = network(run, tables["links"], tables["connections"], over_s, load_s)
    rendered, left_out = provenance.rendered(run)
    latency_tables = (counts.percentiles(summary), *regions_tables(results), *destinations_tables(results))
    latency_tables += (counts.paths(tables["paths"], tables["latency"]),)
    return Page(
        title=f"{run.scenario} on {run.topology}",
        meta=provenance.in_a_line(run, summary),
        results=results,
        headline=headline(run, summary),
        figures=keyfigures.key_figures(summary),
        checks=counts.checks(summary),
        doubts=doubts(run, summary, tables),
        faults=faults_table(behind.faults),
        recovery=recovery_section(results, behind),
        network=Section("topology", "Topology", (network_chart(net),), tables=network_tables(results, net)),
        latency=Section("latency", "Latency", latency_charts(results, behind), tables=latency_tables),
        load=Section("load", "Load", (*steps_charts(results), *load_charts(results, behind))),
        brokers=brokers_section(results, behind),
        accounting=accounting_section(results),
        provenance=provenance_section(results),
        command=provenance.command(run),
        rendered=rendered,
        left_out=left_out,
        data=embedded(results),
    )


def network_tables(results: Results, net: NetworkDrawing) -> tuple[Table, ...]:
    clients, links = clients_table(results.run, net), farlinks.table(results.run, results.tables["resources"])
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
        tables = (recovery_table(recovery), moves_table(rebalance), *balance)
        return Section("recovery", "Recovery", (outage_chart(results.tables["outages"]), *charts), tables=tables)
    return Section("recovery", "Moves of clients", charts, tables=balance)


def steps_charts(results: Results) -> tuple[Chart, ...]:
    """None if the rate of the load was constant."""
    return (steps_chart(results),) if results.run.rate_steps else ()


def regions_tables(results: Results) -> tuple[Table, ...]:
    """None unless brokers of a run are of several regions. Absent from runs of before."""
    regions = results.summary.get("regions")
    several = len({broker.region for broker in results.run.brokers}) > 1
    return (regions_table(regions),) if regions and several else ()


def destinations_tables(results: Results) -> tuple[Table, ...]:
    """None for a run with one destination."""
    found = results.summary["destinations"]
    return (destinations_table(found),) if found["count"] > 1 else ()


def brokers_section(results: Results, behind: Backdrop) -> Section:
    """With a table of the steps if the clients of the load became more."""
    charts = (consumers_chart(results), *broker_charts(results, behind))
    connections = results.summary.get("connections")  # absent from runs of before
    tables = (connections_table(connections),) if connections and results.run.client_steps else ()
    return Section("brokers", "Brokers and clients", charts, tables=tables)


def accounting_section(results: Results) -> Section:
    """What each kind of messages lost stands there if the run had several."""
    tables, summary = results.tables, results.summary
    left = summary["left_behind"]
    found = (
        counts.accounting(summary, tables["accounting"]),
        *((left_behind_table(left),) if left else ()),
        counts.anomalies(tables["anomalies"]),
        counts.reordered(tables["reordered"]),
    )
    several = len(summary.get("kinds", {})) > 1
    return Section("accounting", "Accounting", tables=((counts.kinds(summary),) if several else ()) + found)


def provenance_section(results: Results) -> Section:
    run, summary = results.run, results.summary
    narrow = (
        provenance.facts(run, summary),
        provenance.named("Settings", run.options),
        provenance.named("Machine", run.machine),
        provenance.named("Versions", run.versions),
        provenance.phases(run, summary),
    )
    return Section("run", "What was run", narrow=narrow, tables=(provenance.users(run), provenance.groups(run)))


def faults_table(bands: tuple[Band, ...]) -> Table:
    columns = (
        Column("Fault"),
        Column("What"),
        Column("Began (s of load)", 1),
        Column("Ended (s of load)", 1),
        Column("Applied"),
    )
    rows = tuple((b.label, b.what, b.began_s, b.ended_s, b.error or "yes") for b in bands)
    return Table("Faults", columns, rows, "No fault was injected.")
