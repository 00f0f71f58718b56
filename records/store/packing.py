"""Buffers rows between two flushes, at the least cost to the process that records them.

Both buffers work without a lock. One call into C (``bytearray.extend``, ``list.append``) adds a row, so threads and
greenlets never see half a row. Only the flush removes rows, one flush at a time. It removes the prefix that it has
copied. Rows that arrive during a flush stay for the next one. Both buffers grow, so a late flush loses nothing.
"""

import threading
from collections.abc import Callable, Sequence
from struct import Struct
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

NULL_INT64 = -(2**63)  # null in a packed row: no clock or counter reaches it
NULL_INT32 = -(2**31)

# Arrow type -> (struct format, numpy dtype). A string is stored as its number in `Strings`.
_PACKED = {pa.int32(): ("i", "<i4"), pa.int64(): ("q", "<i8"), pa.bool_(): ("?", "?"), pa.string(): ("i", "<i4")}
_NULLS = {pa.int32(): NULL_INT32, pa.int64(): NULL_INT64}


class Strings(dict[str, int]):
    """Numbers for strings: ``strings["orders"]`` gives a new string the next number."""

    def __init__(self) -> None:
        super().__init__()
        self._in_order: list[str] = []
        self._adding = threading.Lock()

    def __missing__(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError(f"{text!r} is not a string")
        text = str(text)  # an enum's member becomes its value
        text.encode()  # text that Arrow cannot store fails here and loses one row, not a batch
        with self._adding:
            if text not in self:
                self._in_order.append(text)
                self[text] = len(self._in_order) - 1
            return dict.__getitem__(self, text)

    def text(self, number: int) -> str:
        return self._in_order[number]

    def texts_of(self, numbers: Any) -> pa.Array:
        """Return the strings for a numpy array of numbers."""
        return pa.array(self._in_order, pa.string()).take(pa.array(numbers))


class Buffer(Protocol):
    def __len__(self) -> int:
        """Return the number of waiting rows."""

    def take(self) -> tuple[pa.RecordBatch, int]:
        """Remove and return all waiting rows, and the number of rows left out because they do not fit the table."""


def packed_dtype(schema: pa.Schema) -> Any:
    """Return the numpy type of a packed row: little-endian, without gaps; text is its number, null is NULL_INT…."""
    return np.dtype([(field.name, _PACKED[field.type][1]) for field in schema])


class PackedRows:
    """Rows of fixed size, for tables that grow by thousands of rows per second. Converted to columns without a loop."""

    def __init__(self, schema: pa.Schema, strings: Strings) -> None:
        row = Struct("<" + "".join(_PACKED[field.type][0] for field in schema))
        self._schema, self._strings, self._row_bytes = schema, strings, row.size
        self.dtype = packed_dtype(schema)
        self._bytes = bytearray()
        self.extend: Callable[[bytes], None] = self._bytes.extend  # by whole rows that are packed already
        self.add = _adder(schema, row.pack, strings, self.extend)

    def __len__(self) -> int:
        return len(self._bytes) // self._row_bytes

    def take(self) -> tuple[pa.RecordBatch, int]:
        size = len(self._bytes)
        rows = np.frombuffer(self._bytes[:size], self.dtype)
        del self._bytes[:size]
        columns = [self._column(field, np.ascontiguousarray(rows[field.name])) for field in self._schema]
        return pa.RecordBatch.from_arrays(columns, schema=self._schema), 0

    def _column(self, field: pa.Field, values: Any) -> pa.Array:
        if field.type == pa.string():
            return self._strings.texts_of(values)
        return pa.array(values, field.type, mask=values == _NULLS[field.type] if field.nullable else None)


def _adder(
    schema: pa.Schema, pack: Callable[..., bytes], number: Strings, extend: Callable[[bytes], None]
) -> Callable[[Sequence[object]], None]:
    """Return a function that packs and adds one row with these columns. It raises if the row does not fit.

    The function is compiled from text with the columns written out, like a dataclass's methods: a loop over the
    columns of each row would take several times as long.
    """
    names = "".join(f"{field.name}, " for field in schema)
    values = ", ".join(_value(field) for field in schema)
    text = f"def add(row):\n    {names}= row\n    extend(pack({values}))"
    scope: dict[str, Any] = {"pack": pack, "number": number, "extend": extend}
    exec(text, scope)
    add: Callable[[Sequence[object]], None] = scope["add"]
    return add


def _value(field: pa.Field) -> str:
    if field.type == pa.string():
        return f"number[{field.name}]"
    return f"{_NULLS[field.type]} if {field.name} is None else {field.name}" if field.nullable else field.name


class PlainRows:
    """Rows as tuples, for tables that grow slowly and contain free text."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self._rows: list[tuple[object, ...]] = []
        self.add: Callable[[tuple[object, ...]], None] = self._rows.append

    def __len__(self) -> int:
        return len(self._rows)

    def take(self) -> tuple[pa.RecordBatch, int]:
        count = len(self._rows)
        rows = self._rows[:count]
        del self._rows[:count]
        batch = _batch(rows, self._schema)
        if batch is None:
            batch = _batch([row for row in rows if _batch([row], self._schema) is not None], self._schema)
        assert batch is not None
        return batch, count - batch.num_rows


def _batch(rows: list[tuple[object, ...]], schema: pa.Schema) -> pa.RecordBatch | None:
    """Return the rows as columns; None if any row does not fit the schema."""
    columns = zip(*rows, strict=True) if rows else [()] * len(schema)
    try:
        arrays = [_column(values, field) for field, values in zip(schema, columns, strict=True)]
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return None
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _column(values: tuple[object, ...], field: pa.Field) -> pa.Array:
    """Convert by the type of the values. If asked for integers, Arrow would silently truncate 1.5 to 1."""
    array = pa.array(values)
    expected = pa.int64() if pa.types.is_integer(field.type) else field.type
    if array.type not in (expected, pa.null()) or (array.null_count and not field.nullable):
        raise TypeError(f"{field.name} is {field.type}, not {array.type}")
    return array.cast(field.type)
