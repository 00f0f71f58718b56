"""Computes the lag of Artemis mirrors from the brokers' samples. Runs on the driver, on few rows.

A broker with a mirror queues a message for each send, acknowledgment and new queue that the mirror has to repeat. The
samples contain the number added since the broker's start (``mirror_events``) and the number waiting
(``mirror_backlog``).
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import pyarrow as pa

from analysis.events.timeline import FaultSpan
from records.figures.network import MirrorAtKill, MirrorMessages, MirrorResult, MirrorSeconds
from records.units import NS_PER_S

METRICS = ("mirror_events", "mirror_backlog")


class Sample(NamedTuple):
    """A sample of one mirror: messages added since its broker's start, and messages that wait."""

    at_ns: int
    added: int
    waiting: int


class MirrorLag(NamedTuple):
    """Lag of a mirror at a sample. ``age_ns``: maximum age of waiting messages; None if unknown."""

    at_ns: int
    messages: int
    age_ns: int | None


Link = tuple[str, str]
"""The sending broker, and ``link|other broker``."""


def mirror_lag(samples: pa.Table, faults: Sequence[FaultSpan], load_began_ns: int) -> MirrorResult:
    """Return the summary's section ``mirror``. ``samples``: the events of METRICS."""
    lags = {link: list(lag_of(of_link)) for link, of_link in _by_link(samples).items()}
    in_load = [lag for of_link in lags.values() for lag in of_link if lag.at_ns >= load_began_ns]
    ages = [lag.age_ns for lag in in_load]
    return MirrorResult(
        lag_messages=MirrorMessages(max=max((lag.messages for lag in in_load), default=None)),
        lag_s=MirrorSeconds(max=_oldest(ages)),
        at_kill=[row for fault in faults if fault.traits.ends_abruptly for row in _at_kill(fault, lags, load_began_ns)],
    )


def lag_of(samples: Iterable[Sample]) -> Iterator[MirrorLag]:
    """Yield the lag at each sample of one mirror, in order.

    The number of mirrored messages is the number added minus the number waiting. If an earlier sample had at most that
    many messages added, all of those are mirrored, so the waiting messages are younger than that sample. A restarted
    broker counts from 0 again.
    """
    times_ns: list[int] = []
    added: list[int] = []
    later_than_ns: int | None = None
    for sample in samples:
        if added and sample.added < added[-1]:
            times_ns, added = [], []
        times_ns.append(sample.at_ns)
        added.append(sample.added)
        if not sample.waiting:
            later_than_ns = sample.at_ns
        elif earlier_samples := bisect_right(added, sample.added - sample.waiting):
            later_than_ns = max(times_ns[earlier_samples - 1], later_than_ns or 0)
        yield MirrorLag(sample.at_ns, sample.waiting, None if later_than_ns is None else sample.at_ns - later_than_ns)


def _by_link(samples: pa.Table) -> Mapping[Link, list[Sample]]:
    values: dict[tuple[Link, int], dict[str, int]] = defaultdict(dict)
    for row in samples.sort_by("at_ns").to_pylist():
        values[(row["broker"], row["object"]), row["at_ns"]][row["metric"]] = row["value"]
    samples_by_link: dict[Link, list[Sample]] = defaultdict(list)
    for (link, at_ns), value in values.items():
        samples_by_link[link].append(Sample(at_ns, *(value[metric] for metric in METRICS)))
    return samples_by_link


def _at_kill(fault: FaultSpan, lags: Mapping[Link, Sequence[MirrorLag]], load_began_ns: int) -> Iterator[MirrorAtKill]:
    """Yield the last sample of each mirror of the killed broker before the kill."""
    for (broker, link), of_link in sorted(lags.items()):
        last = next((lag for lag in reversed(of_link) if lag.at_ns <= fault.began_ns), None)
        if broker == fault.target and last is not None:
            yield MirrorAtKill(
                fault=f"F{fault.number}",
                broker=broker,
                link=link.partition("|")[0],
                sampled_s=(last.at_ns - load_began_ns) / NS_PER_S,
                lag_messages=last.messages,
                lag_s=_seconds(last.age_ns),
            )


def _oldest(ages: Sequence[int | None]) -> float | None:
    """Return the highest age; None if any is unknown."""
    known_ages = [age for age in ages if age is not None]
    return _seconds(max(known_ages)) if known_ages and len(known_ages) == len(ages) else None


def _seconds(age_ns: int | None) -> float | None:
    return None if age_ns is None else age_ns / NS_PER_S
