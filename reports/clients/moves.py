"""Sentences and tables about the distribution of clients over brokers, and about their moves after each fault."""

from collections.abc import Sequence
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from records.figures.clients import Distribution, FaultMoves, GroupBalance, Rebalance
from records.figures.faults import FaultRecovery, traits_of
from records.units import NS_PER_S
from reports.parts.numbers import counted, joined, seconds_text, significant
from reports.parts.values import Column, Columns, Table, columns_of, table_of

MOST_STAYS, MOST_CHANGES = 300, 60
MOMENTS = {"begin": "the load begins", "end": "the load ends"}
MOST_FAULTS = 2


def moves_sentences(rebalance: Rebalance, faults: Sequence[FaultRecovery]) -> str:
    """Return the clients' brokers before and after each fault, and the cost of their moves; empty if none moved."""
    if not rebalance["moves"]:
        return ""
    moved, off_ms = f"{rebalance['moved']:,} of {counted(rebalance['clients'], 'client')}", rebalance["off_ms"]
    sentences = [*_whereabouts(rebalance["groups"], faults), f"{moved} moved, in {counted(rebalance['moves'], 'move')}"]
    if off_ms["p50"] is not None and off_ms["max"] is not None:
        sentences.append(
            f"The median move took {significant(off_ms['p50'])} ms, the longest {significant(off_ms['max'])} ms"
        )
    if rebalance["not_settled"]:
        sentences.append(f"After {counted(rebalance['not_settled'], 'change')} the clients did not settle")
    elif rebalance["settled_s"] is not None:
        sentences.append(f"Each time the clients had settled after {seconds_text(rebalance['settled_s'])} at most")
    return " ".join(f"{text}." for text in sentences)


def _whereabouts(groups: Sequence[GroupBalance], faults: Sequence[FaultRecovery]) -> list[str]:
    """Return ``a, b and c had 6/6/0 clients before c joined at 10 s, 4/4/3 (1 off) after``, then ``They had …``"""
    brokers = list(dict.fromkeys(broker for group in groups for broker in group["moments"][0]["connected"]))
    were = {moment["moment"]: _clients(groups, moment["moment"], brokers) for moment in groups[0]["moments"]}
    sentences = []
    for fault in faults:
        before, after = (were.get(f"{when} {fault['fault']}") for when in ("before", "after"))
        if before and after:
            change = f"{fault['target']} {traits_of(fault['kind']).said} at {fault['began_s']:.3g} s"
            sentences.append(f"{before} clients before {change}, {after} after")
    sentences = sentences[:MOST_FAULTS] or [f"{were['begin']} clients when the load began"]
    if "end" in were and not sentences[-1].endswith(f", {were['end']} after"):
        sentences.append(f"{were['end']} when the load ended")
    first_sentence, *further = sentences
    return [f"{joined(brokers)} had {first_sentence}", *(f"They had {sentence}" for sentence in further)]


def _clients(groups: Sequence[GroupBalance], moment: str, brokers: Sequence[str]) -> str:
    """Return ``4/4/3 (1 off)``, the clients of all groups together."""
    rows = [row for group in groups for row in group["moments"] if row["moment"] == moment]
    off = sum(row["off"] for row in rows)
    counts = "/".join(f"{sum(row['connected'].get(broker, 0) for row in rows):,}" for broker in brokers)
    return f"{counts} ({off:,} off)" if off else counts


def balance_table(group: GroupBalance, faults: Sequence[FaultMoves]) -> Table:
    """Return the clients of a group by broker and their fair share, with a row per moment."""
    unsettled = {_after(fault) for fault in faults if fault["settled_s"] is None}
    of_brokers: Columns = [(name, 0, partial(_connected, name)) for name in group["moments"][0]["connected"]]
    columns = columns_of(
        Distribution,
        ("When", None, lambda moment: _when(moment["moment"], unsettled)),
        "at_s",
        *of_brokers,
        *("off", "fair_share", "max_to_mean", "cv", "jain"),
    )
    return table_of(f"Clients of {group['group']} by broker", group["moments"], columns)


def _after(fault: FaultMoves) -> str:
    return f"after {fault['fault']}" + (" mended" if fault["effect"] == "mended" else "")


def _connected(broker: str, moment: Distribution) -> int:
    return moment["connected"][broker]


def _when(moment: str, unsettled: set[str]) -> str:
    name = MOMENTS.get(moment, moment)
    return f"{name}, not settled" if name in unsettled else name


def moves_table(rebalance: Rebalance) -> Table:
    """Return the moves after each fault, and the time until the clients settled."""
    columns = columns_of(
        FaultMoves,
        *("fault", "effect", "at_s", "moves", "moved", "off_ms.p50", "off_ms.max", "first_move_s"),
        (
            "Settled after (s)",
            None,
            lambda move: move["state"] if move["settled_s"] is None else f"{move['settled_s']:.2f}",
        ),
        "later_moves",
    )
    caption = (
        "Moves after each fault; off: from the old connection to the new one; settled: no client moved or off for 5 s"
    )
    return table_of(caption, rebalance["faults"], columns, "No fault was applied within the load.")


def distribution_table(distribution: pa.Table) -> Table:
    """Return the clients of each group and broker at the end of seconds with changes; if there are many, of some."""
    by_second: dict[int, dict[tuple[str, str], int]] = {}
    for row in distribution.to_pylist():
        by_second.setdefault(row["second"], {})[row["group"], row["broker"]] = row["clients"]
    changed = [second for second, counts in sorted(by_second.items()) if counts != by_second.get(second - 1)]
    every = -(-len(changed) // MOST_CHANGES) or 1
    names = list(by_second.get(0, {}))
    columns = (Column("Second", 0), *(Column(f"{group}: {broker or 'off'}", 0) for group, broker in names))
    rows = tuple((second, *(by_second[second][name] for name in names)) for second in changed[::every])
    frequency = "each second that changed them" if every == 1 else f"one in {every} seconds that changed them"
    return Table(f"Clients of each broker at the end of {frequency}", columns, rows, "No client connected.")


def stays_table(stays: pa.Table) -> Table:
    """Return a row per stay, for clients with several stays or a gap; if there are many, only the first rows."""
    columns: Columns = (
        ("Client", 0, "user"),
        ("Group", None, "group"),
        ("Broker", None, "broker"),
        ("From (s of load)", 3, lambda stay: stay["from_ns"] / NS_PER_S),
        ("To (s of load)", 3, lambda stay: stay["to_ns"] / NS_PER_S),
        ("Ended by", None, lambda stay: stay["cause"].replace("_", " ")),
    )
    whole = pc.and_(pc.equal(stays["from_ns"], 0), pc.equal(stays["cause"], "load_end"))
    moved_or_off = stays.filter(pc.invert(whole)).sort_by([("user", "ascending"), ("from_ns", "ascending")])
    excerpt = f" (the first {MOST_STAYS:,} of {moved_or_off.num_rows:,})" if moved_or_off.num_rows > MOST_STAYS else ""
    unmoved = f"{counted(stays.num_rows - moved_or_off.num_rows, 'client')} stayed at one broker for the whole load"
    rows = moved_or_off.slice(0, MOST_STAYS).to_pylist()
    return table_of(
        f"Stays of the other clients{excerpt}; {unmoved}", rows, columns, "There were no others.", sortable=True
    )
