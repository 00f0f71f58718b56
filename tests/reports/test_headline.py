"""Checks that a report's first sentence answers its scenario's question, and the named probable cause."""

from dataclasses import replace
from typing import Any, cast

import pytest

from records.figures.clients import Rebalance
from records.figures.messages import KINDS, KindCounts
from records.run import RunInfo, UserInfo
from reports.clients.moves import moves_sentences
from reports.faults import probable_cause, unplanned_sentences
from reports.messages import kinds_sentences
from reports.run.headline import headline
from tests.reports.run_folder import RunPlan, run_info, summary
from tests.reports.test_answers import WITHIN, destinations, division, latency

PLAN = RunPlan(load_s=2, per_s=10, fault_s=None)
MADE_UP: Any = summary(PLAN)
RUN = run_info(PLAN)
ANSWERED_BY = {
    "churn": ("cost",),
    "failover": ("faults",),
    "many_destinations": ("destinations", "cost"),
    "parallel_connectors": ("rate",),
    "rebalance": ("moves",),
    "reliability": ("kinds",),
    "request_reply": ("latency",),
    "sharing": ("shares",),
    "steady": ("fate", "latency"),
    "throttle": ("shares",),
    "ttl": ("fate",),
    "wan": ("regions",),
}
"""As the scenarios of these names have it."""
REGIONS = {"within": WITHIN, "across": latency(43.16, 50.46), "across_per_s": 3.0}


def sentences_of(scenario: str, run: RunInfo = RUN, **changed: Any) -> str:
    top = headline(replace(run, answered_by=ANSWERED_BY[scenario]), {**MADE_UP, **changed})
    return " ".join((top.answer, *top.further))


def kinds(**changed: dict[str, int]) -> dict[str, KindCounts]:
    """Return kinds of 100 messages each, all received unless ``changed`` differs."""
    whole = dict.fromkeys(KindCounts.__annotations__, 0) | {"expected": 100, "received": 100}
    return cast(dict[str, KindCounts], {kind: whole | changed.get(kind, {}) for kind in KINDS})


def test_reliability_begins_with_undelivered_kinds() -> None:
    """The promise of JMS follows."""
    lost = kinds(
        topic_non_persistent={"undelivered": 9, "missing_unconfirmed": 8},
        durable_topic_persistent={"undelivered": 7, "pending": 6, "lost": 1, "duplicated": 2},
    )
    assert sentences_of("reliability", kinds=lost, destinations=destinations(6, 6)).startswith(
        "2 of 6 kinds of messages did not reach every subscription that was owed them: "
        "non-persistent messages of topics (9 of 100: 8 unconfirmed and missing and 1 expired or dead letters) and "
        "persistent messages of durable subscriptions (7 of 100: 1 lost and 6 pending on a broker). "
        "The JMS delivery guarantees were violated for persistent messages of durable subscriptions (7 not delivered "
        "and 2 twice). "
        "All 120 messages sent were received"
    )


def test_kinds_that_were_all_delivered_kept_what_jms_promises() -> None:
    assert kinds_sentences({**MADE_UP, "kinds": kinds()}) == (
        "All 6 kinds of messages reached every subscription that was owed them. The JMS delivery guarantees held."
    )
    unknown = kinds(queue_persistent={"undelivered": 4, "unaccounted": 4})
    assert kinds_sentences({**MADE_UP, "kinds": unknown}).endswith(
        "The JMS delivery guarantees held for all other kinds. It is not known whether they held for persistent "
        "messages of queues."
    )
    twice = kinds(queue_non_persistent={"duplicated": 3, "undelivered": 50, "missing_unconfirmed": 50})
    assert kinds_sentences({**MADE_UP, "kinds": twice}).endswith(
        "The JMS delivery guarantees were violated for non-persistent messages of queues (3 twice)."
    ), "at most once: it may lose them"


def test_a_run_with_one_kind_says_nothing_of_kinds() -> None:
    assert kinds_sentences({**MADE_UP, "kinds": {"queue_persistent": kinds()["queue_persistent"]}}) == ""


