"""Checks the report of mirrors that lagged when their broker was killed."""

import pytest

from records.figures.network import MirrorAtKill, MirrorResult
from reports.network.links import mirror_sentences


def at_kill(lag_messages: int, lag_s: float | None, broker: str = "dc-1") -> MirrorAtKill:
    link = f"{broker}-to-copy"
    return MirrorAtKill(fault="F1", broker=broker, link=link, sampled_s=9.5, lag_messages=lag_messages, lag_s=lag_s)


def sentences_of(*rows: MirrorAtKill) -> str:
    return mirror_sentences(MirrorResult(lag_messages={"max": 99}, lag_s={"max": 9}, at_kill=list(rows)))


@pytest.mark.parametrize(
    ("row", "ending"),
    [
        (at_kill(0, 0), "had replicated everything."),
        (at_kill(1, 1), "had 1 message left to replicate; none was older than 1.0 s."),
        (at_kill(1_200, 4.26), "had 1,200 messages left to replicate; none was older than 4.3 s."),
        (at_kill(60, None), "had 60 messages left to replicate; it is not known how old they were."),
    ],
)
def test_a_report_says_what_a_mirror_had_left_to_repeat(row: MirrorAtKill, ending: str) -> None:
    assert sentences_of(row) == f"At the last sample before dc-1 was killed, its mirror dc-1-to-copy {ending}"


def test_a_run_without_a_killed_mirror_says_nothing_of_mirrors() -> None:
    assert sentences_of() == ""


def test_each_mirror_of_a_killed_broker_has_a_sentence() -> None:
    assert sentences_of(at_kill(0, 0), at_kill(5, 1, "dc-2")).count("At the last sample") == 2
