"""How do thousands of messages a second get into Locust's own statistics? A batch at a time.

What is analysed is in the event tables; this is what Locust shows while a run goes on. Locust's request event, for
every message, would cost more than sending it.
"""

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from locust.stats import RequestStats, bucket_response_time


def log_many(
    stats: RequestStats, kind: str, name: str, times_ms: Sequence[float], unknown: int, body_bytes: int, failures: int
) -> None:
    """As many requests as there are ``times_ms`` and ``unknown`` times; so many of them failed. All of one size."""
    times = np.asarray(times_ms, float)
    for entry in (stats.total, stats.entries[(name, kind)]):
        _log(entry, times, unknown, body_bytes)
    for _ in range(failures):
        stats.log_error(kind, name, "not confirmed")


def _log(entry: Any, times: Any, unknown: int, body_bytes: int) -> None:
    count = len(times) + unknown
    if not count:
        return
    entry.log(float(times[0]) if len(times) else None, body_bytes)
    rest, still_unknown = (times[1:], unknown) if len(times) else (times, unknown - 1)
    entry.num_requests += count - 1
    entry.num_none_requests += still_unknown
    entry.num_reqs_per_sec[int(time.time())] += count - 1
    entry.total_content_length += body_bytes * (count - 1)
    if not len(rest):
        return
    entry.total_response_time += float(rest.sum())
    entry.min_response_time = min(entry.min_response_time or 0.0, float(rest.min()))
    entry.max_response_time = max(entry.max_response_time, float(rest.max()))
    for value, times_seen in zip(*np.unique(np.round(rest), return_counts=True), strict=True):
        entry.response_times[bucket_response_time(float(value))] += int(times_seen)
