"""Checks whether a load held its rate: planted queues keep up, fall behind, stall or drain."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.events.timeline import FaultSpan
from analysis.latency.seconds import LatencyBySecond
from analysis.load.flow import Deliveries
from analysis.load.offered_rate import Judged, Tables, offered_rate
from analysis.load.unsent import EndedEarly, Unsent
from records.run import Phases, RunInfo, UserInfo, WarmUp
from records.tables.results import CONSUMERS, RESOURCES
from tests.analysis.rows import latency_by_second, latency_row, rates_table, resource_row

S, MS = 1_000_000_000, 1_000_000
LOAD_NS, WARM_UP_S = 500 * S, 15
AT_BROKER = {"destination": "queue://q", "subscription": "q", "consumer": 7, "broker": "b", "messages": 1}
INFO = RunInfo(
    run_id="",
    scenario="steady",
    topology="mesh",
    runtime="processes",
    protocol="stomp",
    users=(UserInfo("P", "producer", "producers", "queue://q", 6), UserInfo("C", "consumer", "c", "queue://q", 6)),
    phases=Phases(LOAD_NS - WARM_UP_S * S, LOAD_NS, LOAD_NS + 40 * S),
    warm_up=WarmUp("settled", float(WARM_UP_S), float(WARM_UP_S)),
    machine={"cores": 4},
)
UNSETTLED = replace(INFO, warm_up=WarmUp("not_settled", float(WARM_UP_S), float(WARM_UP_S)))
KILL = FaultSpan(1, "kill", "a", LOAD_NS + 10 * S, LOAD_NS + 30 * S, mended_ns=LOAD_NS + 25 * S)

Message = tuple[float, float, float]
"""Due, sent and received time, in seconds of the load."""


def queue(
    offered_per_s: float,
    serves_per_s: Mapping[int, float] | float,
    *,
    from_s: int = -WARM_UP_S,
    until_s: int = 40,
    took_s: float = 0.005,
    sends: Mapping[int, float] | float | None = None,
) -> list[Message]:
    """A queue with a service rate by start second. At the end, the rest drains.

    ``sends``: maximum send rate per second of its producers; None: each message is sent when it is due.
    """
    sent = served(_dues(offered_per_s, from_s, until_s), sends) if sends else _dues(offered_per_s, from_s, until_s)
    received = served(sent, serves_per_s)
    dues = _dues(offered_per_s, from_s, until_s)
    return [(due, at, received_s + took_s) for due, at, received_s in zip(dues, sent, received, strict=True)]


def until(end_s: float, messages: Sequence[Message]) -> tuple[list[Message], list[Message]]:
    """Return the messages received by then, and the others."""
    return [message for message in messages if message[2] < end_s], [
        message for message in messages if message[2] >= end_s
    ]


def _dues(per_s: float, from_s: int, until_s: int) -> list[float]:
    return [from_s + (number + 0.5) / per_s for number in range(round((until_s - from_s) * per_s))]


def served(arrivals: Sequence[float], per_s: Mapping[int, float] | float) -> list[float]:
    """Return when each message is done, one after the other."""
    rates = per_s if isinstance(per_s, Mapping) else {-1_000: per_s}
    done_s, free_s = [], -1_000.0
    for at in arrivals:
        begun = max(at, free_s)
        while (rate := rates[max(since for since in rates if since <= begun)]) == 0:
            begun = float(min(since for since in rates if since > begun))
        free_s = begun + 1 / rate
        done_s.append(free_s)
    return done_s


def rates(messages: Sequence[Message], *, copies: int = 1) -> pa.Table:
    counts: dict[str, Counter[int]] = {"due": Counter(), "sent": Counter(), "received": Counter()}
    for due, sent, received in messages:
        for event, at, times in (("due", due, 1), ("sent", sent, 1), ("received", received, copies)):
            counts[event][int(at // 1)] += times
    return rates_table(counts)


def latency(
    messages: Sequence[Message], *, own_lag_s: float = 0.0, copies: int = 1, confirmed_late: bool = False
) -> LatencyBySecond:
    """``confirmed_late``: brokers confirm each message only when it is received."""
    rows = []
    for due, sent, received in messages:
        duration_s = {
            "due_to_received": received - due,
            "sent_to_received": received - sent,
            "sent_to_settled": received - sent if confirmed_late else 0.002,
            "ready_to_sent": own_lag_s,
        }
        rows += [
            latency_row(measure, int(due // 1), 1_000 * seconds, copies if measure.endswith("received") else 1)
            for measure, seconds in duration_s.items()
        ]
    return latency_by_second(rows)


def resources(*, busy: float = 1.0, brokers: float = 0.5, waited: float = 0.1, depth: Sequence[int] = ()) -> pa.Table:
    """Samples for every second from -15 to 39. ``depth``: depth of b's queue at the start and end of the load."""
    rows = []
    for at_s in range(-WARM_UP_S, 40):
        cores = {("machine", "", "cpu_busy_ns"): busy, ("process", "b", "cpu_ns"): brokers}
        cores |= {("process", "", "cpu_ns"): 0.3, ("process", "b", "core_wait_ns"): waited}
        rows += [
            resource_row(metric, at_s, count * S, broker=broker, kind=kind)
            for (kind, broker, metric), count in cores.items()
        ]
    for at_s, waiting in zip((0, 39), depth, strict=False):
        rows.append(resource_row("depth", at_s, waiting, broker="b", kind="queue", object="q"))
    return pa.Table.from_pylist(rows, RESOURCES)


