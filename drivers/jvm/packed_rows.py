"""Writes the Java classes that pack rows in the layout of the recorder, from the columns of its tables.

`drivers.jvm.compiler` compiles them with the sources in drivers/java/. So there is one declaration of a table's
columns, records.tables.schemas. If a caller in Java does not pass a column's value, the compiler reports it.
"""

import re

import pyarrow as pa

from records.store.packing import packed_dtype
from records.tables.schemas import EVENT_TABLES, PACKED_TABLES

# Arrow type -> (Java type, how its value is put). A text is its number in the recorder.
_PUT = {
    pa.int32(): ("int", "putInt({})"),
    pa.int64(): ("long", "putLong({})"),
    pa.bool_(): ("boolean", "put((byte) ({} ? 1 : 0))"),
    pa.string(): ("int", "putInt({})"),
}
_CLASS = """package brokerbench;

import java.nio.ByteBuffer;

/** Rows of the table `{table}`, as in records.tables.schemas. Texts are given by their numbers in Python's recorder. */
public abstract class {name} extends Rows {{
    public static final int ROW_BYTES = {row_bytes};

    protected {name}(Hub hub, int capacity) {{
        super(hub, ROW_BYTES, capacity);
    }}

    public final synchronized void add(
            {parameters}) {{
        ByteBuffer row = next();
{puts}
    }}
}}
"""


def packed_rows_source(table: str) -> tuple[str, str]:
    """Return the name of the class for this table, and its source."""
    schema, name = EVENT_TABLES[table], f"Packed{table.capitalize()}"
    columns = [(_in_java(field.name), *_PUT[field.type]) for field in schema]
    source = _CLASS.format(
        table=table,
        name=name,
        row_bytes=packed_dtype(schema).itemsize,
        parameters=",\n            ".join(f"{kind} {column}" for column, kind, _ in columns),
        puts="\n".join(f"        row.{put.format(column)};" for column, _, put in columns),
    )
    return name, source


def _in_java(column: str) -> str:
    return re.sub(r"_(\w)", lambda found: found[1].upper(), column)


PACKED_ROWS = dict(map(packed_rows_source, PACKED_TABLES))
"""The sources of all these classes, by the classes' names."""
