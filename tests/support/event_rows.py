"""Rows of sends and receipts for tests that record them: each function fills in the values that do not matter."""

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from records.store.packing import NULL_INT32, NULL_INT64
from records.tables.schemas import RECEIPTS, SENDS, UNKNOWN, ReceiptRow, SendRow

_NULLS = {pa.int32(): NULL_INT32, pa.int64(): NULL_INT64}


def send_row(seq: int, at_ns: int, **values: Any) -> SendRow:
    """Return an acked message that was due, sent and settled at that time. ``values``: other columns by their names."""
    return SendRow(
        producer=1,
        seq=seq,
        attempt=1,
        destination="queue://orders",
        broker="a",
        due_ns=at_ns,
        ready_ns=at_ns,
        sent_ns=at_ns,
        settled_ns=at_ns,
        outcome="acked",
        body_bytes=64,
        blocked=False,
    )._replace(**values)


def receipt_row(seq: int, at_ns: int, **values: Any) -> ReceiptRow:
    """Return a message that was received at that time. ``values``: other columns by their names."""
    return ReceiptRow(
        consumer=7,
        subscription="orders",
        producer=1,
        seq=seq,
        attempt=1,
        destination="queue://orders",
        broker="b",
        received_ns=at_ns,
        redelivered=False,
        integrity="intact",
        hops=1,
    )._replace(**values)


def foreign_row(at_ns: int, **values: Any) -> ReceiptRow:
    """Return a message of nobody in this run that was received at that time."""
    unknown = {"producer": UNKNOWN, "attempt": UNKNOWN, "integrity": "foreign", "hops": None}
    return receipt_row(UNKNOWN, at_ns, **unknown, **values)


def packed_values(row: SendRow | ReceiptRow, number: Callable[[str], int]) -> tuple[Any, ...]:
    """Return the values of a packed row: each text is its number, and null the least integer of the column."""
    schema = SENDS if isinstance(row, SendRow) else RECEIPTS
    filled = (_NULLS[field.type] if value is None else value for field, value in zip(schema, row, strict=True))
    return tuple(number(value) if isinstance(value, str) else value for value in filled)
