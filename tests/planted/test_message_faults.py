"""Checks that the summary has the exact numbers of messages that a proxy drops, duplicates, reorders and corrupts."""

import json
from pathlib import Path

import pytest

from tests.support.locust_run import make_run
from tests.support.stomp_faults import TO_BROKER, TO_CLIENT

pytestmark = [pytest.mark.brokers, pytest.mark.spark]

PLANTED = [
    ("drop", TO_BROKER, [10, 11, 12]),  # acknowledged, but the broker never had them
    ("drop", TO_CLIENT, [50, 90]),  # removed from the broker's queue, but never received by the consumer
    ("duplicate", TO_CLIENT, [100, 120, 140, 160]),
    ("reorder", TO_CLIENT, [200, 210]),
    ("corrupt_body", TO_BROKER, [250]),
    ("corrupt_body", TO_CLIENT, [260]),
    ("corrupt_header", TO_CLIENT, [280]),  # the message cannot be identified
]


@pytest.mark.nightly  # analysis/test_accounting.py covers each outcome with planted rows
def test_what_a_proxy_did_to_chosen_messages_is_what_the_summary_says(tmp_path: Path) -> None:
    outcome = make_run(
        "tests/planted/locustfiles/proxied.py",
        "--messages",
        "400",  # the machine's speed must not affect the result
        runs=tmp_path / "runs",
        env={"PLANTED_FAULTS": json.dumps(PLANTED)},
    )
    messages = outcome.summary["messages"]
    assert {
        "sent": 400,
        "acked": 400,
        "lost": 3 + 2 + 1,
        "received": 400 - 3 - 2 - 1,
        "duplicated": 4,
        "duplicated_by_resend": 0,
        "reordered": 2,
        "corrupted": 2 + 1,
        "stranded": 0,
        "unexpected": 0,
        "foreign": 0,
    }.items() <= messages.items(), messages
    assert outcome.summary["verdict"] == "fail", outcome.output
    assert outcome.status == 1
    lost = {row["seq"] for row in outcome.results("anomalies") if row["anomaly"] == "lost"}
    assert lost == {10, 11, 12, 50, 90, 280}


@pytest.mark.nightly  # the control: every other run of the suite shows the same
def test_an_untouched_run_through_the_same_proxy_passes(tmp_path: Path) -> None:
    outcome = make_run(
        "tests/planted/locustfiles/proxied.py",
        "--messages",
        "200",
        runs=tmp_path / "runs",
        env={"PLANTED_FAULTS": "[]"},
    )
    assert outcome.summary["messages"]["received"] == 200
    assert outcome.summary["verdict"] == "pass", outcome.output
    assert outcome.summary["messages"]["lost"] == outcome.summary["messages"]["duplicated"] == 0


@pytest.mark.nightly
def test_a_send_in_doubt_that_arrived_and_was_sent_again_is_a_duplicate_by_resend(tmp_path: Path) -> None:
    outcome = make_run(
        "tests/planted/locustfiles/proxied.py",
        "--messages",
        "200",
        runs=tmp_path / "runs",
        env={"PLANTED_FAULTS": json.dumps([("cut_after", TO_BROKER, [100])])},
    )
    messages = outcome.summary["messages"]
    attempts = [(row["attempt"], row["outcome"]) for row in outcome.events("sends") if row["seq"] == 100]
    assert attempts[0] == (1, "in_doubt")
    assert attempts[-1][1] == "acked"
    assert messages["duplicated_by_resend"] == messages["duplicated"] >= 1
    assert (messages["sent"], messages["acked"], messages["lost"]) == (200, 200, 0)
