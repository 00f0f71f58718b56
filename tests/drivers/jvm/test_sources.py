"""The Java sources agree with Python and the renderers."""

import re

import pytest

from drivers.jvm.java_protocol import IN_ORDER, SHUFFLED
from drivers.jvm.packed_rows import packed_rows_source
from drivers.jvm.trust import DOUBTED
from drivers.jvm.vm import SOURCES
from records.store.packing import NULL_INT32, NULL_INT64, packed_dtype
from records.tables.schemas import EVENT_TABLES, PACKED_TABLES
from topologies.classic.render.broker_xml import BROKER_PATH_PROPERTY

JAVA = {str(path.relative_to(SOURCES)): path.read_text(encoding="utf-8") for path in SOURCES.rglob("*.java")}
LIBRARIES = [path.parent for path in SOURCES.glob("*/brokerbench/Library.java")]


def test_the_brokers_path_has_the_name_that_the_renderers_give_it() -> None:
    assert f'BROKER_PATH = "{BROKER_PATH_PROPERTY}"' in JAVA["brokerbench/BrokerPath.java"]


@pytest.mark.parametrize("table", PACKED_TABLES)
def test_java_puts_each_column_at_the_offset_where_the_recorder_reads_it(table: str) -> None:
    dtype, source = packed_dtype(EVENT_TABLES[table]), "".join(packed_rows_source(table))
    sizes = [{"Int": 4, "Long": 8, "": 1}[kind] for kind in re.findall(r"row\.put(\w*)\(", source)]
    offsets = [sum(sizes[:at]) for at in range(len(sizes))]
    assert offsets == [dtype.fields[name][1] for name in dtype.names]
    assert f"ROW_BYTES = {sum(sizes)};" in source


def test_nulls_are_the_recorders() -> None:
    assert (NULL_INT64, NULL_INT32) == (-(2**63), -(2**31))
    assert "NO_TIME = Long.MIN_VALUE" in JAVA["brokerbench/Rows.java"]
    assert "NO_NUMBER = Integer.MIN_VALUE" in JAVA["brokerbench/Rows.java"]


def test_a_doubted_certificate_is_told_as_python_knows_it() -> None:
    assert f'DOUBTED = "{DOUBTED}"' in JAVA["brokerbench/ClientState.java"]


def test_every_library_has_all_that_the_shared_sources_ask_of_it() -> None:
    shared = "".join(text for path, text in JAVA.items() if path.startswith("brokerbench/"))
    needed = set(re.findall(r"Library\.(\w+)", shared))
    for library in LIBRARIES:
        assert needed <= set(
            re.findall(r"static [\w ]*?(\w+)(?= =|\()", JAVA[f"{library.parent.name}/brokerbench/Library.java"])
        )
        assert (library / "Client.java").exists()


def test_turns_are_found_by_the_name_that_the_uri_gives_them() -> None:
    for name in (IN_ORDER, SHUFFLED):
        assert f"core/{name.replace('.', '/')}.java" in JAVA


@pytest.mark.parametrize("name", ["LoadClient", "BrokerRequest"])
def test_who_answers_python_answers_an_error_of_javas_own_too(name: str) -> None:
    """Out of memory, out of threads, a class that is not there: no Exception, and Python would wait for ever."""
    assert "catch (Exception" not in JAVA[f"brokerbench/{name}.java"]
    assert "catch (Throwable" in JAVA[f"brokerbench/{name}.java"]
