"""Checks which messages were due but never sent, with planted producers that stop in every kind of schedule."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.load.unsent import Unsent, sent_by_producer, sentences, unsent
from records.loads.rate_steps import RateStep, format_steps
from records.loads.send_schedule import Schedule, SteppedSchedule, random_phase_ns
from records.run import Phases, ProcessInfo, RunInfo, UserInfo

S = 1_000_000_000
WARM_UP_NS, LOAD_NS, LOAD_S = 497 * S, 500 * S, 20
PRODUCERS = (0, 1, 2)
STEPS = (RateStep(30.0, 30.0, 5), RateStep(30.0, 120.0, 10), RateStep(12.0, 12.0, 5))
INFO = RunInfo(
    run_id="",
    scenario="steady",
    topology="mesh",
    runtime="processes",
    protocol="stomp",
    state="ended",
    seed=7,
    users=(
        UserInfo("Orders", "producer", "producers", "queue://q", 3, {"sends_per_second": 10.0}),
        UserInfo("Takers", "consumer", "consumers", "queue://q", 1, {"prefetch": 100}),
    ),
    phases=Phases(WARM_UP_NS, LOAD_NS, LOAD_NS + LOAD_S * S),
    processes=(ProcessInfo("main", 0, "here", 1, 2, begun=690, settled=690, received=690),),
)
STEPPED = replace(
    INFO,
    rate_steps=STEPS,
    users=(replace(INFO.users[0], settings={"sends_per_second": 10.0, "rate_steps": format_steps(STEPS)}),),
)


def schedule_of(info: RunInfo, number: int) -> Schedule:
    """Return the schedule of the producer with that number."""
    phase_ns = random_phase_ns(10.0, info.seed, number)
    schedule = Schedule(WARM_UP_NS, 10.0, phase_ns)
    if info.rate_steps:
        schedule = SteppedSchedule(WARM_UP_NS, 10.0, phase_ns, steps=[step.of_one_in(3) for step in info.rate_steps])
    schedule.set_load_times(LOAD_NS, LOAD_NS + LOAD_S * S)
    return schedule


def members(*, consumer: int = 9) -> pl.DataFrame:
    rows = [(number, "producer", "Orders") for number in PRODUCERS] + [(consumer, "consumer", "Takers")]
    return pl.DataFrame(rows, ["user", "role", "user_class"], orient="row")


def sent(info: RunInfo, until_s: Mapping[int, float]) -> pl.DataFrame:
    """Return the recorded messages if each producer sent exactly the messages due by then (in seconds of the load)."""
    rows = []
    for number in PRODUCERS:
        schedule, slot = schedule_of(info, number), 0
        ends_ns = LOAD_NS + until_s.get(number, LOAD_S) * S
        while (due_ns := schedule.due_ns(slot)) is not None and due_ns < ends_ns:
            rows.append((number, slot, due_ns))
            slot += 1
    rows += [(9, seq, LOAD_NS) for seq in range(3)]  # replies, which have no schedule
    return sent_by_producer(pl.DataFrame(rows, ["producer", "seq", "due_ns"], orient="row"))


def found(info: RunInfo, until_s: Mapping[int, float]) -> Unsent:
    return unsent(info, members(), sent(info, until_s))


@pytest.mark.parametrize("info", [INFO, STEPPED])
def test_producers_that_keep_their_schedules_leave_nothing(info: RunInfo) -> None:
    assert found(info, {}) == Unsent({}, ())


def test_a_producer_that_ends_is_named_with_the_second() -> None:
    (ended,) = found(INFO, {1: 6.2}).ended_early
    assert (ended.number, ended.user_class, ended.never_sent) == (1, "Orders", pytest.approx(138, abs=1))
    assert ended.from_s == pytest.approx(6.2, abs=0.1)
    assert sentences([ended])[0].startswith("producer 1 (Orders) ended early: it sent nothing from 6.")


@given(
    st.sampled_from([INFO, STEPPED]),
    st.dictionaries(st.sampled_from(PRODUCERS), st.floats(-3, LOAD_S), max_size=3),
)
def test_every_due_message_was_sent_or_is_found(info: RunInfo, until_s: dict[int, float]) -> None:
    """Unsent messages are found by second for any end time. Producers that ended early are named."""
    answer, due = found(info, until_s), Counter[int]()
    for number, ends_s in until_s.items():
        schedule, slot = schedule_of(info, number), 0
        while (due_ns := schedule.due_ns(slot)) is not None:
            due[(due_ns - LOAD_NS) // S] += due_ns >= LOAD_NS + ends_s * S
            slot += 1
    assert Counter(answer.by_second) == +due
    named = {ended.number for ended in answer.ended_early}
    late = {number for number, ends_s in until_s.items() if ends_s > LOAD_S - 0.6}
    assert named <= until_s.keys()
    assert named >= until_s.keys() - late


def test_messages_that_the_load_generator_counted_end_no_producer() -> None:
    """Brokers blocked a producer until the end, or the producer was too slow. The run already reports this."""
    for counted in ("withheld", "missed"):
        answer = found(replace(INFO, **{counted: 140}), {1: 6.2})  # type: ignore[arg-type]
        assert (answer.ended_early, sum(answer.by_second.values())) == ((), pytest.approx(138, abs=1))
    assert found(replace(INFO, missed=10), {1: 6.2}).ended_early, "only 10 of them"


def test_a_message_that_was_begun_and_not_written_ends_no_producer() -> None:
    """Its broker was down until the end: no row records that the send began, but the process counted it."""
    (main,) = INFO.processes
    gone = replace(INFO, withheld=136, processes=(replace(main, begun=692, settled=690),))
    assert found(gone, {1: 6.2}).ended_early == ()


def test_producers_that_failed_had_shares_of_a_count() -> None:
    """Of 400 messages, the first of three producers had 134 and failed. The others sent all of their 133 each."""
    info = replace(INFO, options={"messages": 400}, failed_producers=(0,))
    info = replace(info, phases=replace(INFO.phases, load_ended_ns=LOAD_NS + 60 * S))
    rows = [(0, 20, WARM_UP_NS), (1, 133, WARM_UP_NS), (2, 133, WARM_UP_NS)]
    answer = unsent(info, members(), pl.DataFrame(rows, ["producer", "sent", "first_due_ns"], orient="row"))
    assert answer == Unsent({}, ())


def test_a_process_that_died_has_counted_nothing() -> None:
    dead = replace(INFO, processes=(), withheld=1_000)
    assert [ended.number for ended in found(dead, {1: 6.2}).ended_early] == [1]


def test_a_producer_that_may_fail_and_did_owes_nothing() -> None:
    assert found(replace(INFO, failed_producers=(1,)), {1: 6.2}) == Unsent({}, ())


def test_an_interrupted_run_names_no_producer() -> None:
    interrupted = replace(INFO, state="interrupted")
    assert found(interrupted, {1: 19.5}).ended_early == ()


def test_a_killed_run_is_not_asked() -> None:
    assert found(replace(INFO, phases=Phases(WARM_UP_NS, LOAD_NS)), {1: 6.2}) == Unsent()


def test_a_producer_that_never_sent_is_named() -> None:
    (ended,) = found(INFO, {2: -3.0}).ended_early
    assert (ended.number, ended.never_sent) == (2, pytest.approx(230, abs=1))


def test_a_message_missing_in_the_middle_is_never_sent() -> None:
    rows = pl.DataFrame(
        [(1, seq, WARM_UP_NS) for seq in range(230) if seq != 50], ["producer", "seq", "due_ns"], orient="row"
    )
    of_one = members().filter(pl.col("user") == 1)
    assert sum(unsent(INFO, of_one, sent_by_producer(rows)).by_second.values()) == 1


@given(st.integers(3, 600), st.integers(0, 5))
def test_a_load_by_count_owes_exactly_its_messages(messages: int, lost: int) -> None:
    """The producers' shares add up to the messages of the load."""
    info = replace(INFO, options={"messages": messages}, phases=replace(INFO.phases, load_ended_ns=LOAD_NS + 60 * S))
    counts = [messages // 3 + (number < messages % 3) for number in PRODUCERS]
    lost = min(lost, counts[1])
    counts[1] -= lost
    rows = pl.DataFrame(
        [(number, count, WARM_UP_NS) for number, count in zip(PRODUCERS, counts, strict=True)],
        ["producer", "sent", "first_due_ns"],
        orient="row",
    )
    answer = unsent(info, members(), rows)
    assert sum(answer.by_second.values()) == lost
    assert bool(answer.ended_early) is bool(lost)


def test_a_client_that_connects_in_the_load_owes_from_then_on() -> None:
    joining = replace(INFO, users=(replace(INFO.users[0], settings={"sends_per_second": 10.0, "joins": "2@5s,3@15s"}),))
    first_ns = LOAD_NS + 6 * S + random_phase_ns(10.0, INFO.seed, 2)
    rows = sent(INFO, {}).filter(pl.col("producer") != 2)
    joined = pl.DataFrame([(2, 100, first_ns)], rows.schema, orient="row")
    answer = unsent(joining, members(), pl.concat([rows, joined]))
    (ended,) = answer.ended_early
    assert (ended.number, ended.never_sent, ended.from_s) == (2, 40, pytest.approx(16.0, abs=0.1))


def test_many_producers_are_named_in_few_sentences() -> None:
    (ended,) = found(INFO, {1: 6.2}).ended_early
    told = sentences([replace(ended, number=number) for number in range(40)])
    assert len(told) == 11
    assert told[-1].startswith("30 more producers ended early (4,1")
    assert told[-1].endswith("38, 39")