def by_second(messages: Sequence[Message]) -> Counter[int]:
    """Return the number of due messages in each second."""
    return Counter(int(due // 1) for due, _, _ in messages)


def never_sent(per_s: int, seconds: range) -> Unsent:
    return Unsent(dict.fromkeys(seconds, per_s))


def judged(
    messages: Sequence[Message],
    info: RunInfo = INFO,
    faults: Sequence[FaultSpan] = (),
    *,
    pending: Sequence[Message] = (),
    lost: Sequence[Message] = (),
    unsent: Unsent | None = None,
    load_s: float | None = 40.0,
    own_lag_s: float = 0.0,
    copies: int = 1,
    confirmed_late: bool = False,
    **used: Any,
) -> Judged:
    """``pending``: messages that never arrived and were found on a queue. ``lost``: messages that were not found."""
    consumers = pa.Table.from_pylist([AT_BROKER], CONSUMERS)
    timed = latency(messages, own_lag_s=own_lag_s, copies=copies, confirmed_late=confirmed_late)
    owed = Counter({at_s: copies * count for at_s, count in by_second([*messages, *pending, *lost]).items()})
    deliveries = Deliveries(owed, by_second(pending))
    counted = rates([*messages, *pending, *lost], copies=copies)
    tables = Tables(counted, timed, resources(**used), consumers, deliveries, unsent or Unsent())
    return offered_rate(info, faults, load_s, float(copies), tables)


def test_a_queue_that_keeps_up_holds_its_rate() -> None:
    """All owed deliveries arrive."""
    rate = judged(queue(100, 300)).rate
    assert (rate["held"], rate["note"], rate["limited_by"]) == (True, "", None)
    assert (rate["from_s"], rate["until_s"], rate["owed_per_s"]) == (0, 40, 100)
    assert rate["received_per_s"] == pytest.approx(100, abs=0.1)


def test_a_broker_that_takes_half_the_rate_did_not_hold_it_and_its_figures_stand() -> None:
    judgement = judged(queue(480, 240), depth=(100, 9_700))
    rate = judgement.rate
    assert (rate["held"], rate["limited_by"], judgement.doubts) == (False, "consumers", {})
    assert rate["note"].startswith(
        "The offered rate was not held: 240 of 480 messages per second were received; latency is the age of a backlog, "
        "and grows with the length of the run. The limit was the consumers: messages piled up on b"
    )
    assert rate["backlog"] == pytest.approx(240 * 55, rel=0.01), "of the warm-up too"


def test_an_overloaded_generator_is_the_limit_and_makes_latency_doubtful() -> None:
    """It gets twice its highest rate. Only latency from the due time is doubtful."""
    judgement = judged(queue(480, 2_000, sends=240), own_lag_s=10)
    assert (judgement.rate["held"], judgement.rate["limited_by"]) == (False, "generator")
    assert judgement.doubts == {
        "due_to_received": "the offered rate was not held, and the load generator was the limit"
    }, "what was sent came in time"
    assert "lower the rate" in judgement.rate["note"]


def test_a_machine_used_by_others_is_the_limit() -> None:
    """Every latency that grew is doubtful."""
    judgement = judged(queue(480, 240), busy=3.9, waited=2.0, depth=(0, 9_600))
    assert judgement.rate["limited_by"] == "host"
    assert set(judgement.doubts) == {"due_to_received", "sent_to_received"}
    assert "waited for 2.0 of them while it ran on 0.5" in judgement.rate["why"]


def test_a_broker_that_keeps_its_producers_waiting_is_named() -> None:
    judgement = judged(queue(480, 2_000, sends=240))
    assert (judgement.rate["held"], judgement.rate["limited_by"], judgement.doubts) == (False, "brokers", {})


def test_a_broker_that_reads_late_what_it_is_sent_is_named() -> None:
    judgement = judged(queue(480, 240), confirmed_late=True)
    assert (judgement.rate["limited_by"], judgement.doubts) == ("brokers", {})
    assert "took more and more time to confirm messages" in judgement.rate["note"]


def test_without_a_sample_what_limited_it_is_not_known_and_the_figures_stand() -> None:
    judgement = judged(queue(480, 240))
    assert (judgement.rate["limited_by"], judgement.doubts) == ("unknown", {})
    assert "What limited it is not known" in judgement.rate["note"]


@pytest.mark.parametrize("info", [INFO, UNSETTLED])
def test_a_backlog_that_begins_to_grow_in_the_middle_of_the_load_is_found(info: RunInfo) -> None:
    assert judged(queue(100, {-1_000: 300, 15: 60}), info).rate["held"] is False


def test_the_backlog_of_a_fault_that_drains_is_no_failure_to_hold_the_rate() -> None:
    rate = judged(queue(100, {-1_000: 300, 10: 0, 20: 200}), faults=[KILL]).rate
    assert (rate["held"], rate["from_s"], rate["until_s"]) == (True, 0, 10)


def test_the_backlog_of_a_fault_that_never_drains_is_not_judged() -> None:
    rate = judged(queue(100, {-1_000: 300, 10: 0, 20: 105}), faults=[KILL]).rate
    assert rate["held"] is True, "the seconds before it tell"
    early = replace(KILL, began_ns=LOAD_NS + 5 * S)
    unknown = judged(queue(100, {-1_000: 300, 5: 0, 20: 105}), faults=[early]).rate
    assert (unknown["held"], unknown["why"]) == (
        None,
        "there are no 8 seconds in a row without a fault or its backlog",
    )


def test_a_backlog_from_before_the_fault_is_not_the_faults() -> None:
    """It grew before the fault and throughout an unsettled warm-up."""
    messages = queue(480, {-1_000: 244, 10: 0, 25: 244})
    rate = judged(messages, UNSETTLED, [KILL]).rate
    assert (rate["held"], rate["from_s"], rate["until_s"]) == (False, -15, 10)
    assert (rate["owed_per_s"], rate["received_per_s"]) == (480, pytest.approx(244, abs=2))


def test_a_backlog_that_grows_anew_after_a_fault_has_drained_counts() -> None:
    rate = judged(queue(100, {-1_000: 300, 10: 0, 12: 900, 28: 40}), faults=[replace(KILL, mended_ns=LOAD_NS + 12 * S)])
    assert rate.rate["held"] is False


@pytest.mark.parametrize("at_s", range(0, 36, 4))
def test_a_machine_that_stood_still_for_three_seconds_is_no_overload(at_s: int) -> None:
    assert judged(queue(100, {-1_000: 300, at_s: 0, at_s + 3: 300})).rate["held"] is True


def test_a_long_way_and_a_slow_commit_are_no_backlog_that_grows() -> None:
    assert judged(queue(100, 300, took_s=4.0)).rate["held"] is True
    assert judged(queue(100, 300, took_s=4.0), UNSETTLED).rate["held"] is True


def test_a_backlog_of_the_warm_up_that_drains_is_none_that_grows() -> None:
    assert judged(queue(100, {-1_000: 20, -5: 130}), UNSETTLED).rate["held"] is True


def test_messages_that_never_arrived_are_no_backlog() -> None:
    messages = queue(100, 300)
    came = [message for number, message in enumerate(messages) if number % 3]
    assert judged(came, lost=messages[::3]).rate["held"] is True


def test_a_backlog_whose_end_no_drain_waited_for_is_found_by_what_came() -> None:
    came, pending = until(50, queue(100, 50))
    rate = judged(came, pending=pending).rate
    assert (rate["held"], rate["until_s"]) == (False, 40)
    assert (rate["owed_per_s"], rate["received_per_s"]) == (100, pytest.approx(50, abs=1))


def test_what_some_producers_never_sent_was_owed_too() -> None:
    """Six producers with 80 messages per second each; three of them were blocked from the start."""
    rate = judged(queue(240, 120), replace(INFO, withheld=40 * 240), unsent=never_sent(240, range(40))).rate
    assert (rate["owed_per_s"], rate["received_per_s"]) == (480, pytest.approx(120, abs=2))
    assert rate["backlog"] == pytest.approx(40 * 360 + 15 * 120, rel=0.01), "and what waited since the warm-up"


def test_a_load_that_ends_by_count_is_judged_while_messages_are_due() -> None:
    """The generator takes the same number of seconds again to send the last of them."""
    messages = queue(200, 2_000, from_s=-2, until_s=13, sends=100)
    rate = judged(messages, load_s=28.0, own_lag_s=7).rate
    assert (rate["held"], rate["until_s"], rate["limited_by"]) == (False, 13, "generator")


def test_a_short_load_of_which_only_the_first_half_ever_came_did_not_hold_its_rate() -> None:
    """The bridge stalled at the end of the load: 16 s with 120 messages due and 60 received per second."""
    everything = queue(120, 60, from_s=-2, until_s=16)
    came, pending = until(16, everything)
    rate = judged(came, pending=pending, load_s=16.0).rate
    assert (rate["held"], rate["until_s"], rate["owed_per_s"]) == (False, 16, 120)
    assert rate["received_per_s"] == pytest.approx(60, abs=2)


def test_where_hardly_anything_was_received_no_backlog_is_judged() -> None:
    everything = queue(100, 300)
    rate = judged(everything[::20], lost=[message for number, message in enumerate(everything) if number % 20]).rate
    assert (rate["held"], rate["why"]) == (None, "hardly any messages were received")


@pytest.mark.parametrize("from_s", [0, 22])
def test_a_rate_of_which_brokers_refuse_most_is_unknown(from_s: int) -> None:
    """Nine of ten sends are rejected, from the start or in the second half, so none of them waits."""
    everything = list(enumerate(queue(100, 300)))
    refused = [message for number, message in everything if message[0] >= from_s and number % 9]
    came = [message for number, message in everything if message[0] < from_s or not number % 9]
    rate = judged(came, lost=refused).rate
    assert (rate["held"], rate["why"]) == (None, "most messages that were due were refused, lost or expired")


def test_messages_that_were_never_sent_are_told_whoever_kept_them() -> None:
    messages = [message for message in queue(100, 300) if message[0] < 30]
    unsent = never_sent(100, range(30, 40))
    withheld, missed = (
        judged(messages, replace(INFO, **{name: 1_000}), unsent=unsent) for name in ("withheld", "missed")
    )
    assert (withheld.rate["held"], withheld.rate["limited_by"], withheld.doubts) == (False, "brokers", {})
    assert (missed.rate["limited_by"], set(missed.doubts)) == ("generator", {"due_to_received"})
    assert "75 of 100 messages per second were received" in missed.rate["note"]
    one_less = judged(queue(100, 300), replace(INFO, withheld=9), unsent=never_sent(9, range(39, 40)))
    assert one_less.rate["held"] is True


def test_messages_that_were_never_sent_as_a_fault_lasted_are_the_faults() -> None:
    messages = [message for message in queue(100, 300) if message[0] < 30]
    info, fault = replace(INFO, withheld=1_000), replace(KILL, began_ns=LOAD_NS + 30 * S, mended_ns=None)
    assert judged(messages, info, [fault], unsent=never_sent(100, range(30, 40))).rate["held"] is True


def test_each_subscriber_of_a_topic_is_owed_its_own_delivery() -> None:
    rate = judged(queue(100, 50), copies=3).rate
    assert "150 of 300 deliveries per second were made" in rate["note"]


def test_a_run_that_is_limited_on_purpose_is_not_judged() -> None:
    judgement = judged(queue(100, 50), replace(INFO, limited_on_purpose="its rate changes in steps"))
    assert (judgement.rate["held"], judgement.rate["why"], judgement.doubts) == (None, "its rate changes in steps", {})


@pytest.mark.parametrize("load_s", [None, 7.0])
def test_a_load_that_was_too_short_or_never_ended_is_not_judged(load_s: float | None) -> None:
    messages = queue(100, 50, until_s=7)
    assert judged(messages, load_s=load_s).rate["held"] is None


@given(
    offered_per_s=st.integers(5, 60),
    spare=st.floats(1.05, 5),
    took_s=st.floats(0, 3),
    info=st.sampled_from([INFO, UNSETTLED]),
)
def test_a_queue_that_serves_more_than_is_offered_always_holds_its_rate(
    offered_per_s: int, spare: float, took_s: float, info: RunInfo
) -> None:
    judgement = judged(queue(offered_per_s, offered_per_s * spare, took_s=took_s), info)
    assert (judgement.rate["held"], judgement.doubts) == (True, {})


@given(offered_per_s=st.integers(10, 60), share=st.floats(0.2, 0.85), info=st.sampled_from([INFO, UNSETTLED]))
def test_a_queue_that_serves_too_few_never_holds_its_rate_and_tells_how_many(
    offered_per_s: int, share: float, info: RunInfo
) -> None:
    rate = judged(queue(offered_per_s, offered_per_s * share), info).rate
    assert rate["held"] is False
    assert rate["owed_per_s"] == pytest.approx(offered_per_s, rel=0.05)
    assert rate["received_per_s"] == pytest.approx(offered_per_s * share, rel=0.1, abs=0.5)


@given(st.lists(st.tuples(st.floats(-10, 10), st.floats(0, 12)), min_size=1, max_size=60))
def test_what_waits_is_known_to_what_was_due_within_a_second(messages: list[tuple[float, float]]) -> None:
    """Due times are only known to the second, so each count may be off by one."""
    timed = latency([(due, due, due + took_s) for due, took_s in messages])
    waiting = timed.waiting()
    assert sum(timed.arrived().values()) == len(messages)
    for at_s in range(-12, 24):
        fewest = sum(due // 1 <= at_s and due // 1 + took_s * 0.99 >= at_s + 1 for due, took_s in messages)
        most = sum(due // 1 <= at_s and due // 1 + 1 + took_s * 1.01 > at_s + 1 for due, took_s in messages)
        assert fewest - 1e-6 <= waiting.get(at_s, 0.0) <= most + 1e-6


@pytest.mark.parametrize("share", [0.0, 1 / 3, 0.6])
@pytest.mark.parametrize("percent", range(10, 100, 5))
def test_a_rate_that_collapses_late_is_not_held(percent: int, share: float) -> None:
    """A load of 100 s. After the collapse, the broker serves only a share of the offered rate."""
    collapses_s = percent
    info = replace(INFO, phases=replace(INFO.phases, load_ended_ns=LOAD_NS + 100 * S))
    messages = queue(20, {-1_000: 60, collapses_s: max(20 * share, 0.01)}, until_s=100)
    came, pending = until(110, messages)
    rate = judged(came, info, pending=pending, load_s=100.0).rate
    behind = (100 - collapses_s) * 20 * (1 - share)
    assert rate["held"] is (behind <= 20), (behind, rate)
    assert rate["backlog"] == pytest.approx(behind, abs=3)
    assert rate["received_per_s"] == pytest.approx((2_000 - behind) / 100, abs=0.1)


@given(collapses_s=st.integers(4, 36), share=st.floats(0.0, 0.5), offered_per_s=st.integers(10, 60))
def test_a_collapse_at_any_second_is_never_held(collapses_s: int, share: float, offered_per_s: int) -> None:
    messages = queue(offered_per_s, {-1_000: 3.0 * offered_per_s, collapses_s: max(offered_per_s * share, 0.01)})
    came, pending = until(60, messages)
    rate = judged(came, pending=pending).rate
    behind = (40 - collapses_s) * offered_per_s * (1 - share)
    assert rate["held"] is False or behind < max(1.2 * offered_per_s, 12)


def test_a_stall_in_the_last_second_is_no_collapse() -> None:
    """It lasts from 38.5 s to the end of the load, and the backlog is received within a second."""
    messages = [(due, sent, max(received, 40.2 if due > 38.5 else 0.0)) for due, sent, received in queue(100, 300)]
    assert judged(messages).rate["held"] is True


@pytest.mark.parametrize("leaves_s", [4, 12, 20, 24, 30, 38])
def test_a_topic_subscriber_that_leaves_is_no_backlog(leaves_s: int) -> None:
    """A subscriber is not owed messages sent while it is away: `missed_away`."""
    messages = queue(100, 300)
    heard = [message for message in messages if message[0] < leaves_s]
    tables = Tables(
        rates(messages),
        latency(heard),
        resources(),
        pa.Table.from_pylist([AT_BROKER], CONSUMERS),
        Deliveries(by_second(heard)),
    )
    assert offered_rate(INFO, (), 40.0, 0.5, tables).rate["held"] in (True, None)


def test_a_third_of_the_messages_at_a_frozen_broker_wait() -> None:
    """One of three brokers stops answering at 10 s, until the load ends."""
    messages = queue(90, 300)
    frozen = [message for number, message in enumerate(messages) if number % 3 == 0 and message[0] > 10]
    rate = judged([message for message in messages if message not in frozen], pending=frozen).rate
    assert (rate["held"], rate["backlog"]) == (False, pytest.approx(900, abs=2))
    assert rate["received_per_s"] == pytest.approx(90 - 900 / 40, abs=0.5)


def test_messages_that_stopped_at_a_fault_are_no_backlog_of_the_end() -> None:
    messages = queue(100, 300)
    stuck = [message for number, message in enumerate(messages) if number % 4 == 0 and 10 < message[0] < 20]
    rate = judged([message for message in messages if message not in stuck], pending=stuck).rate
    assert (rate["held"], rate["backlog"]) == (True, pytest.approx(0, abs=1))


def test_a_gross_overload_is_read_from_the_schedule() -> None:
    """All sent messages were due in the warm-up. The load's 30,000 messages per second are never sent."""
    messages = [(due, due + 12, due + 14) for due, _, _ in queue(600, 1_200, from_s=-3, until_s=-1)]
    judgement = judged(messages, replace(INFO, missed=360_000), load_s=12.0, unsent=never_sent(30_000, range(12)))
    rate = judgement.rate
    assert (rate["held"], rate["owed_per_s"], rate["limited_by"]) == (False, 30_000, "generator")
    assert rate["received_per_s"] == pytest.approx(50, rel=0.1)
    assert "never sent" in rate["why"]
    assert "of 30,000 messages per second were received" in rate["note"]


def test_what_ended_producers_never_sent_is_named_as_the_limit() -> None:
    ended = EndedEarly(3, "P", 20.0, 400)
    messages = [message for number, message in enumerate(queue(120, 300)) if message[0] < 20 or number % 6]
    unsent = Unsent(dict.fromkeys(range(20, 40), 20), (ended,))
    rate = judged(messages, unsent=unsent).rate
    assert (rate["held"], rate["limited_by"]) == (False, "generator")
    assert rate["why"] == "400 messages that were due were never sent, as their producers ended early"


@pytest.mark.parametrize("at_s", range(0, 36, 3))
def test_commits_of_long_transactions_are_no_backlog(at_s: int) -> None:
    """Six producers commit 100 messages each every 16 s, all at about the same time."""
    users = (UserInfo("P", "producer", "producers", "queue://q", 6, {"transaction_size": 100}), *INFO.users[1:])
    messages = [(due, due, (due - at_s) // 16 * 16 + 16 + at_s + 0.01) for due, _, _ in queue(36, 300)]
    assert judged(messages, replace(INFO, users=users)).rate["held"] is True
