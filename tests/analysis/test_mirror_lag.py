"""Checks the lag of mirrors with planted samples, and with a queue simulated message by message."""

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from analysis.events.timeline import FaultSpan
from analysis.network.mirror_lag import Sample, lag_of, mirror_lag
from records.figures.network import MirrorResult
from records.tables.schemas import SAMPLES

S, MS_PER_S = 1_000_000_000, 1_000
LOAD_NS = 50 * S
COLUMNS = ("broker", "at_ns", "kind", "object", "metric", "value")
Row = tuple[str, int, str, str, str, int]


def sampled(
    *added_and_waiting: tuple[int, int], first_s: int = 0, broker: str = "dc-1", link: str = "dc-1-to-dc-2"
) -> list[Row]:
    """One sample per second of messages added to the mirror's queue and messages waiting there."""
    return [
        (broker, LOAD_NS + at_s * S, "bridge", f"{link}|dc-2", metric, value)
        for at_s, pair in enumerate(added_and_waiting, start=first_s)
        for metric, value in zip(("mirror_events", "mirror_backlog"), pair, strict=True)
    ]


def mirror_of(*rows: list[Row], faults: tuple[FaultSpan, ...] = ()) -> MirrorResult:
    dicts = [dict(zip(COLUMNS, row, strict=True)) for of_mirror in rows for row in of_mirror]
    return mirror_lag(pa.Table.from_pylist(dicts, SAMPLES), faults, LOAD_NS)


def kill(at_ns: int, broker: str = "dc-1", kind: str = "kill") -> FaultSpan:
    return FaultSpan(1, kind, broker, LOAD_NS + at_ns, LOAD_NS + 20 * S)


def ages(*samples: tuple[int, int]) -> list[float | None]:
    """In seconds; the samples are a second apart."""
    lags = lag_of(Sample(LOAD_NS + at_s * S, *sample) for at_s, sample in enumerate(samples))
    return [None if lag.age_ns is None else lag.age_ns / S for lag in lags]


def test_without_a_mirror_there_is_no_lag() -> None:
    assert mirror_of() == {"lag_messages": {"max": None}, "lag_s": {"max": None}, "at_kill": []}


def test_a_mirror_that_keeps_up_does_not_lag() -> None:
    mirror = mirror_of(sampled((0, 0), (100, 0), (250, 0)))
    assert (mirror["lag_messages"], mirror["lag_s"]) == ({"max": 0}, {"max": 0})


def test_what_waits_is_younger_than_the_sample_by_which_all_that_has_gone_was_added() -> None:
    """120 of 300 wait at second 3: 180 are mirrored, including the first 100, which were added by second 1."""
    assert ages((0, 0), (100, 0), (200, 50), (300, 120)) == [0, 0, 1, 2]


def test_a_mirror_that_stands_still_lags_a_second_more_each_second() -> None:
    assert ages((10, 0), (20, 10), (30, 20), (30, 20), (30, 20)) == [0, 1, 2, 3, 4]


def test_nobody_knows_how_old_messages_are_that_were_there_at_the_first_sample() -> None:
    assert ages((100, 60), (110, 50), (120, 20), (130, 25)) == [None, None, 2, 3]
    mirror = mirror_of(sampled((100, 60), (110, 50)))
    assert (mirror["lag_messages"], mirror["lag_s"]) == ({"max": 60}, {"max": None})


def test_a_broker_that_starts_again_still_has_the_messages_that_waited_before() -> None:
    """It counts from 0 again. The 40 that waited at second 1 came after second 0, and wait at second 3 too."""
    assert ages((60, 0), (100, 40), (40, 40), (45, 40), (50, 0)) == [0, 1, 2, 3, 0]


def test_the_warm_up_does_not_count() -> None:
    mirror = mirror_of(sampled((0, 0), (500, 500), (600, 3), (700, 0), first_s=-2))
    assert (mirror["lag_messages"], mirror["lag_s"]) == ({"max": 3}, {"max": 1})


def test_the_last_sample_before_a_kill_tells_how_far_the_mirror_lagged() -> None:
    """It was killed 2.6 s into the load. It has no samples until it is back, with a smaller lag."""
    before, after = sampled((0, 0), (100, 0), (250, 90)), sampled((90, 90), (95, 0), first_s=9)
    mirror = mirror_of(before, after, faults=(kill(2_600_000_000),))
    row = {
        "fault": "F1",
        "broker": "dc-1",
        "link": "dc-1-to-dc-2",
        "sampled_s": 2,
        "lag_messages": 90,
        "lag_s": 1,
    }
    assert mirror["at_kill"] == [row]


def test_only_mirrors_of_the_killed_broker_are_told_and_only_kills() -> None:
    samples = (sampled((0, 0), (9, 9)), sampled((0, 0), (5, 5), broker="dc-2", link="dc-2-to-dc-1"))
    (row,) = mirror_of(*samples, faults=(kill(S, "dc-2"),))["at_kill"]
    assert (row["broker"], row["link"], row["lag_messages"]) == ("dc-2", "dc-2-to-dc-1", 5)
    assert mirror_of(*samples, faults=(kill(S, kind="freeze"),))["at_kill"] == []
    assert mirror_of(*samples)["lag_messages"] == {"max": 9}


@given(st.lists(st.tuples(st.integers(1, 9_000), st.integers(0, 4_000)), max_size=30))
def test_the_age_is_that_of_the_oldest_message_that_waits_to_a_second(messages: list[tuple[int, int]]) -> None:
    """(time added, minimum time until mirrored) per message, in milliseconds; messages are mirrored in order."""
    added_ms, gone_ms = sorted(at for at, _ in messages), list[int]()
    for at, (_, stays) in zip(added_ms, messages, strict=True):
        gone_ms.append(max(at + stays, *gone_ms[-1:], at))
    seconds = range(15)
    waiting = [
        [at for at, gone in zip(added_ms, gone_ms, strict=True) if at <= at_s * MS_PER_S < gone] for at_s in seconds
    ]
    samples = [
        Sample(at_s * MS_PER_S, sum(at <= at_s * MS_PER_S for at in added_ms), len(waiting[at_s])) for at_s in seconds
    ]
    for lag, there in zip(lag_of(samples), waiting, strict=True):
        assert lag.messages == len(there)
        assert lag.age_ns is not None
        if not there:
            assert lag.age_ns == 0
            continue
        true_age = lag.at_ns - there[0]
        assert true_age < lag.age_ns <= true_age + MS_PER_S
