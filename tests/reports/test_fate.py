"""Checks the sentence on what became of the messages."""

from typing import Any

import pytest

from reports.views.fate import fate_sentence
from tests.reports.run_folder import Plan, made_up, summary

SENT = 120


def found(**changed: Any) -> Any:
    plan = Plan(load_s=2, per_s=10)
    return summary(plan, made_up(plan)) | changed


def counts(**changed: int) -> dict[str, int]:
    of: dict[str, int] = found()["messages"]
    return of | changed


@pytest.mark.parametrize(
    ("failed", "refused", "told"),
    [
        (60, {"broker-2": 60}, "60 refused by broker-2"),
        (60, {"broker-1": 20, "broker-2": 40}, "60 refused by broker-2 (40) and broker-1 (20)"),
        (60, {f"broker-{n}": 15 for n in range(4)}, "60 refused by 4 brokers"),
        (3, {}, "3 never written to a broker"),
        (5, {"broker-1": 2}, "2 refused by broker-1 and 3 never written to a broker"),
    ],
)
def test_refused_messages_are_told_with_the_brokers_that_refused_them(
    failed: int, refused: dict[str, int], told: str
) -> None:
    of = found(messages=counts(failed=failed, received=SENT - failed), refused=refused)
    assert fate_sentence(of) == f"Of 120 messages sent, {SENT - failed} were received; {told}."