def test_the_slowest_destination_is_told_only_where_a_class_has_several_destinations() -> None:
    flows = {"destinations": destinations(6, 6)}
    one_each = replace(RUN, users=(UserInfo("A", "producer", "producers", "queue://a", 1, {}),))
    several = replace(RUN, users=(UserInfo("A", "producer", "producers", "queue://a.{n}", 6, {"destinations": 6}),))
    assert "slowest" not in sentences_of("steady", one_each, **flows)
    assert "slowest" in sentences_of("steady", several, **flows)
    assert sentences_of("many_destinations", several, **flows).startswith("Messages flowed on all 6 destinations")
    none_of_some = {"destinations": destinations(2, 3)}
    assert "Messages were received from 2 of 3 destinations." in sentences_of("ttl", one_each, **none_of_some)


REBALANCE = cast(
    Rebalance,
    {
        "clients": 18,
        "moved": 5,
        "moves": 6,
        "off_ms": {"p50": 12.3, "max": 340.0},
        "not_settled": 0,
        "settled_s": 4.5,
        "groups": [
            {
                "group": "consumers",
                "clients": 12,
                "moments": [
                    {"moment": "begin", "connected": {"a": 6, "b": 6, "c": 0}, "off": 0},
                    {"moment": "before F1", "connected": {"a": 6, "b": 6, "c": 0}, "off": 0},
                    {"moment": "after F1", "connected": {"a": 4, "b": 4, "c": 3}, "off": 1},
                    {"moment": "end", "connected": {"a": 4, "b": 4, "c": 4}, "off": 0},
                ],
            }
        ],
    },
)


JOINED = cast(Any, [{"fault": "F1", "kind": "join", "target": "c", "began_s": 10.004}])


def test_rebalance_begins_with_where_the_clients_were_and_what_their_moves_cost() -> None:
    end = "They had 4/4/4 when the load ended. "
    whereabouts = f"a, b and c had 6/6/0 clients before c joined at 10 s, 4/4/3 (1 off) after. {end}"
    cost = (
        "5 of 18 clients moved, in 6 moves. The median move took 12.3 ms, the longest 340 ms. Each time the clients "
        "had settled after 4.5 s at most."
    )
    assert moves_sentences(REBALANCE, JOINED) == whereabouts + cost
    begin = f"a, b and c had 6/6/0 clients when the load began. {end}"
    assert moves_sentences(REBALANCE, []) == begin + cost
    assert sentences_of("rebalance", rebalance=REBALANCE).startswith(begin)
    assert "settled" not in sentences_of("failover", rebalance=REBALANCE)
    unsettled = cast(Rebalance, {**REBALANCE, "not_settled": 1, "settled_s": None})
    assert moves_sentences(unsettled, []).endswith(". After 1 change the clients did not settle.")
    assert moves_sentences(cast(Rebalance, {**REBALANCE, "moves": 0}), []) == ""


def test_the_answer_is_what_the_scenario_asks_and_the_rest_is_a_list() -> None:
    top = headline(replace(RUN, answered_by=("latency",)), MADE_UP)
    assert top.answer.startswith("Half arrived within ")
    assert top.further == ("All 120 messages sent were received, each exactly once.",)
    without = headline(replace(RUN, answered_by=("kinds",)), MADE_UP)
    assert without.answer == top.further[0], "what answers the question is not there"


def test_a_pass_with_odd_messages_does_not_say_that_all_are_accounted_for() -> None:
    assert headline(RUN, MADE_UP | {"verdict": "pass"}).meaning.endswith("every message is accounted for.")
    for name in ("lost", "stranded", "dead_lettered", "duplicated", "reordered", "unexpected", "unknown_attempts"):
        messages = MADE_UP["messages"] | {name: 3}
        top = headline(RUN, MADE_UP | {"verdict": "pass", "messages": messages})
        assert "accounted for" not in top.meaning, name
        assert "not forbidden by any check: 3 " in top.meaning, name
        assert "exactly once" not in " ".join((top.answer, *top.further)), name


