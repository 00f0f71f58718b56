"""Checks runs with mirrors: messages older than the mirror, and the queues at both its ends.

The tests of mirrors in tests/topologies have the same without a run.
"""

from pathlib import Path

import pytest

from tests.support.locust_run import RunOutcome, make_run, nothing_left

pytestmark = [pytest.mark.brokers, pytest.mark.spark]

STEADY, LINK = "scenarios/steady.py", "broker-1-to-broker-2"
OWN = f"$ACTIVEMQ_ARTEMIS_MIRROR_{LINK}"
REMOVING = """\
brokers:
  broker-1:
    address_queue_scan_period_ms: 500
    address_settings: [{match: "#", auto_delete_queues: true}]
"""
SHORT = ("-t", "3s", "--warm-up", "1", "--rate", "50")


def notes_of(outcome: RunOutcome) -> list[str]:
    """The sentences about the queues of the mirror; the report has each of them."""
    notes = [warning for warning in outcome.info["warnings"] if warning.startswith(f"mirror {LINK} ")]
    report = (outcome.run / "report.html").read_text(encoding="utf-8")
    assert all(f"irror {LINK} {note.removeprefix(f'mirror {LINK} ').partition(':')[0]}" in report for note in notes)
    return notes


@pytest.mark.nightly
def test_a_lost_source_takes_older_messages_with_it(tmp_path: Path) -> None:
    """The mirror starts at 3 s, and the source is killed at 6 s and never returns. Consumers are slow."""
    runs = tmp_path / "runs"
    faults = f"start-link({LINK}, at=3); kill(broker-1, at=6, for=forever)"
    load = ("--rate", "200", "--work-ms", "20", "-t", "8s", "--warm-up", "1")
    topology = "mirror(auto_start=False, clients_at_both=True)"
    outcome = make_run(STEADY, "--topology", topology, "--fault", faults, *load, runs=runs)
    assert (outcome.summary["verdict"], outcome.status) == ("fail", 1), outcome.output
    started, killed = outcome.events("faults")
    received = {(row["producer"], row["seq"]) for row in outcome.events("receipts")}
    sends = outcome.events("sends")
    lost = [
        row for row in sends if (row["producer"], row["seq"]) not in received and row["sent_ns"] < killed["began_ns"]
    ]
    older = [row for row in lost if row["sent_ns"] < started["effective_ns"]]
    assert len(older) > 100
    assert len(lost) - len(older) < 20, "the mirror had the newer ones, except the last moments"
    assert outcome.summary["messages"]["lost"] >= len(older)
    (note,) = notes_of(outcome)
    assert "at the end of the load: broker-1 did not answer; broker-2 had the queues " in note
    assert any("broker broker-1 never came back" in warning for warning in outcome.info["warnings"])
    assert nothing_left(runs)


@pytest.mark.nightly
@pytest.mark.parametrize("repeated", [True, False])
def test_new_queues_cross_by_their_flag(repeated: bool, tmp_path: Path) -> None:
    """Without the flag the copy has no queue for the messages. The mirror's own queue is only on the source."""
    runs = tmp_path / "runs"
    outcome = make_run(STEADY, "--topology", f"mirror(queue_creation={repeated})", *SHORT, runs=runs)
    assert (outcome.summary["verdict"], outcome.status) == ("pass", 0), outcome.output
    note = notes_of(outcome)[0]
    both, _, rest = note.partition("; only on broker-1: ")
    at_source, _, at_copy = rest.partition("; only on broker-2: ")
    assert f"{OWN} (" in at_source
    assert OWN not in both + at_copy
    assert ("steady (" in both) is repeated
    assert ("steady (" in at_source) is not repeated
    assert nothing_left(runs)


@pytest.mark.parametrize("repeated", [pytest.param(True, marks=pytest.mark.nightly), False])
def test_a_removed_queue_is_removed_at_the_target_by_its_flag(repeated: bool, tmp_path: Path) -> None:
    """The source removes the queue once its clients have left, and the report lists the queues once more."""
    runs, overlay = tmp_path / "runs", tmp_path / "auto-delete.yaml"
    overlay.write_text(REMOVING, encoding="utf-8")
    topology = f"mirror(queue_removal={repeated})"
    outcome = make_run(STEADY, "--topology", topology, "--overlay", str(overlay), *SHORT, runs=runs)
    assert (outcome.summary["verdict"], outcome.status) == ("pass", 0), outcome.output
    with_clients, without = notes_of(outcome)
    assert " at the end of the load: " in with_clients
    assert "steady (" in with_clients.partition("; only on broker-1: ")[0]
    both_or_source, _, at_target = without.partition("; only on broker-2: ")
    assert " after the clients left: " in without
    assert "steady (" not in both_or_source
    assert at_target == ("none" if repeated else "steady (0)")
    assert nothing_left(runs)
