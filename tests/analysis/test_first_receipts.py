"""Checks the first receipt of each destination: planted events have exact results."""

from analysis.messages.deliveries import deliveries, messages
from analysis.messages.topic import first_receipts, spread
from tests.analysis.rows import frame, receipt, send

MS = 1_000_000


def test_each_destination_counts_from_its_own_first_message() -> None:
    """All destinations flow when the last one does."""
    sends = frame(
        "sends",
        [
            send(0, due=2_000, destination="queue://q.1"),
            send(1, due=2_100, destination="queue://q.2"),
            send(2, due=2_200, destination="queue://q.1"),
            send(3, due=2_300, destination="queue://q.3"),
        ],
    )
    receipts = [
        receipt(0, at=2_900, destination="queue://q.1"),  # later than the second message of its queue
        receipt(2, at=2_250, destination="queue://q.1"),
        receipt(1, at=2_103, destination="queue://q.2"),
        receipt(3, at=3_000, destination="queue://q.3"),
        receipt(3, at=3_100, destination="queue://q.3", redelivered=True),
    ]
    sent = messages(sends)
    rows = first_receipts(sent, deliveries(frame("receipts", receipts), sent, sends)).to_dicts()
    assert {row["destination"]: (row["due_ns"] // MS, row["received_ns"] // MS) for row in rows} == {
        "queue://q.1": (2_000, 2_250),
        "queue://q.2": (2_100, 2_103),
        "queue://q.3": (2_300, 3_000),
    }
    assert spread(rows) == {"count": 3, "reached": 3, "all_flow_s": 1.0, "first_ms": {"p50": 250.0, "max": 700.0}}


def test_a_destination_without_a_receipt_leaves_open_when_all_flow() -> None:
    rows = [
        {"destination": "queue://q.1", "due_ns": 0, "received_ns": 4 * MS},
        {"destination": "queue://q.2", "due_ns": 0, "received_ns": None},
    ]
    assert spread(rows) == {"count": 2, "reached": 1, "all_flow_s": None, "first_ms": {"p50": 4.0, "max": 4.0}}
    nothing = {"count": 0, "reached": 0, "all_flow_s": None, "first_ms": {"p50": None, "max": None}}
    assert spread([]) == nothing
