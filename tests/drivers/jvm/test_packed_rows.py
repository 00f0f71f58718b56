"""Java packs a row into the same bytes as Python's recorder, because its classes are written from the same columns."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drivers.jvm import vm
from harness.java_parts import find_java_parts
from records.store.packing import PackedRows, Strings
from records.tables.schemas import EVENT_TABLES, PACKED_TABLES
from tests.drivers.java_loading import classes
from tests.records.rows import any_row
from tests.support.event_rows import packed_values

pytestmark = pytest.mark.java
vm.use(find_java_parts)
CLASSES = {"sends": "SendRows", "receipts": "ReceiptRows"}


@pytest.fixture(scope="module")
def java() -> Callable[[str], Any]:
    return classes("openwire")


@settings(deadline=None)
@given(table=st.sampled_from(sorted(CLASSES)), data=st.data())
def test_a_row_has_the_same_bytes_in_java_and_python(
    java: Callable[[str], Any], table: str, data: st.DataObject
) -> None:
    schema, row = EVENT_TABLES[table], PACKED_TABLES[table](*data.draw(any_row(table)))
    strings = Strings()
    in_python, out_of_java = PackedRows(schema, strings), PackedRows(schema, strings)
    in_python.add(row)
    in_java = java(f"brokerbench.{CLASSES[table]}")(None, 1)
    in_java.add(*packed_values(row, strings.__getitem__))
    size, half = divmod(int(in_java.take()), 2)
    assert size == in_python.dtype.itemsize
    out_of_java.extend(bytes(memoryview(in_java.buffer(half))[:size]))
    assert out_of_java.take() == in_python.take()
