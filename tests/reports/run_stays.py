"""The stays of the clients of a made-up run, and what the analysis makes of them."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from analysis.clients.rebalance import Places, rebalance
from analysis.clients.stays import distribution
from analysis.events.timeline import fault_spans
from records.clients import Rebalance
from records.results import STAYS
from records.run import RunInfo

SECOND_NS = 1_000_000_000


def stays(names: Sequence[str], load_s: int, outages: Mapping[str, Sequence[Any]]) -> pa.Table:
    """Four producers and two consumers at each broker. Those with outages are the producers of the last one."""
    rows: list[tuple[Any, ...]] = []
    end = load_s * SECOND_NS
    lost = {
        client: (outages["lost_ns"][at], outages["connected_ns"][at]) for at, client in enumerate(outages["client"])
    }
    for at, broker in enumerate(reversed(names)):
        for number in range(6):
            lost_ns, back_ns = lost.get(number, (end, None)) if at == 0 and number < 4 else (end, None)
            client_columns = (10 * at + number, 10 * at + number, "producers" if number < 4 else "consumers")
            rows.append((*client_columns, broker, 0, min(lost_ns, end), "lost" if lost_ns < end else "load_end"))
            if back_ns is not None and back_ns < end:
                rows.append((*client_columns, names[0], back_ns, end, "load_end"))
    return pa.Table.from_pylist([dict(zip(STAYS.names, row, strict=True)) for row in rows], schema=STAYS)


def distribution_of(stays_table: pa.Table, brokers: int, load_s: int) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = distribution(stays_table, clients_of(brokers), load_s * SECOND_NS).to_pydict()
    return columns


def clients_of(brokers: int) -> dict[str, int]:
    return {"producers": 4 * brokers, "consumers": 2 * brokers}


def rebalance_of(stays_table: pa.Table, info: RunInfo, faults: pa.Table, brokers: int, load_s: int) -> Rebalance:
    places, began_ns = Places(info.brokers, info.groups), info.phases.load_began_ns or 0
    spans, counts = fault_spans(faults.to_pylist()), clients_of(brokers)
    return rebalance(stays_table, counts, spans, places, began_ns, load_s * SECOND_NS)