@pytest.mark.parametrize(
    ("scenario", "changed", "first_words"),
    [
        ("churn", {}, "The brokers used "),
        ("parallel_connectors", {}, "60.0 messages per second were received, and 60.0 were due. "),
        ("sharing", {"consumers": {"idle": 0, "subscriptions": [division({"a": [20], "b": [20]})]}}, "Of queue://q "),
        ("throttle", {"consumers": {"idle": 0, "subscriptions": [division({"a": [20], "b": [20]})]}}, "Of queue://q "),
        (
            "wan",
            {"regions": {"within": WITHIN, "across": latency(43.16, 50.46), "across_per_s": 3.0}},
            "Messages that ",
        ),
        ("request_reply", {}, "Half arrived within "),
        ("steady", {}, "All 120 messages sent were received, each exactly once. Half arrived within "),
    ],
)
def test_the_first_sentence_answers_the_question_of_the_scenario(
    scenario: str, changed: dict[str, Any], first_words: str
) -> None:
    throughput = MADE_UP["throughput"] | {"received_per_s": 60.0, "due_per_s": 60.0}
    assert sentences_of(scenario, **{"throughput": throughput, **changed}).startswith(first_words)


TTL = "a message sent at 'eu-1' cannot reach a consumer at 'us-1': raise message_ttl of link 'eu-us' from 1 to 2"
OTHER = "a message sent at 'eu-1' cannot reach a consumer at 'us-2': raise message_ttl of link 'eu-us' from 1 to 2"


def silent(broker: str, from_s: float) -> dict[str, Any]:
    return {"broker": broker, "what": "silent", "from_s": from_s, "until_s": 3.24, "clients": 2}


def test_a_silence_that_began_before_the_load_is_not_told_with_a_negative_time() -> None:
    assert unplanned_sentences(cast(Any, [silent("us-1", -10.7)])) == (
        "Outside any fault, us-1 was silent from 10.7 s before the load to 3.2 s, while 2 clients waited."
    )


def test_what_the_run_was_warned_of_is_the_probable_cause_of_what_it_explains() -> None:
    warned = replace(RUN, warnings=("the clock of worker-2 moved", OTHER, TTL))
    silence = {**MADE_UP, "unplanned": [silent("us-1", -10.7)]}
    cause = f"Probable cause of the silence of us-1: {TTL} (and 1 warning more below)."
    assert probable_cause(warned, cast(Any, silence)) == cause
    assert cause in sentences_of("steady", warned, unplanned=[silent("us-1", -10.7)])
    run_summary = {
        **MADE_UP,
        "messages": MADE_UP["messages"] | {"stranded": 3},
        "consumers": {"idle": 2, "subscriptions": []},
    }
    assert probable_cause(replace(RUN, warnings=(TTL,)), cast(Any, run_summary)) == (
        f"Probable cause of the messages left on queues and the consumers without messages: {TTL}."
    )


def test_a_warning_is_no_cause_of_what_it_does_not_explain() -> None:
    elsewhere = cast(Any, {**MADE_UP, "unplanned": [silent("us-3", 2.0)]})
    assert probable_cause(replace(RUN, warnings=(TTL,)), elsewhere) == ""
    assert probable_cause(replace(RUN, warnings=(TTL,)), MADE_UP) == "", "nothing was silent or left behind"
    assert probable_cause(RUN, cast(Any, {**MADE_UP, "unplanned": [silent("us-1", 2.0)]})) == ""


def test_the_figures_not_to_rely_on_are_told_a_line_a_measure() -> None:
    late = "due → received p99 (the generator was late: by 1 ms)", "sent → received p50 and p99 (the clocks disagree)"
    note = f"Do not rely on these latencies: {'; '.join(late)}."
    summary = cast(Any, {**MADE_UP, "timing": {**MADE_UP["timing"], "note": note}})
    assert headline(RUN, summary).timing == (f"Do not rely on these latencies: {late[0]};", f"{late[1]}.")
    assert headline(RUN, MADE_UP).timing == ()
