"""Writes folders of finished runs with figures that a test chooses, with only the files that a comparison reads."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from records.figures.buckets import bucket_of
from records.store.digests import digests, list_analysed, read_files
from records.store.rundir import RunDirectory
from records.tables.results import RESULT_TABLES
from tests.reports.run_folder import RunPlan, run_info, summary

MS = 1_000_000


@dataclass(frozen=True)
class Planted:
    """One run. ``scale`` multiplies every latency; ``run`` and ``summary`` replace fields of the two files.

    All messages crossed one broker, and ``strays`` more, of 31 ms each, none.
    """

    topology: str = "mesh"
    scale: float = 1.0
    verdict: str = "pass"
    lost: int = 0
    duplicated: int = 0
    cpu_ms: float | None = 1.6
    doubtful: dict[str, str] = field(default_factory=dict)
    messages: int = 4_000
    strays: int = 0
    run: dict[str, Any] = field(default_factory=dict)
    summary: dict[str, Any] = field(default_factory=dict)


def write_planted(parent: Path, name: str, planted: Planted = Planted()) -> Path:
    """The folder ``name`` below ``parent``, as the analysis leaves it, less what no comparison reads."""
    directory = RunDirectory.create(parent, name)
    plan = RunPlan(run={"run_id": f"{parent.name}-{name}", "topology": planted.topology, **planted.run})
    directory.write_run(run_info(plan))
    took_ns = latencies_ns(planted)
    latency = [latency_table(took_ns), latency_table(np.full(planted.strays, 31 * MS, dtype=np.int64), hops=0)]
    directory.results("latency").mkdir(parents=True)
    pq.write_table(pa.concat_tables(latency), directory.results("latency") / "part-0.parquet")
    directory.summary_path.write_text(json.dumps(planted_summary(plan, planted, took_ns)))
    list_analysed(directory, digests(directory.path, read_files(directory)))
    return directory.path


def latencies_ns(planted: Planted) -> "np.ndarray[Any, Any]":
    """The same shape in each run: the quantiles of a lognormal latency, a few ms, times the scale."""
    from scipy import stats

    at = (np.arange(planted.messages) + 0.5) / planted.messages
    return np.asarray(stats.lognorm.ppf(at, 0.6, scale=2.0) * planted.scale * MS, dtype=np.int64)


def latency_table(took_ns: "np.ndarray[Any, Any]", hops: int = 1) -> pa.Table:
    buckets, counts = np.unique([bucket_of(int(ns)) for ns in took_ns], return_counts=True)
    rows = len(buckets)
    columns = {
        "measure": ["due_to_received"] * rows,
        "from_broker": ["broker-1"] * rows,
        "to_broker": ["broker-2"] * rows,
        "hops": [hops] * rows,
        "phase": ["load"] * rows,
        "second": [0] * rows,
        "in_fault": [False] * rows,
        "bucket": buckets,
        "count": counts,
        "count_less_own": counts,
    }
    return pa.table(columns, schema=RESULT_TABLES["latency"])


def planted_summary(plan: RunPlan, planted: Planted, took_ns: "np.ndarray[Any, Any]") -> dict[str, Any]:
    whole = summary()
    latency = percentiles(took_ns)
    whole["latency_ms"] = dict.fromkeys(("due_to_received", "sent_to_received", "sent_to_settled"), latency)
    whole["messages"] |= {"lost": planted.lost, "duplicated": planted.duplicated}
    whole["throughput"] |= {
        "cpu_ms_per_message_brokers": planted.cpu_ms,
        "received_per_s": 300.0 / planted.scale**0.1,
    }
    whole["recovery"]["faults"] = []
    whole["timing"] = {"sound": [], "doubtful": planted.doubtful, "less_own_time_ms": {}, "note": ""}
    whole |= {"run_id": plan.run["run_id"], "topology": planted.topology, "verdict": planted.verdict, "reasons": []}
    return merged(whole, planted.summary)


def percentiles(took_ns: "np.ndarray[Any, Any]") -> dict[str, Any]:
    levels = {"p50": 50, "p90": 90, "p99": 99, "p99_9": 99.9, "p99_99": 99.99}
    levels_ms = {
        name: float(np.percentile(took_ns, level, method="inverted_cdf")) / MS for name, level in levels.items()
    }
    ends_ms = {"min": float(took_ns.min()) / MS, "max": float(took_ns.max()) / MS}
    return {"count": len(took_ns), "negative": int((took_ns < 0).sum()), **levels_ms, **ends_ms}


def one_fault() -> list[dict[str, Any]]:
    """As ``recovery.faults`` of a run with a fault."""
    faults: list[dict[str, Any]] = summary()["recovery"]["faults"]
    return faults


def merged(whole: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """Return ``whole`` with these values replaced, at any depth."""
    return whole | {
        key: merged(whole[key], value) if isinstance(value, dict) and isinstance(whole.get(key), dict) else value
        for key, value in changes.items()
    }


def write_blocks(
    parent: Path,
    scales: Sequence[Sequence[float]],
    topologies: Sequence[str] = ("mesh", "hub-and-spoke"),
    **fields: Any,
) -> list[Path]:
    """A run of each topology in each block; ``scales[block][arm]``."""
    base = Planted(**fields)
    return [
        write_planted(parent, f"run-{block}-{arm}", replace(base, topology=topologies[arm], scale=scale))
        for block, row in enumerate(scales, 1)
        for arm, scale in enumerate(row)
    ]


def write_with_controls(parent: Path, scales: Sequence[tuple[float, float, float]], **fields: Any) -> list[Path]:
    """In each block mesh, mesh again as the control, and tree, with these scales."""
    folders = []
    for block, row in enumerate(scales, 1):
        for topology, scale, control in zip(("mesh", "mesh", "tree"), row, (False, True, False), strict=True):
            run = {"options": {"session": "s", "block": block, "control": control}}
            planted = Planted(topology, scale, run=run, **fields)
            folders.append(write_planted(parent, f"run-{len(folders)}", planted))
    return folders


def noisy(seed: int, blocks: int, ratios: Sequence[float], deviation: float = 0.05) -> list[list[float]]:
    """Return ``scales`` for `write_blocks`: each block has its level, each run its noise, each arm its ratio."""
    random = np.random.default_rng(seed)
    levels = np.exp(random.normal(0, 0.2, blocks))
    noise = np.exp(random.normal(0, deviation, (blocks, len(ratios))))
    return [
        [float(level * ratio * noise) for ratio, noise in zip(ratios, row, strict=True)]
        for level, row in zip(levels, noise, strict=True)
    ]
